// Saves marks to the gradebook, with one request for each answer. What couldn't be saved stays on the page.
import { mark, rows, showState } from "./answers.js";
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
    throw new Error("The server doesn't answer. Nothing was saved; what you wrote is still here.");
  }
  const content = await reply.json().catch(() => null);
  if (reply.ok && content) return content;
  if (reply.ok || reply.status === 403) throw new Error("Not saved: you're logged out. Log in in another tab, then save again.");
  throw new Error(`Not saved: ${content?.message || reply.statusText || reply.status}`);
}

async function saveOne(row, { points, chosen, comment }) {
  const student = row.dataset.student;
  const body = { student, chosen, comment, points: chosen.length || points === "" ? null : Number(points), version: mark(row).version };
  const reply = await post("mark", body);
  if (!reply.changed) reading.drafts.delete(student);
  updateMarks(reply.marks, student);
  if (!reply.changed) return;
  const suffix = mark(row).comment ? `, with the comment \u201c${mark(row).comment.slice(0, 300)}\u201d` : "";
  const giver = mark(row).giver && `, ${mark(row).giver}`;
  throw new Error(`${reply.changed} The mark is now: ${mark(row).told}${giver}${suffix}. Save again to overwrite it.`);
}

// Others may mark at the same time. If there is a draft here, their mark is shown only when the draft is saved.
function updateMarks(marks, student) {
  for (const [name, saved] of Object.entries(marks)) {
    if (name === student || (name in state.marks && !reading.drafts.has(name))) state.marks[name] = saved;
  }
  rows.forEach(showState);
}

export async function save(others = []) {
  if (!reading.now || reading.saving || reading.editing) return;
  if (!get("points").reportValidity()) return;
  if (!isMarked(draft()) && !isMarked(mark(reading.now))) return askForPoints();
  reading.saving = true;
  get("panel").classList.add("saving");
  const [row, wanted] = [reading.now, draft()];
  reading.drafts.set(row.dataset.student, wanted); // even if nothing changed: saving says that a waiting answer was read
  let trouble = "";
  try {
    await saveOne(row, wanted);
    const waiting = others.filter((other) => mark(other).waits);
    for (const [index, other] of waiting.entries()) {
      say(`Saving ${index + 2} of ${waiting.length + 1} ...`);
      await saveOne(other, wanted);
    }
    const text = wanted.comment.trim();
    if (text) state.comments = [text, ...state.comments.filter((comment) => comment !== text)];
    showComments();
  } catch (error) {
    trouble = error.message;
  }
  reading.saving = false;
  get("panel").classList.remove("saving");
  show();
  if (trouble) say(trouble);
  else if (mark(row).waits) say("Saved. Without points, this answer still waits.");
  else nextWaiting();
  document.dispatchEvent(new CustomEvent("saved", { detail: { wentOn: reading.now !== row } }));
}

const isMarked = ({ points, chosen, comment }) => (points ?? "") !== "" || chosen.length > 0 || comment.trim() !== "";

function askForPoints() {
  say("No points yet: type them, or choose an item.");
  if (state.rubric.items.length) focusAnswer(); // there, a digit chooses an item instead of typing points
  else get("points").focus();
}
