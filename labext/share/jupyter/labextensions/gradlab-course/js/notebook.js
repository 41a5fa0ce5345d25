// The cells of a lab in an open notebook: finding, naming and selecting them.

import { awaitControl, findControl } from './controls.js';
import { isPageText } from './course_pages.js';
import { Way } from './scrolling.js';

const KEY = 'gradlab';
export const PREDICTION = 'gradlab_prediction'; // metadata key of a cell that asks for a prediction
export const COMPARED = 'gradlab_compared'; // metadata key of a quiz's cell: {question: whether its letters were right at first}
const VERDICT = 'application/vnd.gradlab.verdict+json';
export const WRITTEN = ['exercise', 'question'];
const PLACEHOLDER = /# YOUR CODE HERE(\n *raise NotImplementedError\(\))?/; // nbgrader's
// Kinds of cell that must run before a check: course code, exercises, and cells that the student added.
export const NEEDED = [undefined, 'given', 'exercise'];

export const factsOf = cell => cell?.model.getMetadata(KEY) ?? {};

export function isLab(panel) {
  return Boolean(panel?.content.model?.getMetadata(KEY)?.lab);
}

/** Return the lab of a notebook: {name, title}. */
export function labOf(panel) {
  const { lab: name = '', title = name } = panel?.content.model?.getMetadata(KEY) ?? {};
  return { name, title };
}

/** What students call an exercise or a question: the title in its cell, else its name. */
export function titleOf(panel, exercise) {
  const index = Math.max(indexOf(panel, 'exercise', exercise), indexOf(panel, 'question', exercise));
  return factsOf(panel.content.widgets[index]).title ?? exercise;
}

const LONGEST_TASK = 5; // cells
const LONGEST_LINE = 40; // characters of a cell's first line in a message

/** What a message calls a cell: its exercise, the function or class that it begins with, or its first line. */
export function nameOf(panel, cell) {
  const { exercise } = factsOf(cell);
  return exercise ? titleOf(panel, exercise) : nameSource(cell.model.sharedModel.getSource());
}

/** The same for the text of a cell that belongs to no exercise, or for its first line, of at most so many characters. */
export function nameSource(source, longest = LONGEST_LINE) {
  const line = source.split('\n').find(each => each.trim())?.trim() ?? '';
  const name = /^(?:async\s+)?(?:def|class)\s+(\w+)/.exec(line)?.[1];
  return name ?? `“${line.length > longest ? `${line.slice(0, longest - 2)} …` : line}”`;
}

/** Whether the course wrote this text, which students have no reason to change. */
export function isCourseText(panel, cell) {
  const { kind } = factsOf(cell);
  return cell.model.type === 'markdown' && (isPageText(panel, cell) || (Boolean(kind) && !WRITTEN.includes(kind)));
}

/** Whether Enter goes to the controls of this cell, whose source stays closed: a text or a check of the course. */
export const isEntered = (panel, cell) => isCourseText(panel, cell) || factsOf(cell).kind === 'check';

/** Mark the course's own cells for the style sheet and the keyboard. */
export function markCourseCells(panel) {
  panel.content.node.classList.toggle('gradlab-lab', isLab(panel));
  for (const cell of panel.content.widgets) {
    const { kind } = factsOf(cell);
    cell.node.classList.toggle('gradlab-course-cell', Boolean(kind) && kind !== 'scratch' && !WRITTEN.includes(kind));
    cell.node.classList.toggle('gradlab-protected', cell.model.getMetadata('deletable') === false);
    cell.node.classList.toggle('gradlab-entered', isEntered(panel, cell));
    const fold = cell.node.querySelector('.jp-collapseHeadingButton');
    if (fold) fold.tabIndex = -1; // the arrow keys fold a heading; Tab goes to the text's controls
  }
}

/** The index of the cell of this kind and exercise, of several exercise cells the one that counts; -1 if there is none. */
export function indexOf(panel, kind, exercise) {
  const cells = panel.content.widgets;
  if (kind !== 'exercise') return cells.findIndex(cell => factsOf(cell).kind === kind && factsOf(cell).exercise === exercise);
  // As in the grader, which runs them all: the last one that was changed.
  const versions = findVersions(panel, exercise);
  const isWritten = cell => cell.model.sharedModel.getSource().trim() !== (factsOf(cell).stub ?? '').trim();
  return cells.indexOf(versions.findLast(isWritten) ?? versions.at(-1));
}

/** An exercise's cells: more than one if the student copied it. */
export function findVersions(panel, exercise) {
  return panel.content.widgets.filter(cell => factsOf(cell).kind === 'exercise' && factsOf(cell).exercise === exercise);
}

/** The index of the cell to go to for an exercise, a question, a prediction or a heading; for a quiz, of its questions. */
export function placeOf(panel, name) {
  const indices = ['prose', 'exercise', 'question', 'predict'].map(kind => indexOf(panel, kind, name));
  const hasHeading = cell => cell.model.type === 'markdown' && cell.model.sharedModel.getSource().split('\n').some(line => line.replace(/^#+ /, '') === name);
  return indices.find(index => index >= 0) ?? panel.content.widgets.findIndex(hasHeading);
}

/** The exercise or question that a cell belongs to; empty if there is none. */
export function exerciseOf(cell) {
  const { kind, exercise = '' } = factsOf(cell);
  return kind === 'predict' ? '' : exercise;
}

/** The exercise of the active cell, or the next one below it; empty if there is none. */
export function currentExercise(panel) {
  const cells = panel.content.widgets;
  const at = panel.content.activeCellIndex;
  for (let i = at; i >= 0; i--) {
    const name = exerciseOf(cells[i]);
    if (name) return name;
    if (factsOf(cells[i]).kind) break; // other course text: the exercise above has ended
  }
  return cells.slice(at).map(exerciseOf).find(Boolean) ?? '';
}

/** What the server needs to compute progress: no outputs but verdicts, no sources but answers and predictions. */
export function extractState(panel) {
  const cells = panel.content.widgets
    .filter(cell => factsOf(cell).kind)
    .map(cell => {
      const facts = factsOf(cell);
      const outputs = [];
      const shown = facts.kind === 'check' ? cell.model.outputs : null;
      for (let i = 0; shown && i < shown.length; i++) {
        const verdict = shown.get(i).data?.[VERDICT];
        if (verdict) outputs.push({ data: { [VERDICT]: dropDifferences(verdict) } });
      }
      return {
        metadata: readProgressMetadata(cell),
        execution_count: cell.model.executionCount ?? null,
        source: [...WRITTEN, 'predict'].includes(facts.kind) ? cell.model.sharedModel.getSource() : '',
        outputs,
      };
    });
  return { metadata: { [KEY]: panel.content.model.getMetadata(KEY) }, cells };
}

function readProgressMetadata(cell) {
  const entries = [KEY, PREDICTION, COMPARED].map(key => [key, cell.model.getMetadata(key)]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

// The matrices of a card don't affect progress.
function dropDifferences(verdict) {
  return { ...verdict, checks: (verdict.checks ?? []).map(check => ({ ...check, difference: null })) };
}

/** The range of the text that the student replaces, {start, end}; null if it's no longer there. */
function findPlaceholder(source, { kind, stub }) {
  const words = kind === 'question' ? source === stub && source : PLACEHOLDER.exec(source)?.[0];
  if (!words) return null;
  const begin = source.indexOf(words);
  const place = offset => {
    const before = source.slice(0, offset).split('\n');
    return { line: before.length - 1, column: before.at(-1).length };
  };
  return { start: place(begin), end: place(begin + words.length) };
}

/** The exercise or question at the active cell, or the last one above it; empty if there is none. */
export function findPlace(panel, names) {
  const above = panel.content.widgets.slice(0, panel.content.activeCellIndex + 1).map(cell => factsOf(cell).exercise);
  return above.findLast(name => names.includes(name)) ?? '';
}

/** Go to a cell: select what the student replaces, so typing writes the answer, or focus a question's first control. */
export async function goTo(panel, index, actions) {
  if (index < 0) return;
  const notebook = panel.content;
  const cell = notebook.widgets[index];
  const { kind, exercise } = factsOf(cell);
  if (notebook.activeCell?.model.type === 'markdown') notebook.activeCell.rendered = true; // an answer that was open
  notebook.mode = 'command'; // in the edit mode, selecting a text opens its source
  notebook.activeCellIndex = index;
  if (isCourseText(panel, cell)) cell.rendered = true;
  await new Way(notebook, cell, findTask(notebook, index)).arrive(async () => {
    await actions.focusActiveCell(notebook, { waitUntilReady: true, preventScroll: true });
    if (kind === 'predict' || (kind === 'prose' && exercise)) (await awaitControl(cell))?.focus({ preventScroll: true });
    if (WRITTEN.includes(kind)) startAnswer(notebook, cell);
  });
}

/** The cell with the heading of an answer's task, which is a few cells above it; else the answer itself. */
function findTask(notebook, index) {
  const { widgets } = notebook;
  if (!WRITTEN.includes(factsOf(widgets[index]).kind)) return widgets[index];
  const above = widgets.slice(Math.max(0, index - LONGEST_TASK), index);
  const isOther = cell => !['prose', 'given'].includes(factsOf(cell).kind);
  const own = above.slice(above.findLastIndex(isOther) + 1);
  return own.findLast(cell => /^#+ /.test(cell.model.sharedModel.getSource()) && cell.model.type === 'markdown') ?? widgets[index];
}

/** Select what the student replaces, or focus the first control below an answer that is written. */
function startAnswer(notebook, cell) {
  const { kind } = factsOf(cell);
  const control = kind === 'question' ? findControl(cell) : null;
  if (control) { // the answer is written
    control.focus();
    return;
  }
  notebook.mode = 'edit';
  const chosen = findPlaceholder(cell.model.sharedModel.getSource(), factsOf(cell));
  if (chosen) cell.editor?.setSelection(chosen);
}

/** Call this before JupyterLab gets a double click, which opens a text: the course's stays rendered. */
export function handleDoubleClick(panel, event) {
  const cell = panel.content.widgets.find(each => each.node.contains(event.target));
  if (cell && isCourseText(panel, cell)) event.stopPropagation();
  else requestAnimationFrame(() => startEditing(panel.content));
}

/** In a text that has been opened, typing edits it instead of running commands. */
function startEditing(notebook) {
  const cell = notebook.activeCell;
  if (cell?.model.type === 'markdown' && !cell.rendered && !cell.readOnly) notebook.mode = 'edit';
}

/** Restore the text that was handed out, and keep the student's text in a raw cell below. */
export function reset(panel, exercise) {
  const counted = Math.max(indexOf(panel, 'exercise', exercise), indexOf(panel, 'question', exercise));
  const index = findVersions(panel, exercise).includes(panel.content.activeCell) ? panel.content.activeCellIndex : counted;
  const cell = panel.content.widgets[index];
  const shared = cell.model.sharedModel;
  const before = shared.getSource();
  const stub = factsOf(cell).stub ?? '';
  if (before.trim() === stub.trim()) return;
  shared.setSource(stub);
  if (cell.model.type === 'code') cell.model.clearExecution();
  panel.content.widgets[indexOf(panel, 'check', exercise)]?.model.clearExecution(); // it is about the old text
  panel.content.model.sharedModel.insertCell(index + 1, {
    cell_type: 'raw',
    source: `Your text of ${titleOf(panel, exercise)} before the reset:\n\n${before}`,
    metadata: {},
  });
}
