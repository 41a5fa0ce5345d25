// Shared by all parts of a question's page: the server's state, the current answer, and small helpers. Texts are only set as
// text, never as HTML.
export const state = JSON.parse(document.getElementById("state").textContent);
// now: the current row. drafts: student -> {points, chosen, comment}, as entered in the panel and not saved yet.
export const reading = { now: null, editing: false, saving: false, drafts: new Map() };

export const get = (id) => document.getElementById(id);
export const say = (text) => { get("said").textContent = text; };

export function make(tag, text = "", attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// Settings that this browser remembers, if it's allowed to.
export function remember(name, value) {
  try { localStorage.setItem(`gradlab-desk-${name}`, value); } catch { /* not allowed here */ }
}

export function remembered(name) {
  try { return localStorage.getItem(`gradlab-desk-${name}`); } catch { return null; }
}
