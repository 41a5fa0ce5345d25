// The panel next to the current answer: its draft, the rubric's items, comments, and moving to other answers.
import { mark, nameless, rows, shown, showState, who } from "./answers.js";
import { get, make, reading, say, state } from "./page.js";

function saved(row) {
  const { points, chosen, comment } = mark(row);
  return { points: points === null ? "" : String(points), chosen: [...chosen], comment };
}

export const draft = () => reading.drafts.get(reading.now.dataset.student) ?? saved(reading.now);

export function change(part) {
  const next = { ...draft(), ...part };
  const same = JSON.stringify(next) === JSON.stringify(saved(reading.now));
  if (same) reading.drafts.delete(reading.now.dataset.student);
  else reading.drafts.set(reading.now.dataset.student, next);
  say("");
  showState(reading.now);
  showItems();
}

export function pointsOf(chosen) {
  const sum = state.rubric.items.filter((item) => chosen.includes(item.id)).reduce((all, item) => all + item.points, 0);
  return String(Math.round(Math.min(Math.max(sum, 0), state.worth) * 1e4) / 1e4);
}

export function toggle(item) {
  const before = draft().chosen;
  const ids = before.includes(item.id) ? before.filter((id) => id !== item.id) : [...before, item.id];
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

export function showComments() {
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

export const alike = () => rows.filter((row) => row !== reading.now && row.dataset.same === reading.now.dataset.same && mark(row).waits);

export function show() {
  get("panel").hidden = false;
  showName();
  get("points").value = draft().points;
  if (get("comment")) get("comment").value = draft().comment;
  const others = alike().length;
  get("also").hidden = !others;
  get("also").textContent = `Save for all ${others + 1} with this text`;
  showItems();
}

export function showName() {
  if (!reading.now) return;
  get("whose").textContent = who(reading.now);
  get("name").hidden = !nameless();
  get("name").setAttribute("aria-pressed", reading.now.classList.contains("named"));
}

// Shows or hides the name for this answer only, until the page is closed.
export function toggleName() {
  if (!reading.now || !nameless()) return;
  reading.now.classList.toggle("named");
  showName();
}

export function read(row, focus = true) {
  if (!row || reading.saving || reading.editing) return;
  reading.now?.classList.remove("now");
  reading.now?.querySelector("article").removeAttribute("aria-current");
  reading.now = row;
  row.hidden = false;
  row.classList.add("now");
  row.querySelector("article").setAttribute("aria-current", "true");
  say("");
  show();
  if (focus) {
    focusAnswer();
    row.scrollIntoView({ block: "nearest" });
  }
}

export const focusAnswer = () => reading.now?.querySelector("article").focus({ preventScroll: true });

export function nextWaiting() {
  const all = [...get("answers").children];
  const from = all.indexOf(reading.now);
  const rest = [...all.slice(from + 1), ...all.slice(0, Math.max(from, 0))];
  const next = rest.find((row) => mark(row).waits);
  if (next) read(next);
  else say("No other answer is waiting.");
}

// Go to the answer before (-1) or after (1) this one, among those that are shown.
export function moveBy(step) {
  const all = shown();
  read(all[Math.min(Math.max(all.indexOf(reading.now) + step, 0), all.length - 1)]);
}
