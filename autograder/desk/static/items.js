// Edits the rubric's items, instead of the panel's fields. Changes of marks must be confirmed first.
import { rows, showState } from "./answers.js";
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
    const next = fields.nextElementSibling;
    fields.remove();
    number();
    (next.querySelector("textarea") ?? next.querySelector("button")).focus();
  });
  fields.append(make("legend"), labelled("Words", text), labelled("Points", points), remove);
  return fields;
}

// Number the items by position, which changes when one is deleted.
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
    const addButton = make("button", "Add an item", { type: "button" });
    const saveButton = make("button", "Save items", { type: "submit" });
    const cancelButton = make("button", "Cancel", { type: "button" });
    const buttons = make("p", "", { class: "gradlab-buttons" });
    buttons.append(addButton, saveButton, cancelButton);
    addButton.addEventListener("click", addItem);
    cancelButton.addEventListener("click", () => closeItems());
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
  const fields = itemFields({ id: "", text: "", points: "" });
  get("editing").lastElementChild.before(fields);
  number();
  fields.querySelector("textarea").focus();
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
  const text = JSON.stringify(items);
  try {
    const reply = await post("rubric", { items, version: state.rubric.version, sure: form.dataset.sure === text });
    if (reply.changes) {
      form.dataset.sure = text;
      const marks = reply.changes === 1 ? "the mark of 1 student" : `the marks of ${reply.changes} students`;
      say(`This changes ${marks}. Save the items again to confirm.`);
      return;
    }
    const before = pointsNow();
    Object.assign(state, { rubric: reply.rubric, marks: reply.marks });
    updateDrafts();
    rows.forEach(showState);
    closeItems(before === pointsNow() ? "The items are saved." : "The items are saved, and the marks are updated.");
  } catch (error) {
    say(error.message);
  }
}

// Update the points of drafts to the new items, and drop deleted ones from them.
function updateDrafts() {
  const ids = new Set(state.rubric.items.map((item) => item.id));
  for (const [student, draft] of reading.drafts) {
    if (!draft.chosen.length) continue;
    const chosen = draft.chosen.filter((id) => ids.has(id));
    reading.drafts.set(student, { ...draft, chosen, points: chosen.length ? pointsOf(chosen) : draft.points });
  }
}
