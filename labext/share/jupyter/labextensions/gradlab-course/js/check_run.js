// Runs check cells after the cells they need, one at a time, and reports what it's waiting for.

import { factsOf, indexOf, NEEDED } from './notebook.js';

const SLOW = 1000; // milliseconds before a run is worth a message
const STUCK = 5000; // milliseconds before it says how to stop the cell
const COMMAND = /^\s*[!%]/; // a line for the shell or IPython
const ASKS = /\binput\s*\(/;

/**
 * Run these exercises' checks, after the cells they need that this kernel has not run, and after their own cells anyway.
 * report: called with a line about what is running, once it takes long.
 * Returns {stop, skipped}: {cell, interrupted} of the cell that ended the run, or null, and the student's own cells that
 * weren't run again.
 */
export async function runChecks(panel, exercises, executed, actions, report) {
  const { content, sessionContext } = panel;
  const { chosen, skipped } = chooseCells(content.widgets, panel, exercises, executed);
  const before = content.activeCellIndex;
  let stop = null;
  await startKernel(sessionContext);
  for (const [index, cell] of chosen.entries()) {
    const timers = reportSlowness(panel, cell, `cell ${index + 1} of ${chosen.length}`, report);
    const { mode } = content;
    const run = actions.runCells(content, [cell], sessionContext);
    content.mode = mode; // it leaves the edit mode, and what the student types on would be taken as shortcuts
    const succeeded = await run;
    timers.forEach(clearTimeout);
    if (succeeded) continue;
    const { kind, exercise } = factsOf(cell);
    const interrupted = hasError(cell, 'KeyboardInterrupt');
    if (interrupted || kind === 'given' || (kind === 'exercise' && exercises.includes(exercise))) {
      stop = { cell, interrupted };
      break;
    }
  }
  content.activeCellIndex = before;
  if (document.activeElement === document.body) await actions.focusActiveCell(content); // the focused card was replaced
  return { stop, skipped };
}

function chooseCells(cells, panel, exercises, executed) {
  const wanted = exercises.map(name => indexOf(panel, 'check', name)).filter(index => index >= 0);
  const last = Math.max(-1, ...wanted);
  const chosen = [];
  const skipped = [];
  cells.slice(0, last + 1).forEach((cell, index) => {
    if (cell.model.type !== 'code') return;
    const { kind, exercise } = factsOf(cell);
    if (kind === 'check' ? !wanted.includes(index) : !NEEDED.includes(kind)) return;
    if (kind !== 'check' && executed.has(cell) && !exercises.includes(exercise)) return;
    if (kind === undefined && isLeftOut(cell)) skipped.push(cell);
    else chosen.push(cell);
  });
  return { chosen, skipped };
}

/** Whether a cell that the student added isn't run again: it failed or was stopped, runs commands, or asks for input. */
function isLeftOut(cell) {
  const lines = cell.model.sharedModel.getSource().split('\n').filter(line => line.trim());
  const commands = lines.length > 0 && (lines.every(line => COMMAND.test(line)) || lines[0].startsWith('%%'));
  return commands || hasError(cell) || lines.some(line => ASKS.test(line));
}

/** Whether the cell's output shows an error, of this name if one is given. */
function hasError(cell, name) {
  const { outputs } = cell.model;
  for (let i = 0; i < outputs.length; i++) {
    const output = outputs.get(i).toJSON();
    if (output.output_type === 'error' && (!name || output.ename === name)) return true;
  }
  return false;
}

// JupyterLab starts a kernel too, but runs nothing after it has asked for one.
async function startKernel(session) {
  await session.ready;
  if (!session.hasNoKernel) return;
  if (await session.startKernel()) await session.changeKernel({ name: session.specsManager.specs?.default });
}

function reportSlowness(panel, cell, place, report) {
  const slow = setTimeout(() => report(`Running ${place}, which this check needs`), SLOW);
  const stuck = setTimeout(() => {
    const running = findRunning(panel) ?? cell;
    report(`Still running the cell that begins with “${firstLine(running)}”. To stop it, press ■ above the notebook.`);
  }, STUCK);
  return [slow, stuck];
}

/** The first cell that waits or runs: a kernel runs them in order. */
function findRunning(panel) {
  return panel.content.widgets.find(cell => cell.node.querySelector('.jp-InputPrompt')?.textContent.includes('*'));
}

export const firstLine = cell => cell.model.sharedModel.getSource().split('\n').find(line => line.trim())?.trim().slice(0, 60) ?? '';
