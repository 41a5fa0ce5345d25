// The commands of a lab's toolbar: check, next, reset and mark.

import { makeSelectionCommands } from './cell_selection.js';
import { explainLeftOut, runChecks } from './check_run.js';
import { enterText } from './controls.js';
import { describeCopies, isUncounted, listCopied } from './copies.js';
import { Unanswered } from './course.js';
import { scrollIntoSight, scrollToBeginning } from './focus.js';
import { Marks, showMark } from './marking.js';
import { chooseNextLab, chooseNextWork, describeFinished, describeLeft, isAbove, isAwaited, isFinished, needsMark } from './next_work.js';
import { currentExercise, exerciseOf, factsOf, findPlace, indexOf, isEntered, isLab, labOf, nameOf, reset, titleOf, WRITTEN } from './notebook.js';
import { findUnreached } from './scrolling.js';
import { findKeys } from './shortcuts.js';

/** The title and the words for a mark that failed. */
function explainFailure(error) {
  if (!(error instanceof Unanswered)) return ['This notebook was not marked', error];
  const words = "If you were submitting, your work may have arrived: the panel shows it once the server answers again.";
  return ['There is no mark yet', `${error.message} ${words}`];
}

/**
 * Make the commands, by id: {label, caption, execute, isEverywhere: whether it needs no lab in front}.
 * lesson: {app, course, executed, modules, now, openLab, pages, places, readOpen, tracker}.
 */
export function makeCommands(lesson) {
  const { course, executed, modules, now, openLab, pages, places, readOpen, tracker } = lesson;
  const { showDialog, showErrorMessage, Dialog, Notification } = modules['@jupyterlab/apputils'];
  const { NotebookActions } = modules['@jupyterlab/notebook'];
  const front = () => tracker.currentWidget;

  async function check() {
    const name = currentExercise(front());
    if (!name) return notify('There is no exercise below this cell.');
    const isOther = isUncounted(front(), front().content.activeCell);
    const note = await runAndReport([name]);
    if (note === null) return;
    const copies = describeCopies(front(), name);
    const index = indexOf(front(), 'check', name);
    if (index >= 0) await front().content.scrollToItem(index, 'smart');
    await readOpen();
    const card = front().content.widgets[index]?.node.querySelector('.gradlab-card');
    if (card) scrollToBeginning(card, front().content.node);
    const work = now.open?.work.find(each => each.name === name);
    if (!work?.checks) return;
    const result = `${work.passed} of ${work.checks} passed.${note}`;
    const which = `${copies}${isOther ? ', not this one' : ''}. For the one that counts, ${result}`;
    if (copies) notify(which, 'warning', 20000, offerCounted(name));
    else notify(`${work.title}: ${result}`, 'info', note ? 10000 : 4000);
  }

  /** The button of a message that leads to the exercise's cell that counts. */
  function offerCounted(name) {
    const { path } = front().context;
    return [{ label: 'Go to the one that counts', callback: () => openLab({ path }, name) }];
  }

  /** Run these checks. Returns what to add to their result, or null if a cell ended the run, which this then reports. */
  async function runAndReport(names) {
    const panel = front();
    const end = { label: 'Stop', callback: () => panel.sessionContext.session?.kernel?.interrupt() };
    const report = (line, canStop) => notify(line, 'in-progress', false, canStop ? [end] : []);
    const { stop, skipped } = await runChecks(panel, names, executed, NotebookActions, report);
    if (stop) {
      await panel.content.scrollToItem(panel.content.widgets.indexOf(stop.cell), 'smart');
      scrollIntoSight(stop.cell.node.querySelector('.jp-OutputArea') ?? stop.cell.node); // below its source
      const ended = stop.interrupted ? 'was stopped' : 'ended with an error, shown below it';
      notify(`The checks didn't run: ${nameOf(panel, stop.cell)} ${ended}.`, 'warning', 10000);
      await readOpen();
      return null;
    }
    if (!skipped.length) return '';
    const [first, ...others] = skipped.map(cell => `${nameOf(panel, cell)} (${explainLeftOut(cell)})`);
    const more = others.length === 1 ? ` and ${others[0]}` : others.length ? ` and ${others.length} more cells` : '';
    return ` Left out: ${first}${more}.`;
  }

  async function checkAll() {
    const names = (now.open?.work ?? []).filter(work => work.kind !== 'question').map(work => work.name);
    const note = await runAndReport(names);
    if (note === null) return;
    await readOpen();
    if (!now.open) return;
    const pass = now.open.work.filter(work => names.includes(work.name) && work.checks && work.passed === work.checks);
    places.showPanel();
    notify(`Checked all: ${pass.length} of ${names.length} pass. The Course panel lists them.${note}`, 'info', 8000);
  }

  async function askReset() {
    const name = exerciseOf(front().content.activeCell);
    if (!name) return notify('Nothing here can be reset. Select an exercise or its check.');
    const answer = await showDialog({
      title: `Reset ${titleOf(front(), name)}?`,
      body: 'The cell returns to its original text. Your current text is kept below it in a raw cell, which is not run.',
      buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Reset' })],
      defaultButton: 0,
    });
    if (answer.button.accept) reset(front(), name);
  }

  async function next() {
    if (!isLab(front())) {
      const lab = now.course && chooseNextLab(now.course, null);
      return lab && openLab(lab, lab.next);
    }
    const { open } = now;
    if (!open) return;
    const aim = findUnreached(front().content);
    if (aim) return openLab({ path: now.path }, factsOf(aim).exercise); // again, since it takes long
    const here = findPlace(front(), open.work.map(work => work.name));
    const work = chooseNextWork(open, here);
    if (!work) return notifyEnd(open);
    await openLab({ path: now.path }, work.name);
    if (isAbove(open, work, here)) notify(`Back to ${work.title}: ${describeLeft(work)}.`);
  }

  function notifyEnd(lab) {
    if (needsMark(lab) && (lab.grader || lab.course)) {
      return notify('Every exercise of this lab is done.', 'info', 10000, [{ label: 'Mark my work', callback: mark }]);
    }
    notify(isFinished(lab) ? `${describeFinished(lab)}.` : 'Every exercise of this lab is done.', 'success', 10000, offerNextLab());
  }

  /** The button of a message that leads on from a lab that is done. */
  function offerNextLab() {
    const lab = chooseNextLab(now.course, now.open);
    return lab ? [{ label: `${lab.begun ? 'Continue' : 'Begin'} lab ${lab.number}`, callback: () => openLab(lab, lab.begun ? lab.next : '') }] : [];
  }

  const marks = new Marks(course);
  const titleOfWork = exercise => now.open?.work.find(each => each.name === exercise)?.title ?? exercise;
  async function mark() {
    const notebook = front();
    const lab = labOf(notebook);
    const pending = marks.add(lab, notebook.context.path, () => {
      if (!notebook.node.contains(document.activeElement)) lesson.app.shell.activateById(notebook.id); // the button goes
      ended();
      ended = showMark(Notification, pending, [], titleOfWork);
    });
    if (!pending) return;
    for (const name of listCopied(notebook)) {
      Notification.warning(`${describeCopies(notebook, name)}.`, { autoClose: 20000, actions: offerCounted(name) });
    }
    const key = findKeys(lesson.app.commands, 'gradlab:cancel-mark');
    const cancel = { label: key ? `Cancel (${key})` : 'Cancel', callback: () => pending.cancel() };
    let ended = showMark(Notification, pending, [cancel], titleOfWork);
    try {
      await notebook.context.save();
      if (pending.isCancelled) throw new Error('cancelled');
      let marked = await course.mark(notebook.context.path);
      if (marked.ask) {
        ended();
        const buttons = [Dialog.cancelButton(), Dialog.okButton({ label: 'Submit' })];
        const answer = await showDialog({ title: 'Mark my work', body: marked.ask, buttons });
        if (!answer.button.accept) return;
        notify(`Submitting ${lab.title}, and waiting for its mark`, 'in-progress', false);
        marked = await course.mark(notebook.context.path, true);
      }
      ended();
      const hasMark = marked.marked !== false; // otherwise the words say when the mark arrives, or why there is none
      const isShown = hasMark && pages.showBeside(lab, marked.page);
      const actions = hasMark && !isShown ? [{ label: 'Show the page', callback: () => pages.show(lab, marked.page) }] : [];
      const words = isShown ? `${marked.words.replace(/\.$/, '')}. ${describePlace()}` : marked.words;
      await readOpen();
      const isEnd = now.open?.name === lab.name && isFinished(now.open);
      const beginning = isEnd && !isAwaited(now.open) ? `${describeFinished(now.open)}: ` : ''; // else the words say it
      const ways = isEnd ? [...actions, ...offerNextLab()] : actions;
      notify(beginning + words, hasMark ? 'success' : 'info', ways.length ? 40000 : 20000, ways);
    } catch (error) {
      ended();
      marks.remove(pending); // before the words are read, since the student may ask for the mark again at once
      if (pending.isCancelled) notify('Not marked: you cancelled it.');
      else await showErrorMessage(...explainFailure(error));
      await readOpen();
    } finally {
      marks.remove(pending);
    }
    if (now.course?.courses.length) await lesson.readCourse();
  }

  /** Where the page is that the focus hasn't moved to, and the key that moves it there. */
  function describePlace() {
    const key = findKeys(lesson.app.commands, 'gradlab:show-page');
    return `The feedback page is next to the notebook.${key ? ` ${key} goes there.` : ''}`;
  }

  /** Cancel the mark of the notebook in front, else the last one that was asked for. */
  function cancelLatest() {
    const pending = marks.find(front()?.context.path) ?? marks.latest;
    if (pending) pending.cancel();
    else notify('Nothing is being marked.');
  }

  /** Go to the controls of a text or a check of the course, whose source stays closed, or edit another cell. */
  function enter() {
    const cell = front().content.activeCell;
    if (isEntered(front(), cell)) enterText(cell);
    else lesson.app.commands.execute('notebook:enter-edit-mode');
  }

  /** Say why something isn't done to a cell of the course. */
  function refuse(action) {
    const isWritten = WRITTEN.includes(factsOf(front().content.activeCell).kind);
    notify(`This cell can't ${action}: ${isWritten ? 'your answer in it is graded. Reset restores its original text' : 'it belongs to the course'}.`);
  }

  // One notification at a time: the next replaces the last.
  let notification = '';
  function notify(text, type = 'info', autoClose = 4000, actions = []) {
    if (notification) Notification.dismiss(notification);
    notification = Notification.emit(text, type, { autoClose, actions });
  }

  return {
    'gradlab:run-check': { label: 'Check', caption: 'Run the checks of this exercise, and the cells they need', execute: check },
    'gradlab:run-all-checks': { label: 'Check all', caption: 'Run all checks of this lab', execute: checkAll },
    'gradlab:next': { label: 'Next', caption: 'Go to the next unfinished exercise', execute: next, isEverywhere: true },
    'gradlab:reset': { label: 'Reset', caption: 'Restore the original text of this exercise', execute: askReset },
    'gradlab:mark': { label: 'Mark my work', caption: 'Have this notebook graded, hidden checks included', execute: mark },
    'gradlab:cancel-mark': {
      label: 'Cancel marking',
      caption: 'End the mark that is being computed',
      execute: () => cancelLatest(),
      isEverywhere: true,
    },
    'gradlab:enter-text': {
      label: 'Go to the first control of this cell',
      caption: 'Open its hint, or answer its question',
      execute: enter,
      isEverywhere: true, // also in the course's pages
    },
    'gradlab:refuse-deletion': { label: "Say why this cell can't be deleted", execute: () => refuse('be deleted') },
    'gradlab:refuse-conversion': { label: 'Say why this cell has to stay code', execute: () => refuse('become text') },
    ...makeSelectionCommands(front, NotebookActions),
    'gradlab:show-page': {
      label: 'Show the feedback page',
      caption: 'Go to the feedback page of this lab, or back to the notebook',
      execute: () => places.goToPage(),
    },
  };
}
