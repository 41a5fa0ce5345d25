// Choices for predictions, in the rendered text of their cells, and the folded explanations below them.

import { captureKeys, wrapContents } from './controls.js';
import { element } from './elements.js';
import { scrollIntoSight } from './focus.js';
import { factsOf, PREDICTION } from './notebook.js';

const AGAIN = 'You have been asked this before. Do you know it now?';
const repeated = new WeakSet(); // predictions that are asked again and not made again yet
const watched = new WeakSet(); // explanations whose opening by the student is noticed
const opened = new WeakSet(); // explanations that were opened for the student, who may have closed them since

/** Add controls to all rendered predictions of this notebook that have none yet, and open explanations that are due. */
export function decoratePredictions(panel) {
  for (const cell of panel.content.widgets) {
    if (factsOf(cell).kind !== 'predict') continue;
    const shown = cell.node.querySelector('.jp-RenderedMarkdown');
    if (shown?.childElementCount && !shown.querySelector('.gradlab-prediction')) decoratePrediction(cell, shown);
    updateExplanation(panel, cell);
  }
}

/** Ask for a prediction again, as if for the first time: without the last one, the output and the explanation. */
export function askAgain(panel, name) {
  const cell = panel.content.widgets.find(each => factsOf(each).kind === 'predict' && factsOf(each).exercise === name);
  if (!cell) return;
  repeated.add(cell.model);
  for (const input of cell.node.querySelectorAll('.gradlab-prediction input, .gradlab-choices input')) {
    if (input.type === 'text') input.value = '';
    else input.checked = false;
  }
  cell.node.querySelectorAll('.gradlab-choice, .gradlab-missed').forEach(mark => mark.remove());
  const result = cell.node.querySelector('.gradlab-prediction .gradlab-message');
  if (result) result.textContent = AGAIN;
  const { details } = findExplanation(panel, cell);
  if (details) {
    details.open = false;
    opened.delete(details);
  }
  decoratePredictions(panel);
}

/** Open the explanation once the student has predicted and run the code between. The student can always open it. */
function updateExplanation(panel, prediction) {
  const { between, details } = findExplanation(panel, prediction);
  const isAgain = repeated.has(prediction.model);
  for (const cell of between) cell.node.classList.toggle('gradlab-output-hidden', isAgain);
  if (!details) return;
  if (!watched.has(details)) {
    watched.add(details);
    details.addEventListener('toggle', () => {
      if (details.open && repeated.delete(prediction.model)) updateExplanation(panel, prediction);
    });
  }
  const isMade = !isAgain && Boolean(prediction.model.getMetadata(PREDICTION));
  const hasRun = !between.length || between.some(cell => cell.model.executionCount);
  if (!isMade || !hasRun || opened.has(details)) return;
  opened.add(details);
  details.open = true;
}

/** The folded explanation below a prediction, as far as it's rendered, and the course's code between them. */
function findExplanation(panel, prediction) {
  const cells = panel.content.widgets;
  const below = cells.slice(cells.indexOf(prediction) + 1).filter(cell => factsOf(cell).kind);
  const end = below.findIndex(cell => cell.model.type !== 'code');
  const details = below[end]?.node.querySelector('.jp-RenderedMarkdown > details') ?? null;
  return { between: end < 0 ? [] : below.slice(0, end), details };
}

function decoratePrediction(cell, shown) {
  const wanted = factsOf(cell).answer ?? [];
  const items = [...shown.querySelectorAll('li')].filter(item => item.querySelector('input[type=checkbox]'));
  const question = shown.querySelector('p')?.textContent.replace('Predict.', '').trim().slice(0, 200) ?? '';
  const form = element('form', '', { class: 'gradlab gradlab-prediction', 'aria-label': `Your prediction: ${question}` });
  const result = element('p', '', { role: 'status', class: 'gradlab-message' });
  const several = wanted.length > 1;
  const group = `gradlab-${cell.model.id}`;
  let read;
  let inputs = [];
  if (items.length) {
    inputs = items.map(item => {
      const text = item.textContent.trim();
      item.querySelector('input').remove();
      const label = element('label');
      const input = element('input', '', { type: several ? 'checkbox' : 'radio', name: group });
      label.append(input, wrapContents(item));
      item.append(label);
      captureKeys(input);
      return { input, text };
    });
    const list = items[0].parentElement;
    list.classList.add('gradlab', 'gradlab-choices');
    list.setAttribute('role', several ? 'group' : 'radiogroup');
    list.setAttribute('aria-label', question);
    items.forEach(item => item.setAttribute('role', 'presentation'));
    read = () => inputs.filter(each => each.input.checked).map(each => each.text);
  } else {
    const input = element('input', '', { type: 'text', inputmode: 'decimal', 'aria-label': `Your number: ${question}` });
    captureKeys(input);
    form.append(input);
    read = () => (input.value.trim() ? [input.value.trim()] : []);
  }
  form.append(element('button', 'Compare', { type: 'submit' }), result);
  shown.append(form);
  form.onsubmit = event => {
    event.preventDefault();
    const given = read();
    if (!given.length) {
      result.textContent = "Make a prediction first. If it's wrong, you'll remember the answer better.";
      return;
    }
    if (!items.length && Number.isNaN(toNumber(given[0]))) {
      result.textContent = 'Type a number.';
      return;
    }
    const right = items.length ? isSame(given, wanted) : isSameNumber(given[0], wanted[0]);
    const last = cell.model.getMetadata(PREDICTION);
    const missed = !right || Boolean(last?.missed);
    const again = right && missed ? (last?.again ?? 0) + 1 : 0; // right ones since it was wrong: they decide when it comes back
    const on = new Date().toISOString().slice(0, 10);
    repeated.delete(cell.model);
    cell.model.setMetadata(PREDICTION, { given, right, missed, again, on });
    showResult(result, { given, right }, nameRight(inputs, wanted));
    markChoices(inputs, wanted);
    scrollIntoSight(result);
  };
  const before = cell.model.getMetadata(PREDICTION);
  if (repeated.has(cell.model)) result.textContent = AGAIN;
  else if (before?.right && !before.missed) showResult(result, before, nameRight(inputs, wanted));
  else if (before?.right) result.textContent = 'You were right last time, but wrong before that. Do you still know?';
  else if (before) result.textContent = `You predicted: ${before.given.join('; ')}. That's not what happens. Predict again.`;
}

/** Whether this choice, as it's shown, is one of the right ones. */
const isAmong = (text, wanted) => wanted.some(each => isSame([text], [each]));

/** The right choices as they're shown, or the number. */
function nameRight(inputs, wanted) {
  const shown = inputs.map(({ text }) => text).filter(text => isAmong(text, wanted));
  return shown.length === wanted.length ? shown : wanted;
}

/** Put a check mark before each right choice, and a cross before a wrong one that was chosen. Name the missed ones. */
function markChoices(inputs, wanted) {
  for (const { input, text } of inputs) {
    const isWanted = isAmong(text, wanted);
    input.parentElement.querySelectorAll('.gradlab-choice, .gradlab-missed').forEach(mark => mark.remove());
    if (!isWanted && !input.checked) continue;
    const mark = element('span', isWanted ? '✓' : '✗', { class: `gradlab-choice gradlab-sign gradlab-sign-${isWanted ? 'pass' : 'fail'}`, role: 'img' });
    mark.setAttribute('aria-label', isWanted ? 'right' : 'wrong');
    input.before(mark);
    if (!input.checked && wanted.length > 1) input.parentElement.append(element('span', "you didn't choose this", { class: 'gradlab-missed gradlab-small' }));
  }
}

const toNumber = text => Number(text.replace(',', '.'));

/** Whether a typed number is the right one. A neighbor of 2048 is wrong, so only what a decimal loses is forgiven. */
function isSameNumber(given, wanted) {
  const number = Number(wanted);
  return Math.abs(toNumber(given) - number) <= 1e-6 * Math.max(1, Math.abs(number));
}

/** Whether these choices are the right ones. */
function isSame(given, wanted) {
  const plain = texts => texts.map(text => text.replace(/[`*_\\\s]/g, '')).sort().join('|');
  return plain(given) === plain(wanted);
}

/** answers: as they're shown. */
function showResult(result, { given, right }, answers) {
  const prediction = given.join('; ');
  result.textContent = right
    ? `✓ You predicted: ${prediction}. That's what happens.`
    : `✗ You predicted: ${prediction}. It is: ${answers.join('; ')}.`;
}

