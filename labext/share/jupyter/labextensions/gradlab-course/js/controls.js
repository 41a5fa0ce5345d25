// Form controls inside a notebook's text, and in the cards below its checks.

import { element } from './elements.js';

const NAMES = ['input', 'button', 'select', 'summary'];
const CONTROLS = ['.jp-RenderedMarkdown', '.gradlab-own', '.gradlab-card'].flatMap(part => NAMES.map(name => `${part} ${name}`)).join(', ');
const PATIENCE = 3000; // milliseconds for a text to be rendered

/** The first control of a cell's text or card that can be used; null if there is none. */
export function findControl(cell) {
  return [...cell.node.querySelectorAll(CONTROLS)].find(each => !each.disabled && each.checkVisibility()) ?? null;
}

/** The same once the text is rendered, which takes a moment. */
export function awaitControl(cell) {
  return new Promise(resolve => {
    const end = () => {
      observer.disconnect();
      clearTimeout(timer);
      resolve(findControl(cell));
    };
    const observer = new MutationObserver(() => findControl(cell) && end());
    const timer = setTimeout(end, PATIENCE);
    observer.observe(cell.node, { childList: true, subtree: true, attributes: true });
    if (findControl(cell)) end();
  });
}

/** Move the focus to the first control of a cell's text or card. A hint opens. */
export function enterText(cell) {
  const control = findControl(cell);
  if (control?.matches('details:not([open]) > summary')) control.parentElement.open = true;
  control?.focus();
}

/** Move the item's contents into one element, to put next to its control. */
export function wrapContents(item) {
  const text = element('span');
  text.append(...item.childNodes);
  return text;
}

/** Keep the notebook's shortcuts, such as the arrow keys, from a control that has the focus. */
export function captureKeys(input) {
  input.addEventListener('keydown', event => {
    if (event.key !== 'Escape' && !event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
  input.addEventListener('dblclick', event => event.stopPropagation()); // otherwise the text opens for editing
}

/** Call this for keys in a notebook: Escape in a control of a cell leads back to the cell. */
export function leaveControl({ key, target }) {
  if (key === 'Escape' && target.matches(NAMES.join(', '))) target.closest('.jp-Cell')?.focus();
}
