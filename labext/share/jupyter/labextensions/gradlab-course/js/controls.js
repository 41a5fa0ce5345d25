// Form controls inside a notebook's text.

import { element } from './elements.js';

/** Move the item's contents into one element, to put next to its control. */
export function wrapContents(item) {
  const text = element('span');
  text.append(...item.childNodes);
  return text;
}

/** Keep the notebook's shortcuts, such as the arrow keys, from a control that has the focus. */
export function captureKeys(input) {
  input.addEventListener('keydown', event => {
    if (event.key === 'Escape') input.closest('.jp-Cell')?.focus(); // back to the notebook
    else if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
  input.addEventListener('dblclick', event => event.stopPropagation()); // otherwise the text opens for editing
}
