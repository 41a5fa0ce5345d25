// The list of answers: the state of each, which are shown, in which order, and whether with names.
import { get, make, reading, remember, state } from "./page.js";

export const rows = [...get("answers").children];
export const mark = (row) => state.marks[row.dataset.student];
export const shown = () => [...get("answers").children].filter((row) => !row.hidden);

// In the order of a key that reveals nothing about the student.
const shuffled = [...rows].sort((a, b) => (a.dataset.order < b.dataset.order ? -1 : 1));
shuffled.forEach((row, index) => row.querySelector("h2").append(make("span", `Answer ${index + 1}`, { class: "number" })));

export const nameless = () => document.body.classList.contains("nameless");

export function who(row) {
  const named = !nameless() || row.classList.contains("named");
  return row.querySelector(named ? ".who" : ".number").textContent.trim();
}

export function showState(row) {
  row.querySelector(".told").textContent = mark(row).told;
  row.querySelector(".giver").textContent = mark(row).giver;
  row.classList.toggle("waits", mark(row).waits);
  row.querySelector(".mark > .gradlab-sign").className = `gradlab-sign gradlab-sign-${mark(row).waits ? "later" : "ready"}`;
  row.classList.toggle("draft", reading.drafts.has(row.dataset.student));
  const waiting = rows.filter((each) => mark(each).waits).length;
  get("count").textContent = `${rows.length} submitted, ${waiting} waiting`;
}

export function filter() {
  for (const row of rows) row.hidden = get("shown").value === "waiting" && !mark(row).waits && row !== reading.now;
}

export function order() {
  const hidden = get("nameless").checked;
  document.body.classList.toggle("nameless", hidden);
  get("answers").append(...(hidden ? shuffled : rows));
  remember("nameless", hidden ? "yes" : "no");
}
