// One question: which answer is read, its draft, what is saved, and the rubric's items. Texts are only set as text.
const state = JSON.parse(document.getElementById("state").textContent);
const get = (id) => document.getElementById(id);
const rows = [...get("answers").children];
const drafts = new Map(); // student -> {points, chosen, comment}, as it stands in the panel and is not saved
let now = null; // the row that is read
let editing = false;
let saving = false;

// What is remembered in this browser.

const remember = (name, value) => { try { localStorage.setItem(`gradlab-desk-${name}`, value); } catch { /* not allowed here */ } };
const remembered = (name) => { try { return localStorage.getItem(`gradlab-desk-${name}`); } catch { return null; } };

for (const fold of [get("asked"), get("model")]) {
  if (!fold) continue;
  const kept = remembered(fold.id);
  if (kept !== null) fold.open = kept === "open";
  fold.addEventListener("toggle", () => remember(fold.id, fold.open ? "open" : "folded"));
}
const single = get("single");
single.checked = remembered("single") !== "no";
single.addEventListener("change", () => remember("single", single.checked ? "yes" : "no"));

// Rows.

const mark = (row) => state.marks[row.dataset.student];
const say = (text) => { get("said").textContent = text; };
const visible = () => [...get("answers").children].filter((row) => !row.hidden);
const who = (row) => row.querySelector(document.body.classList.contains("nameless") ? ".number-only" : ".who").textContent.trim();

function make(tag, text = "", attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

const shuffled = [...rows].sort((a, b) => (a.dataset.order < b.dataset.order ? -1 : 1));
shuffled.forEach((row, index) => row.querySelector("h2").append(make("span", `Answer ${index + 1}`, { class: "number-only" })));

function tell(row) {
  row.querySelector(".told").textContent = mark(row).told;
  row.classList.toggle("waits", mark(row).waits);
  row.classList.toggle("draft", drafts.has(row.dataset.student));
  const waiting = rows.filter((each) => mark(each).waits).length;
  get("count").textContent = `${rows.length} handed in, ${waiting} wait`;
}

function filter() {
  for (const row of rows) row.hidden = get("shown").value === "waiting" && !mark(row).waits && row !== now;
}

function order() {
  const nameless = get("nameless").checked;
  document.body.classList.toggle("nameless", nameless);
  get("answers").append(...(nameless ? shuffled : rows));
  remember("nameless", nameless ? "yes" : "no");
  if (now) get("whose").textContent = who(now);
}

// The draft of the answer that is read.

function saved(row) {
  const { points, chosen, comment } = mark(row);
  return { points: points === null ? "" : String(points), chosen: [...chosen], comment };
}

const draft = () => drafts.get(now.dataset.student) ?? saved(now);

function change(part) {
  const next = { ...draft(), ...part };
  const same = JSON.stringify(next) === JSON.stringify(saved(now));
  if (same) drafts.delete(now.dataset.student);
  else drafts.set(now.dataset.student, next);
  say("");
  tell(now);
  showItems();
}

function pointsOf(chosen) {
  const sum = state.rubric.items.filter((item) => chosen.includes(item.id)).reduce((all, item) => all + item.points, 0);
  return String(Math.round(Math.min(Math.max(sum, 0), state.worth) * 1e4) / 1e4);
}

function toggle(item) {
  const had = draft().chosen;
  const ids = had.includes(item.id) ? had.filter((id) => id !== item.id) : [...had, item.id];
  const chosen = state.rubric.items.map((each) => each.id).filter((id) => ids.includes(id));
  change({ chosen, points: chosen.length ? pointsOf(chosen) : "" });
  get("points").value = draft().points;
}

const signed = (points) => (points > 0 ? `+${points}` : String(points).replace("-", "\u2212"));

function showItems() {
  const focused = [...get("items").querySelectorAll("button")].indexOf(document.activeElement);
  get("items").replaceChildren(...state.rubric.items.map((item, index) => {
    const button = make("button", "", { type: "button", "aria-pressed": draft().chosen.includes(item.id) });
    if (index < 9) button.append(make("kbd", index + 1));
    button.append(make("span", item.text, { class: "text" }), make("span", signed(item.points), { class: "worth" }));
    button.addEventListener("click", () => toggle(item));
    const place = make("li");
    place.append(button);
    return place;
  }));
  if (focused >= 0) get("items").querySelectorAll("button")[focused]?.focus();
}

function showComments() {
  const list = get("comments");
  if (!list) return;
  get("earlier").hidden = !state.comments.length;
  list.replaceChildren(...state.comments.map((text) => {
    const button = make("button", "", { type: "button" });
    button.append(make("span", text.length > 300 ? `${text.slice(0, 300)} ...` : text, { class: "text" }));
    button.addEventListener("click", () => {
      const before = get("comment").value.trim();
      get("comment").value = before && before !== text ? `${before}\n${text}` : text;
      change({ comment: get("comment").value });
      get("comment").focus();
    });
    const place = make("li");
    place.append(button);
    return place;
  }));
}

const alike = () => rows.filter((row) => row !== now && row.dataset.same === now.dataset.same && mark(row).waits);

function show() {
  get("panel").hidden = false;
  get("whose").textContent = who(now);
  get("points").value = draft().points;
  if (get("comment")) get("comment").value = draft().comment;
  const others = alike().length;
  get("also").hidden = !others;
  get("also").textContent = `Save for ${others + 1} with this text`;
  showItems();
}

function read(row, focus = true) {
  if (!row || saving || editing) return;
  now?.classList.remove("now");
  now?.querySelector("article").removeAttribute("aria-current");
  now = row;
  row.hidden = false;
  row.classList.add("now");
  row.querySelector("article").setAttribute("aria-current", "true");
  say("");
  show();
  if (focus) {
    row.querySelector("article").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }
}

function next() {
  const all = [...get("answers").children];
  const from = all.indexOf(now);
  const rest = [...all.slice(from + 1), ...all.slice(0, Math.max(from, 0))];
  const found = rest.find((row) => mark(row).waits);
  if (found) read(found);
  else say("No other answer waits.");
}

function previous() {
  const all = visible();
  read(all[Math.max(all.indexOf(now) - 1, 0)]);
}

// Saving.

async function post(path, body) {
  let reply;
  try {
    reply = await fetch(`${state.base}/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-XSRFToken": state.xsrf },
      body: JSON.stringify({ ...state.place, ...body }),
    });
  } catch {
    throw new Error("The server does not answer. Nothing was saved; what you wrote is still here.");
  }
  if (!reply.ok) {
    const told = await reply.json().catch(() => ({}));
    throw new Error(`Not saved: ${told.message || reply.statusText || reply.status}`);
  }
  return reply.json();
}

async function saveOne(row, { points, chosen, comment }) {
  const student = row.dataset.student;
  const body = { student, chosen, comment, points: chosen.length || points === "" ? null : Number(points), version: mark(row).version };
  const reply = await post("mark", body);
  state.marks[student] = reply.mark;
  if (!reply.changed) drafts.delete(student);
  tell(row);
  if (!reply.changed) return;
  const had = reply.mark.comment ? `, with the comment \u201c${reply.mark.comment.slice(0, 300)}\u201d` : "";
  throw new Error(`${reply.changed} It has: ${reply.mark.told}${had}. Save again to write over it.`);
}

async function save(others = []) {
  if (!now || saving || editing) return;
  if (!get("points").reportValidity()) return;
  saving = true;
  get("save").disabled = get("also").disabled = true;
  const [row, wanted] = [now, draft()];
  drafts.set(row.dataset.student, wanted); // also where nothing is another: it may wait, and is to be read now
  let trouble = "";
  try {
    for (const each of [row, ...others]) await saveOne(each, wanted);
    const text = wanted.comment.trim();
    if (text) state.comments = [text, ...state.comments.filter((each) => each !== text)];
    showComments();
  } catch (error) {
    trouble = error.message;
  }
  saving = false;
  get("save").disabled = get("also").disabled = false;
  show();
  if (trouble) say(trouble);
  else next();
}

// The items, edited in place.

function itemFields(item, index) {
  const fields = make("fieldset", "", { "data-id": item.id });
  const text = make("textarea", item.text, { rows: 1, maxlength: state.longestItem, required: "", "aria-label": `Text of item ${index + 1}` });
  const points = make("input", "", { type: "number", step: "any", min: -1000, max: 1000, required: "", "aria-label": `Points of item ${index + 1}` });
  points.value = item.points;
  const remove = make("button", "Delete", { type: "button", "aria-label": `Delete item ${index + 1}` });
  remove.addEventListener("click", () => {
    const beside = fields.nextElementSibling;
    fields.remove();
    (beside.querySelector("textarea") ?? beside.querySelector("button")).focus();
  });
  fields.append(make("legend", `Item ${index + 1}`), text, points, remove);
  return fields;
}

function edit(add = false) {
  if (!now || saving) return;
  if (!editing) {
    editing = true;
    get("items").hidden = get("mark").hidden = get("edit").parentElement.hidden = true;
    const more = make("button", "Add an item", { type: "button" });
    const keep = make("button", "Save items", { type: "submit" });
    const leave = make("button", "Cancel", { type: "button" });
    const buttons = make("p", "", { class: "buttons" });
    buttons.append(more, keep, leave);
    more.addEventListener("click", addItem);
    leave.addEventListener("click", () => closeItems(""));
    get("editing").replaceChildren(...state.rubric.items.map(itemFields), buttons);
    get("editing").hidden = false;
    delete get("editing").dataset.sure;
    say("");
  }
  if (add || !state.rubric.items.length) addItem();
  else get("editing").querySelector("textarea").focus();
}

function addItem() {
  const all = get("editing").querySelectorAll("fieldset");
  if (all.length >= state.mostItems) return say(`A rubric has at most ${state.mostItems} items.`);
  const made = itemFields({ id: "", text: "", points: "" }, all.length);
  get("editing").lastElementChild.before(made);
  made.querySelector("textarea").focus();
}

function closeItems(text) {
  editing = false;
  get("editing").hidden = true;
  get("editing").replaceChildren();
  get("items").hidden = get("mark").hidden = get("edit").parentElement.hidden = false;
  show();
  say(text);
  now.querySelector("article").focus({ preventScroll: true });
}

async function saveItems() {
  const form = get("editing");
  const items = [...form.querySelectorAll("fieldset")].map((fields) => ({
    id: fields.dataset.id,
    text: fields.querySelector("textarea").value.trim(),
    points: Number(fields.querySelector("input").value),
  }));
  const asked = JSON.stringify(items);
  try {
    const reply = await post("rubric", { items, version: state.rubric.version, sure: form.dataset.sure === asked });
    if (reply.changes) {
      form.dataset.sure = asked;
      const marks = reply.changes === 1 ? "the mark of 1 student" : `the marks of ${reply.changes} students`;
      say(`This changes ${marks}. Save the items again to do it.`);
      return;
    }
    const had = JSON.stringify(Object.values(state.marks).map((each) => each.points));
    Object.assign(state, { rubric: reply.rubric, marks: reply.marks });
    const ids = new Set(state.rubric.items.map((item) => item.id));
    for (const [student, own] of drafts) {
      if (!own.chosen.length) continue;
      const chosen = own.chosen.filter((id) => ids.has(id));
      drafts.set(student, { ...own, chosen, points: chosen.length ? pointsOf(chosen) : own.points });
    }
    rows.forEach(tell);
    const same = had === JSON.stringify(Object.values(state.marks).map((each) => each.points));
    closeItems(same ? "The items are saved." : "The items are saved, and the marks that follow them.");
  } catch (error) {
    say(error.message);
  }
}

// Events.

get("points").addEventListener("input", () => change({ points: get("points").value, chosen: [] }));
get("comment")?.addEventListener("input", () => change({ comment: get("comment").value }));
get("mark").addEventListener("submit", (event) => { event.preventDefault(); save(); });
get("editing").addEventListener("submit", (event) => { event.preventDefault(); saveItems(); });
get("also").addEventListener("click", () => save(alike()));
get("edit").addEventListener("click", () => edit());
get("help").addEventListener("click", () => get("keys").showModal());
get("shown").addEventListener("change", filter);
get("nameless").addEventListener("change", order);
for (const row of rows) {
  row.addEventListener("click", (event) => { if (!event.target.closest("a")) read(row, false); });
}
window.addEventListener("beforeunload", (event) => { if (drafts.size || editing) event.preventDefault(); });

const keys = {
  n: next,
  j: next,
  k: previous,
  p: () => get("points").select(),
  c: () => get("comment")?.focus(),
  e: () => edit(),
  a: () => edit(true),
  "?": () => get("keys").showModal(),
  r: () => {
    if (!state.comments.length || !get("earlier")) return;
    get("earlier").open = true;
    get("comments").querySelector("button").focus();
  },
};
document.addEventListener("keydown", (event) => {
  if (get("keys").open) return;
  const field = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (editing) get("editing").requestSubmit();
    else save();
  } else if (event.key === "Escape" && editing) closeItems("");
  else if (event.key === "Escape" && field && now) now.querySelector("article").focus({ preventScroll: true });
  else if (!field && !editing && single.checked && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const item = /^[1-9]$/.test(event.key) && now ? state.rubric.items[Number(event.key) - 1] : null;
    const act = item ? () => toggle(item) : Object.hasOwn(keys, event.key) ? keys[event.key] : null;
    if (!act) return;
    event.preventDefault();
    act();
  }
});

get("nameless").checked = remembered("nameless") === "yes";
if (!rows.some((row) => mark(row).waits)) get("shown").value = "all";
order();
filter();
rows.forEach(tell);
showComments();
read(visible()[0], false);
