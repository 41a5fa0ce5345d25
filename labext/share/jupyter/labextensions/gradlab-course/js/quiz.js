// Check boxes for quizzes and choices for predictions, in the rendered text of their cells.
// A quiz's letters are written into the exercise's cell, as if typed: only the notebook holds the answer.

import { factsOf, indexOf, PREDICTION } from './notebook.js';
import { element } from './panel.js';

const RETURN = /^ {4}return (\{.*\}) *$/m;
const STUB = /^ {4}# YOUR CODE HERE\n {4}raise NotImplementedError\(\) *$/m;

/** Add controls to all rendered quizzes and predictions of this notebook that have none yet. */
export function decorate(panel) {
  for (const cell of panel.content.widgets) {
    const { kind, exercise } = factsOf(cell);
    if (kind !== 'predict' && !(kind === 'prose' && exercise)) continue;
    const shown = cell.node.querySelector('.jp-RenderedMarkdown');
    if (!shown?.childElementCount || shown.querySelector('.gradlab-choices, .gradlab-prediction')) continue;
    if (kind === 'predict') decoratePrediction(cell, shown);
    else decorateQuiz(panel, exercise, shown);
  }
  panel.content.widgets.forEach((cell, at, cells) => factsOf(cell).kind === 'predict' && veil(cell, cells.slice(at + 1)));
}

const opened = new WeakSet(); // answers that the student chose to see

/** Hide the answer in the view until the student makes a prediction, runs the code before it, or opens it. */
function veil(prediction, below) {
  const end = below.findIndex(cell => cell.model.type !== 'code');
  const answer = below[end];
  if (end < 0 || factsOf(answer).kind !== 'prose' || factsOf(answer).exercise) return;
  const isKnown = prediction.model.getMetadata(PREDICTION) || below.slice(0, end).some(cell => cell.model.executionCount);
  const hidden = !isKnown && !opened.has(answer.model);
  answer.node.classList.toggle('gradlab-veiled', hidden);
  const bar = answer.node.querySelector('.gradlab-veil');
  if (!hidden) bar?.remove();
  if (!hidden || bar) return;
  const notice = element('p', 'The answer is here. Make your prediction first. ', { class: 'gradlab-message gradlab-veil' });
  const button = element('button', 'Show it now');
  button.onclick = () => {
    opened.add(answer.model);
    veil(prediction, below);
  };
  notice.append(button);
  answer.node.append(notice);
}

/** Read {q1: 'ac', ...} from the exercise's cell; null if the student wrote it in another form. */
export function readLetters(source) {
  const match = RETURN.exec(source);
  if (!match) return STUB.test(source) ? {} : null;
  try {
    return JSON.parse(match[1]);
  } catch {
    return null;
  }
}

/** Write these letters into the cell's source. */
export function writeLetters(source, letters) {
  const line = () => `    return ${JSON.stringify(letters).replaceAll('":"', '": "').replaceAll('","', '", "')}`;
  return source.replace(RETURN.test(source) ? RETURN : STUB, line);
}

function decorateQuiz(panel, exercise, shown) {
  const cell = panel.content.widgets[indexOf(panel, 'exercise', exercise)];
  if (!cell) return;
  const shared = cell.model.sharedModel;
  const boxes = [];
  let question = '';
  for (const node of shown.children) {
    const title = /^(q\d+)\./.exec(node.querySelector('strong')?.textContent ?? '');
    if (title) question = title[1];
    if (node.tagName !== 'UL' || !question) continue;
    node.classList.add('gradlab-choices');
    for (const item of node.children) {
      const letter = /^\s*([a-e])\. /.exec(item.textContent)?.[1];
      if (letter) boxes.push(checkbox(item, `${question} ${letter}`, question, letter));
    }
  }
  const note = element('p', '', { class: 'gradlab-message', role: 'status' });
  shown.append(note);
  const refresh = () => {
    const letters = readLetters(shared.getSource());
    for (const { box, question, letter } of boxes) {
      box.disabled = letters === null;
      box.checked = (letters?.[question] ?? '').includes(letter);
    }
    note.textContent = letters === null ? 'You changed the form of the cell below, so change your letters there.' : '';
  };
  for (const { box, question, letter } of boxes) {
    box.onchange = () => {
      const source = shared.getSource();
      const names = [...new Set(boxes.map(each => each.question))];
      const before = readLetters(source) ?? {};
      const letters = Object.fromEntries(names.map(name => [name, before[name] ?? '']));
      const chosen = new Set(letters[question]);
      if (box.checked) chosen.add(letter);
      else chosen.delete(letter);
      letters[question] = [...chosen].sort().join('');
      shared.setSource(writeLetters(source, letters));
    };
  }
  cell.model.contentChanged.connect(refresh);
  refresh();
}

function checkbox(item, name, question, letter) {
  const label = element('label');
  const box = element('input', '', { type: 'checkbox', 'aria-label': `${name}: ${item.textContent.trim().slice(3)}` });
  label.append(box, wrapContents(item));
  item.append(label);
  captureKeys(box);
  return { box, question, letter };
}

function decoratePrediction(cell, shown) {
  const wanted = factsOf(cell).answer ?? [];
  const items = [...shown.querySelectorAll('li')].filter(item => item.querySelector('input[type=checkbox]'));
  const form = element('form', '', { class: 'gradlab-prediction', 'aria-label': 'Your prediction' });
  const result = element('p', '', { role: 'status', class: 'gradlab-message' });
  const several = wanted.length > 1;
  const group = `gradlab-${cell.model.id}`;
  let read;
  if (items.length) {
    const inputs = items.map(item => {
      const text = item.textContent.trim();
      item.querySelector('input').remove();
      const label = element('label');
      const input = element('input', '', { type: several ? 'checkbox' : 'radio', name: group });
      label.append(input, wrapContents(item));
      item.append(label);
      captureKeys(input);
      return { input, text };
    });
    items[0].parentElement.classList.add('gradlab-choices');
    read = () => inputs.filter(each => each.input.checked).map(each => each.text);
  } else {
    const input = element('input', '', { type: 'text', inputmode: 'decimal', 'aria-label': 'Your number' });
    captureKeys(input);
    form.append(input);
    read = () => (input.value.trim() ? [input.value.trim()] : []);
  }
  const button = element('button', 'Compare', { type: 'submit' });
  form.append(button, result);
  shown.append(form);
  form.onsubmit = event => {
    event.preventDefault();
    const given = read();
    if (!given.length) {
      result.textContent = 'Make a prediction first. If it is wrong, you will remember the answer better.';
      return;
    }
    const right = isRight(given, wanted);
    const last = cell.model.getMetadata(PREDICTION);
    const missed = !right || Boolean(last?.missed);
    const again = right && missed ? (last?.again ?? 0) + 1 : 0; // right ones since it was wrong: they decide when it comes back
    const on = new Date().toISOString().slice(0, 10);
    cell.model.setMetadata(PREDICTION, { given, right, missed, again, on });
    showResult(result, { given, right }, wanted);
  };
  const before = cell.model.getMetadata(PREDICTION);
  if (before?.right && !before.missed) showResult(result, before, wanted);
  else if (before?.right) result.textContent = 'You were right last time, but wrong before that. Do you still know?';
  else if (before) result.textContent = `You predicted: ${before.given.join('; ')}. That is not what happens. Predict again.`;
}

/** Move the item's contents into one element, to put next to its control. */
function wrapContents(item) {
  const text = element('span');
  text.append(...item.childNodes);
  return text;
}

function isRight(given, wanted) {
  if (wanted.length === 1 && wanted[0].trim() !== '' && !Number.isNaN(Number(wanted[0]))) {
    const number = Number(wanted[0]);
    return Math.abs(Number(given[0].replace(',', '.')) - number) <= 1e-6 + 0.01 * Math.abs(number);
  }
  const plain = texts => texts.map(text => text.replace(/[`*_\s]/g, '')).sort().join('|');
  return plain(given) === plain(wanted);
}

function showResult(result, { given, right }, wanted) {
  const prediction = given.join('; ');
  const shown = wanted.join('; ').replaceAll('`', '');
  result.textContent = right
    ? `You predicted: ${prediction}. That is what happens. Run the next cell to see why.`
    : `You predicted: ${prediction}. It is: ${shown}. Run the next cell to find out why.`;
}

/** Keep the notebook's shortcuts, such as the arrow keys, from a control that has the focus. */
function captureKeys(input) {
  input.addEventListener('keydown', event => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && event.key !== 'Escape') event.stopPropagation();
  });
  input.addEventListener('dblclick', event => event.stopPropagation()); // otherwise the text opens for editing
}
