// Runs check cells after the cells they need, one at a time, and reports what it's waiting for.

import { factsOf, findVersions, indexOf, nameOf, NEEDED } from './notebook.js';

const SLOW = 1000; // milliseconds before a run is worth a message
const STUCK = 5000; // milliseconds before it says how to stop the cell
const COMMAND = /^\s*[!%]/; // a line for the shell or IPython
const STOP = 'To stop it, press Stop, or Escape and then I twice.';
const ASKS = /\binput\s*\(/;

/**
 * Run these exercises' checks, after the cells they need that this kernel has not run, and after their own cells anyway.
 * report: called with a line about what is running, once it takes long, and whether to offer to stop it.
 * Returns {stop, skipped}: {cell, interrupted} of the cell that ended the run, or null, and the student's own cells that
 * weren't run again.
 */
export async function runChecks(panel, exercises, executed, actions, report) {
  const { content, sessionContext } = panel;
  await awaitOtherCells(panel, executed, report);
  const { chosen, skipped } = chooseCells(content.widgets, panel, exercises, executed);
  const before = content.activeCellIndex;
  let stop = null;
  await startKernel(sessionContext);
  for (const [index, cell] of chosen.entries()) {
    const timers = reportSlowness(`Running cell ${index + 1} of ${chosen.length}, which this check needs`, () => nameOf(panel, executed.findRunning(panel) ?? cell), report);
    const { mode } = content;
    const run = actions.runCells(content, [cell], sessionContext);
    content.mode = mode; // it leaves the edit mode, and what the student types on would be taken as shortcuts
    const succeeded = await run;
    timers.forEach(clearTimeout);
    if (succeeded) continue;
    const { kind, exercise } = factsOf(cell);
    const interrupted = hasError(cell, 'KeyboardInterrupt');
    const isCounted = kind === 'exercise' && content.widgets.indexOf(cell) === indexOf(panel, kind, exercise);
    if (interrupted || kind === 'given' || (isCounted && exercises.includes(exercise))) {
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
  // A copy of an exercise may be below its check. It's graded with it.
  const inOrder = cells.slice(0, last + 1).flatMap((cell, index) => {
    const versions = wanted.includes(index) ? findVersions(panel, factsOf(cell).exercise) : [];
    return [...versions.filter(version => cells.indexOf(version) > index), cell];
  });
  new Set(inOrder).forEach(cell => {
    if (cell.model.type !== 'code') return;
    const { kind, exercise } = factsOf(cell);
    if (kind === 'check' ? !wanted.includes(cells.indexOf(cell)) : !NEEDED.includes(kind)) return;
    if (kind !== 'check' && executed.has(cell) && !exercises.includes(exercise)) return;
    if (kind === undefined && explainLeftOut(cell)) skipped.push(cell);
    else chosen.push(cell);
  });
  return { chosen, skipped };
}

/** Why a cell that the student added isn't run again; empty if it is. */
export function explainLeftOut(cell) {
  const lines = cell.model.sharedModel.getSource().split('\n').filter(line => line.trim());
  const commands = lines.length > 0 && (lines.every(line => COMMAND.test(line)) || lines[0].startsWith('%%'));
  if (hasError(cell, 'KeyboardInterrupt')) return 'you stopped it';
  if (hasError(cell)) return 'it failed';
  if (lines.some(line => ASKS.test(line))) return 'it asks for input';
  return commands ? 'it runs commands' : '';
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

/** Wait for the cells that the student runs. If one of them failed, the kernel would drop those that wait behind it. */
async function awaitOtherCells(panel, executed, report) {
  const running = executed.findRunning(panel);
  if (!running) return;
  const timers = reportSlowness(`Waiting for ${nameOf(panel, running)}, which is still running`, () => nameOf(panel, executed.findRunning(panel) ?? running), report);
  await executed.awaitQuiet(panel);
  timers.forEach(clearTimeout);
}

/** first: what to report soon. readName: returns what is running later on. */
function reportSlowness(first, readName, report) {
  const slow = setTimeout(() => report(first), SLOW);
  const stuck = setTimeout(() => report(`Still running ${readName()}. ${STOP}`, true), STUCK);
  return [slow, stuck];
}
