// The cells of a lab in an open notebook: finding, running and selecting them.

const KEY = 'gradlab';
export const PREDICTION = 'gradlab_prediction'; // metadata key of a cell that asks for a prediction
export const COMPARED = 'gradlab_compared'; // metadata key of a quiz's cell: {question: whether its letters were right at first}
const VERDICT = 'application/vnd.gradlab.verdict+json';
export const WRITTEN = ['exercise', 'question'];
const PLACEHOLDER = /# YOUR CODE HERE(\n *raise NotImplementedError\(\))?/; // nbgrader's
// Kinds of cell that must run before a check: course code, exercises, and cells that the student added.
export const NEEDED = [undefined, 'given', 'exercise'];

const ADVICE = "hasn't run since the kernel started"; // of labkit, which says it itself if the kernel has imported it
const RESTARTED = 'Some cells above have not run since the kernel started, so their names are missing. Select this cell, '
  + 'choose Run > Run All Above Selected Cell, then run it again. The Check button of an exercise does both.';

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

/** The index of the cell of this kind and exercise; -1 if there is none. */
export function indexOf(panel, kind, exercise) {
  return panel.content.widgets.findIndex(cell => factsOf(cell).kind === kind && factsOf(cell).exercise === exercise);
}

/** The index of the cell to go to for an exercise, a question or a prediction; for a quiz, of its questions. */
export function placeOf(panel, name) {
  const indices = ['prose', 'exercise', 'question', 'predict'].map(kind => indexOf(panel, kind, name));
  return indices.find(index => index >= 0) ?? -1;
}

/** The exercise of the active cell, or the next one below it; empty if there is none. */
export function currentExercise(panel) {
  const cells = panel.content.widgets;
  const named = cell => Boolean(factsOf(cell).exercise) && factsOf(cell).kind !== 'predict';
  const at = panel.content.activeCellIndex;
  for (let i = at; i >= 0; i--) {
    const facts = factsOf(cells[i]);
    if (named(cells[i])) return facts.exercise;
    if (facts.kind) break; // other course text: the exercise above has ended
  }
  const below = cells.slice(at).find(named);
  return below ? factsOf(below).exercise : '';
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
        metadata: { [KEY]: facts, ...pickMetadata(cell, PREDICTION), ...pickMetadata(cell, COMPARED) },
        execution_count: cell.model.executionCount ?? null,
        source: [...WRITTEN, 'predict'].includes(facts.kind) ? cell.model.sharedModel.getSource() : '',
        outputs,
      };
    });
  return { metadata: { [KEY]: panel.content.model.getMetadata(KEY) }, cells };
}

function pickMetadata(cell, key) {
  const value = cell.model.getMetadata(key);
  return value ? { [key]: value } : {};
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

/** Go to a cell, and select what the student replaces, so typing writes the answer. */
export async function goTo(panel, index, actions) {
  if (index < 0) return;
  const notebook = panel.content;
  notebook.activeCellIndex = index;
  await notebook.scrollToItem(index, 'start');
  await actions.focusActiveCell(notebook);
  const cell = notebook.widgets[index];
  if (!WRITTEN.includes(factsOf(cell).kind)) return;
  notebook.mode = 'edit';
  const chosen = findPlaceholder(cell.model.sharedModel.getSource(), factsOf(cell));
  if (chosen) cell.editor?.setSelection(chosen);
}

/** Remembers which cells ran in the current kernel, which saved execution counts don't show. */
export class ExecutedCells {
  constructor(actions) {
    this.cells = new WeakSet();
    actions.executed.connect((_, { cell, success }) => success && this.cells.add(cell.model));
    actions.executed.connect((_, { notebook, cell, error }) => this.explainNameError(notebook, cell, error));
  }

  /** After a NameError, say below the cell if cells above have not run in this kernel. */
  explainNameError(notebook, cell, error) {
    cell.node.querySelector('.gradlab-restarted')?.remove();
    if (error?.errorName !== 'NameError' || !notebook.model?.getMetadata(KEY)?.lab) return;
    if (error.traceback?.some(line => line.includes(ADVICE))) return;
    const above = notebook.widgets.slice(0, notebook.widgets.indexOf(cell));
    const name = /name '(\w+)' is not defined/.exec(error.errorValue)?.[1] ?? '';
    const mentions = each => new RegExp(`\\b${name}\\b`).test(each.model.sharedModel.getSource());
    const missing = each => each.model.type === 'code' && !this.has(each) && mentions(each);
    if (!above.some(missing)) return;
    const message = document.createElement('p');
    message.className = 'gradlab gradlab-message gradlab-restarted';
    message.setAttribute('role', 'status');
    message.textContent = RESTARTED;
    cell.node.append(message);
  }

  /** Call this once for each opened notebook. */
  watch(panel) {
    panel.sessionContext.statusChanged.connect((_, status) => {
      if (['restarting', 'autorestarting', 'terminating', 'dead'].includes(status)) this.cells = new WeakSet();
    });
  }

  has(cell) {
    return this.cells.has(cell.model);
  }
}

/** Restore the text that was handed out, and keep the student's text in a raw cell below. */
export function reset(panel, exercise) {
  const index = Math.max(indexOf(panel, 'exercise', exercise), indexOf(panel, 'question', exercise));
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
