// The page of one question: handles clicks, keys and fields.
import { filter, mark, order, rows, shown, showState } from "./answers.js";
import { closeItems, edit, saveItems } from "./items.js";
import { get, reading, remember, remembered, state } from "./page.js";
import { alike, change, focusAnswer, moveBy, nextWaiting, read, showComments, showName, toggle, toggleName } from "./panel.js";
import { save } from "./saving.js";

for (const fold of [get("asked"), get("model")]) {
  if (!fold) continue;
  const setting = remembered(fold.id);
  if (setting !== null) fold.open = setting === "open";
  fold.addEventListener("toggle", () => remember(fold.id, fold.open ? "open" : "folded"));
}
const single = get("single");
single.checked = remembered("single") !== "no";
single.addEventListener("change", () => remember("single", single.checked ? "yes" : "no"));

get("points").addEventListener("input", () => change({ points: get("points").value, chosen: [] }));
get("comment")?.addEventListener("input", () => change({ comment: get("comment").value }));
get("mark").addEventListener("submit", (event) => { event.preventDefault(); save(); });
get("editing").addEventListener("submit", (event) => { event.preventDefault(); saveItems(); });
get("also").addEventListener("click", () => save(alike()));
get("edit").addEventListener("click", () => edit());
get("name").addEventListener("click", toggleName);
get("help").addEventListener("click", () => get("keys").showModal());
get("shown").addEventListener("change", filter);
get("nameless").addEventListener("change", () => { order(); showName(); });
for (const row of rows) {
  row.addEventListener("click", (event) => { if (!event.target.closest("a")) read(row, false); });
}
window.addEventListener("beforeunload", (event) => { if (reading.drafts.size || reading.editing) event.preventDefault(); });

const keys = {
  n: nextWaiting,
  j: () => moveBy(1),
  k: () => moveBy(-1),
  p: () => get("points").select(),
  c: () => get("comment")?.focus(),
  e: () => edit(),
  a: () => edit(true),
  w: toggleName,
  "?": () => get("keys").showModal(),
  r: () => {
    if (!state.comments.length || !get("earlier")) return;
    get("earlier").open = true;
    get("comments").querySelector("button").focus();
  },
};
// Returns true if the key did something here, so the browser must not handle it.
function press(event, target) {
  const field = target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    if (reading.editing) get("editing").requestSubmit();
    else save();
    return true;
  }
  if (event.key === "Escape" && reading.editing) closeItems();
  else if (event.key === "Escape" && field) focusAnswer();
  else if (!field && !reading.editing && single.checked && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const item = /^[1-9]$/.test(event.key) && reading.now ? state.rubric.items[Number(event.key) - 1] : null;
    const act = item ? () => toggle(item) : Object.hasOwn(keys, event.key) ? keys[event.key] : null;
    act?.();
    return Boolean(act);
  }
  return false;
}

// Keys pressed while a mark is being saved are meant for the next answer. If that doesn't follow, they're dropped.
// The browser's own shortcuts, such as reload, are left to it.
const held = [];
const isHeld = (event) => event.key === "Enter" || !(event.ctrlKey || event.metaKey || event.altKey) && (event.key.length === 1 || ["Backspace", "Escape"].includes(event.key));
document.addEventListener("keydown", (event) => {
  if (get("keys").open) return;
  if (reading.saving && !event.isComposing && isHeld(event)) held.push(event);
  else if (!press(event, event.target)) return;
  event.preventDefault();
});
document.addEventListener("saved", ({ detail }) => {
  if (!detail.wentOn) held.length = 0;
  while (held.length && !reading.saving) {
    const event = held.shift();
    const target = document.activeElement;
    if (press(event, target) || !target.matches("input, textarea")) continue;
    if (event.key.length === 1) document.execCommand("insertText", false, event.key);
    else if (event.key === "Backspace") document.execCommand("delete");
  }
});

get("nameless").checked = remembered("nameless") !== "no";
if (!rows.some((row) => mark(row).waits)) get("shown").value = "all";
order();
filter();
rows.forEach(showState);
showComments();
read(shown()[0], false);
