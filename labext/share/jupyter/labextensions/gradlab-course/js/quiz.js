// Check boxes for quizzes, in the rendered text of their cells.
// A quiz's letters are written into the exercise's cell, as if typed: only the notebook holds the answer.

import { captureKeys, wrapContents } from './controls.js';
import { element } from './elements.js';
import { factsOf, indexOf } from './notebook.js';

const RETURN = /^ {4}return (\{.*\}) *$/m;
const STUB = /^ {4}# YOUR CODE HERE\n {4}raise NotImplementedError\(\) *$/m;

/** Add controls to all rendered quizzes of this notebook that have none yet. */
export function decorateQuizzes(panel) {
  for (const cell of panel.content.widgets) {
    const { kind, exercise } = factsOf(cell);
    if (kind !== 'prose' || !exercise) continue;
    const shown = cell.node.querySelector('.jp-RenderedMarkdown');
    if (shown?.childElementCount && !shown.querySelector('.gradlab-choices')) decorateQuiz(panel, exercise, shown);
  }
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

