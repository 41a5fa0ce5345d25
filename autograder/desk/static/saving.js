// Marks on their way to the gradebook: one request for each answer. What was not saved stays in the page.
import { mark, rows, tell } from "./answers.js";
import { get, reading, say, state } from "./page.js";
import { draft, focusAnswer, nextWaiting, show, showComments } from "./panel.js";

export async function post(path, body) {
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
  const told = await reply.json().catch(() => null);
  if (reply.ok && told) return told;
  if (reply.ok || reply.status === 403) throw new Error("Not saved: you are logged out. Log in in another tab, and save again.");
  throw new Error(`Not saved: ${told?.message || reply.statusText || reply.status}`);
}

async function saveOne(row, { points, chosen, comment }) {
  const student = row.dataset.student;
  const body = { student, chosen, comment, points: chosen.length || points === "" ? null : Number(points), version: mark(row).version };
  const reply = await post("mark", body);
  if (!reply.changed) reading.drafts.delete(student);
  take(reply.marks, student);
  if (!reply.changed) return;
  const had = mark(row).comment ? `, with the comment \u201c${mark(row).comment.slice(0, 300)}\u201d` : "";
  throw new Error(`${reply.changed} It has: ${mark(row).told}${had}. Save again to write over it.`);
}

// Others may mark too. Who has a draft here is told of their mark when it is saved.
function take(marks, student) {
  for (const [each, own] of Object.entries(marks)) {
    if (each === student || (each in state.marks && !reading.drafts.has(each))) state.marks[each] = own;
  }
  rows.forEach(tell);
}

export async function save(others = []) {
  if (!reading.now || reading.saving || reading.editing) return;
  if (!get("points").reportValidity()) return;
  if (!says(draft()) && !says(mark(reading.now))) return askForPoints();
  reading.saving = true;
  get("panel").classList.add("saving");
  const [row, wanted] = [reading.now, draft()];
  reading.drafts.set(row.dataset.student, wanted); // also where nothing is another: it may wait, and is to be read now
  let trouble = "";
  try {
    await saveOne(row, wanted);
    const waiting = others.filter((each) => mark(each).waits);
    for (const [index, each] of waiting.entries()) {
      say(`Saving ${index + 2} of ${waiting.length + 1} ...`);
      await saveOne(each, wanted);
    }
    const text = wanted.comment.trim();
    if (text) state.comments = [text, ...state.comments.filter((each) => each !== text)];
    showComments();
  } catch (error) {
    trouble = error.message;
  }
  reading.saving = false;
  get("panel").classList.remove("saving");
  show();
  if (trouble) say(trouble);
  else if (mark(row).waits) say("Saved. Without points this answer still waits.");
  else nextWaiting();
  document.dispatchEvent(new CustomEvent("saved", { detail: { wentOn: reading.now !== row } }));
}

const says = ({ points, chosen, comment }) => (points ?? "") !== "" || chosen.length > 0 || comment.trim() !== "";

function askForPoints() {
  say("No points yet: type them, or choose an item.");
  if (state.rubric.items.length) focusAnswer(); // there a digit chooses an item, and in the field it is points
  else get("points").focus();
}
