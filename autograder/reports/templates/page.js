// Sorts tables by their column heads, and filters rows by a field. Without this script, a page still shows everything.
"use strict";
const order = new Intl.Collator("en", { numeric: true });

function value(row, column, number) {
  const text = row.cells[column].textContent.trim();
  if (!number) return text;
  const found = parseFloat(text);
  return Number.isNaN(found) ? -Infinity : found;
}

function sort(table, head, column) {
  const up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const number = head.classList.contains("number");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [value(row, column, number), row]);
  rows.sort(([a], [b]) => up * (number ? (a === b ? 0 : a < b ? -1 : 1) : order.compare(a, b)));
  for (const other of table.tHead.rows[0].cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
  body.append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.addEventListener("click", () => sort(table, head, column)); // the whole head is clickable; keys reach the button
    head.setAttribute("aria-sort", "none");
  });
}

for (const field of document.querySelectorAll("input[data-filters]")) {
  const rows = [...document.getElementById(field.dataset.filters).tBodies[0].rows];
  field.closest("label").hidden = false;
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  });
}
