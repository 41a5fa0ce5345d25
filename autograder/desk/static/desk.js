// One question's page: what a click, a key and a field do.
import { filter, mark, order, rows, shown, tell } from "./answers.js";
import { closeItems, edit, saveItems } from "./items.js";
import { get, reading, remember, remembered, state } from "./page.js";
import { alike, beside, change, focusAnswer, nextWaiting, read, showComments, showName, toggle, toggleName } from "./panel.js";
import { save } from "./saving.js";

for (const fold of [get("asked"), get("model")]) {
  if (!fold) continue;
  const kept = remembered(fold.id);
  if (kept !== null) fold.open = kept === "open";
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
  j: () => beside(1),
  k: () => beside(-1),
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
document.addEventListener("keydown", (event) => {
  if (get("keys").open) return;
  const field = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (reading.editing) get("editing").requestSubmit();
    else save();
  } else if (event.key === "Escape" && reading.editing) closeItems();
  else if (event.key === "Escape" && field) focusAnswer();
  else if (!field && !reading.editing && single.checked && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const item = /^[1-9]$/.test(event.key) && reading.now ? state.rubric.items[Number(event.key) - 1] : null;
    const act = item ? () => toggle(item) : Object.hasOwn(keys, event.key) ? keys[event.key] : null;
    if (!act) return;
    event.preventDefault();
    act();
  }
});

get("nameless").checked = remembered("nameless") !== "no";
if (!rows.some((row) => mark(row).waits)) get("shown").value = "all";
order();
filter();
rows.forEach(tell);
showComments();
read(shown()[0], false);
