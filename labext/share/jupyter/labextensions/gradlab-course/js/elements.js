// Small builders of page elements, and the way numbers are written.

export function element(name, text = '', attributes = {}) {
  const node = document.createElement(name);
  if (text) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/** A button that does this. */
export function button(words, action, attributes = {}) {
  const node = element('button', words, { type: 'button', ...attributes });
  node.onclick = action;
  return node;
}

/** Python code, colored as the notebook's texts color it. rendermime: the notebook's. */
export function renderCode(rendermime, source) {
  const fence = '`'.repeat(Math.max(3, ...[...source.matchAll(/`+/g)].map(([each]) => each.length + 1)));
  const renderer = rendermime.createRenderer('text/markdown');
  renderer.renderModel(rendermime.createModel({ data: { 'text/markdown': `${fence}python\n${source}\n${fence}` } }));
  return renderer.node;
}

const LETTERS = { pass: '✓', ready: '✓', fail: '✗', partly: '◐', written: '…', later: '○', untouched: '○' };

/** The icon of a state, next to its word. Without the style sheet, it's a letter. */
export const sign = state => element('span', LETTERS[state], { class: `gradlab-sign gradlab-sign-${state}`, 'aria-hidden': 'true' });

/** Format a number of points as the feedback page does: with at most two decimals. */
export const formatPoints = number => String(Math.round(number * 100) / 100);

export const formatCount = (number, noun) => `${formatPoints(number)} ${noun}${number === 1 ? '' : 's'}`;
