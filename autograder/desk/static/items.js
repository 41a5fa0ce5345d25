// The rubric's items, edited in place of the panel's fields. A change of marks is asked about first.
import { rows, tell } from "./answers.js";
import { get, make, reading, say, state } from "./page.js";
import { focusAnswer, pointsOf, show } from "./panel.js";
import { post } from "./saving.js";

const fieldsets = () => [...get("editing").querySelectorAll("fieldset")];

function labelled(words, field) {
  const label = make("label", words);
  label.append(field);
  return label;
}

function itemFields(item) {
  const fields = make("fieldset", "", { "data-id": item.id });
  const text = make("textarea", item.text, { rows: 1, maxlength: state.longestItem, required: "" });
  const points = make("input", "", { type: "number", step: "any", min: -1000, max: 1000, required: "" });
  points.value = item.points;
  const remove = make("button", "Delete", { type: "button" });
  remove.addEventListener("click", () => {
    const beside = fields.nextElementSibling;
    fields.remove();
    number();
    (beside.querySelector("textarea") ?? beside.querySelector("button")).focus();
  });
  fields.append(make("legend"), labelled("Words", text), labelled("Points", points), remove);
  return fields;
}

// Named by their place, which a deleted one changes.
function number() {
  fieldsets().forEach((fields, index) => {
    fields.querySelector("legend").textContent = `Item ${index + 1}`;
    fields.querySelector("button").setAttribute("aria-label", `Delete item ${index + 1}`);
  });
}

function swap(editing) {
  reading.editing = editing;
  get("editing").hidden = !editing;
  get("items").hidden = get("mark").hidden = get("edit").parentElement.hidden = editing;
}

export function edit(add = false) {
  if (!reading.now || reading.saving) return;
  if (!reading.editing) {
    const more = make("button", "Add an item", { type: "button" });
    const keep = make("button", "Save items", { type: "submit" });
    const leave = make("button", "Cancel", { type: "button" });
    const buttons = make("p", "", { class: "buttons" });
    buttons.append(more, keep, leave);
    more.addEventListener("click", addItem);
    leave.addEventListener("click", () => closeItems());
    get("editing").replaceChildren(...state.rubric.items.map(itemFields), buttons);
    number();
    delete get("editing").dataset.sure;
    swap(true);
    say("");
  }
  if (add || !state.rubric.items.length) addItem();
  else get("editing").querySelector("textarea").focus();
}

function addItem() {
  if (fieldsets().length >= state.mostItems) return say(`A rubric has at most ${state.mostItems} items.`);
  const made = itemFields({ id: "", text: "", points: "" });
  get("editing").lastElementChild.before(made);
  number();
  made.querySelector("textarea").focus();
}

export function closeItems(text = "") {
  swap(false);
  get("editing").replaceChildren();
  show();
  say(text);
  focusAnswer();
}

const pointsNow = () => JSON.stringify(Object.values(state.marks).map((each) => each.points));

export async function saveItems() {
  const form = get("editing");
  const items = fieldsets().map((fields) => ({
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
    const had = pointsNow();
    Object.assign(state, { rubric: reply.rubric, marks: reply.marks });
    keepDrafts();
    rows.forEach(tell);
    closeItems(had === pointsNow() ? "The items are saved." : "The items are saved, and the marks that follow them.");
  } catch (error) {
    say(error.message);
  }
}

// Drafts follow the items that are left.
function keepDrafts() {
  const ids = new Set(state.rubric.items.map((item) => item.id));
  for (const [student, own] of reading.drafts) {
    if (!own.chosen.length) continue;
    const chosen = own.chosen.filter((id) => ids.has(id));
    reading.drafts.set(student, { ...own, chosen, points: chosen.length ? pointsOf(chosen) : own.points });
  }
}
