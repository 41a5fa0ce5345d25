// What all parts of a question's page share: what the server told, what is read now, and small helpers. Texts are only set
// as text.
export const state = JSON.parse(document.getElementById("state").textContent);
// now: the row that is read. drafts: student -> {points, chosen, comment}, as they stand in the panel and are not saved.
export const reading = { now: null, editing: false, saving: false, drafts: new Map() };

export const get = (id) => document.getElementById(id);
export const say = (text) => { get("said").textContent = text; };

export function make(tag, text = "", attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// What this browser remembers; it may not be allowed to.
export function remember(name, value) {
  try { localStorage.setItem(`gradlab-desk-${name}`, value); } catch { /* not allowed here */ }
}

export function remembered(name) {
  try { return localStorage.getItem(`gradlab-desk-${name}`); } catch { return null; }
}
