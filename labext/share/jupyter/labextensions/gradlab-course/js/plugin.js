// The plugin: commands, the panel's state, and their connection to the notebook in front.

import { hasNewCards, updateCards } from './cards.js';
import { Course } from './course.js';
import { FeedbackPages } from './feedback_pages.js';
import { currentExercise, ExecutedCells, extractState, goTo, indexOf, isLab, labOf, placeOf, reset, runChecks } from './notebook.js';
import { chooseNextLab, listResults, makePanel, START } from './panel.js';
import { decorate } from './quiz.js';

/** Names of the shared JupyterLab modules that makePlugin() takes. */
export const NAMES = [
  '@jupyterlab/apputils',
  '@jupyterlab/coreutils',
  '@jupyterlab/launcher',
  '@jupyterlab/notebook',
  '@jupyterlab/services',
  '@jupyterlab/ui-components',
  '@lumino/widgets',
];
// A path with steps, which has reached the last one.
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">
<g class="jp-icon3" fill="none" stroke="#616161" stroke-width="2"><path d="M5 19h5v-5h5V9h5"/><circle cx="5" cy="19" r="2"/>
<circle class="jp-icon3 jp-icon-selectable" cx="20" cy="9" r="2" fill="#616161"/></g></svg>`;
const QUIET = 150; // milliseconds without a change before the state is requested

export function makePlugin(modules) {
  const apputils = modules['@jupyterlab/apputils'];
  const notebooks = modules['@jupyterlab/notebook'];
  return {
    id: 'gradlab-course:plugin',
    autoStart: true,
    requires: [notebooks.INotebookTracker],
    optional: [apputils.ICommandPalette, modules['@jupyterlab/launcher'].ILauncher],
    activate: (app, tracker, palette, launcher) => activate(app, tracker, palette, launcher, modules),
  };
}

function activate(app, tracker, palette, launcher, modules) {
  const { showDialog, showErrorMessage, Dialog, Notification } = modules['@jupyterlab/apputils'];
  const { NotebookActions } = modules['@jupyterlab/notebook'];
  const { LabIcon } = modules['@jupyterlab/ui-components'];
  const { Widget } = modules['@lumino/widgets'];
  const course = new Course(modules['@jupyterlab/services'], modules['@jupyterlab/coreutils']);
  const executed = new ExecutedCells(NotebookActions);
  const now = { course: null, open: null, message: '', path: '' };
  const pages = new FeedbackPages(app, tracker, modules, path => course.pageOf(path));

  const courseIcon = new LabIcon({ name: 'gradlab:course', svgstr: ICON });
  const panel = makePanel({ Widget }, {
    open: (lab, exercise) => openLab(lab, exercise),
    openFile: path => app.commands.execute('docmanager:open', { path }),
    showPage: lab => pages.show(lab.name, lab.path),
    mark: () => app.commands.execute('gradlab:mark'),
  });
  app.shell.add(panel, 'left', { rank: 90 });
  const draw = () => panel.showCourse(now.course, now.open, now.message);

  async function readCourse() {
    try {
      now.course = await course.read();
      now.message = '';
    } catch (error) {
      now.message = `The course cannot be read: ${error.message}`;
    }
    updateOpenLab();
    draw();
  }

  // Replace the open lab by its present state, which may not be saved yet.
  function updateOpenLab() {
    const labs = now.course?.labs ?? [];
    const at = labs.findIndex(lab => lab.name === now.open?.name && lab.path === now.path);
    if (at < 0) return;
    const same = JSON.stringify(labs[at].work) === JSON.stringify(now.open.work);
    labs[at] = { ...now.open, changed: same ? labs[at].changed : Date.now() / 1000 };
  }

  // The notebook rendered something. New cards are updated once their state is known.
  function handleRender(panel) {
    if (!isLab(panel)) return;
    decorate(panel);
    if (hasNewCards(panel)) scheduleRead();
  }

  let readTimer = 0;
  function scheduleRead() {
    clearTimeout(readTimer);
    readTimer = setTimeout(readOpen, QUIET);
  }

  async function readOpen() {
    const front = tracker.currentWidget;
    if (!isLab(front)) {
      now.open = null;
    } else {
      try {
        now.open = await course.state(front.context.path, extractState(front));
        now.path = front.context.path;
        now.message = '';
      } catch (error) {
        now.message = `The state of this lab cannot be read: ${error.message}`;
      }
      decorate(front);
      if (now.open && now.path === front.context.path) updateCards(front, now.open, name => openLab({ path: now.path }, name));
    }
    updateOpenLab();
    draw();
    for (const id of Object.keys(COMMANDS)) app.commands.notifyCommandChanged(id);
  }

  // After a double click opens a text, typing edits it instead of running commands.
  function startEditing(notebook) {
    const cell = notebook.activeCell;
    if (cell?.model.type === 'markdown' && !cell.rendered && !cell.readOnly) notebook.mode = 'edit';
  }

  const watched = new WeakSet();
  async function watchFront() {
    const front = tracker.currentWidget;
    if (front && !watched.has(front)) {
      watched.add(front);
      await front.context.ready;
      executed.watch(front);
      front.content.model.contentChanged.connect(scheduleRead);
      front.content.node.addEventListener('dblclick', () => requestAnimationFrame(() => startEditing(front.content)));
      new MutationObserver(() => handleRender(front)).observe(front.content.node, { childList: true, subtree: true });
    }
    scheduleRead();
  }
  tracker.currentChanged.connect(watchFront);
  NotebookActions.executed.connect(scheduleRead);

  async function openLab(lab, exercise) {
    const opened = await app.commands.execute('docmanager:open', { path: lab.path });
    await opened.context.ready;
    await opened.revealed;
    await goTo(opened, exercise ? placeOf(opened, exercise) : 0, NotebookActions);
  }

  const front = () => tracker.currentWidget;
  const inLab = () => isLab(front());

  async function check() {
    const name = currentExercise(front());
    if (!name) return notify('There is no exercise below this cell.');
    await runChecks(front(), [name], executed, NotebookActions);
    const index = indexOf(front(), 'check', name);
    if (index >= 0) await front().content.scrollToItem(index, 'smart');
    await readOpen();
    const work = now.open?.work.find(each => each.name === name);
    if (work && work.checks) notify(`${name}: ${work.passed} of ${work.checks} passed`);
  }

  async function checkAll() {
    const names = (now.open?.work ?? []).filter(work => work.kind !== 'question').map(work => work.name);
    await runChecks(front(), names, executed, NotebookActions);
    await readOpen();
    if (!now.open) return;
    const body = new Widget();
    body.addClass('gradlab-tablebox');
    body.node.append(...listResults(now.open));
    await showDialog({ title: `Checks of ${now.open.title}`, body, buttons: [Dialog.okButton()] });
  }

  async function askReset() {
    const name = currentExercise(front());
    if (!name) return notify('There is no exercise below this cell.');
    const answer = await showDialog({
      title: `Reset ${name}?`,
      body: 'The cell returns to its original text. Your current text is kept below it in a raw cell, which is not run.',
      buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Reset' })],
      defaultButton: 0,
    });
    if (answer.button.accept) reset(front(), name);
  }

  async function next() {
    if (!inLab()) {
      const lab = now.course && chooseNextLab(now.course, null);
      return lab && openLab(lab, lab.next);
    }
    if (!now.open?.next) return notify('Every exercise of this lab is done.');
    await openLab({ path: now.path }, now.open.next);
  }

  async function mark() {
    const notebook = front();
    const lab = labOf(notebook);
    await notebook.context.save();
    notify(`Marking ${lab}: your notebook is being graded`, 'in-progress', false);
    try {
      let marked = await course.mark(notebook.context.path);
      if (marked.ask) {
        Notification.dismiss(notification);
        const buttons = [Dialog.cancelButton(), Dialog.okButton({ label: 'Submit' })];
        const answer = await showDialog({ title: 'Mark my work', body: marked.ask, buttons });
        if (!answer.button.accept) return;
        notify(`Handing in ${lab}`, 'in-progress', false);
        marked = await course.mark(notebook.context.path, true);
      }
      const hasMark = marked.marked !== false; // otherwise the words say when the mark arrives, or why there is none
      notify(marked.words, hasMark ? 'success' : 'info', hasMark ? 8000 : 20000);
      if (hasMark) pages.show(lab, marked.page);
    } catch (error) {
      Notification.dismiss(notification);
      await showErrorMessage('This notebook was not marked', error);
    }
    await readOpen();
  }

  // One notification at a time: the next replaces the last.
  let notification = '';
  function notify(text, type = 'info', autoClose = 4000) {
    if (notification) Notification.dismiss(notification);
    notification = Notification.emit(text, type, { autoClose });
  }

  const COMMANDS = {
    'gradlab:run-check': ['Check', 'Run the checks of this exercise, and the cells they need', check],
    'gradlab:run-all-checks': ['Check all', 'Run all checks of this lab and list the results', checkAll],
    'gradlab:next': ['Next', 'Go to the next unfinished exercise', next],
    'gradlab:reset': ['Reset', 'Restore the original text of this exercise', askReset],
    'gradlab:mark': ['Mark my work', 'Have this notebook graded, hidden checks included', mark],
  };
  for (const [id, [label, caption, execute]] of Object.entries(COMMANDS)) {
    const isEverywhere = id === 'gradlab:next';
    app.commands.addCommand(id, { label, caption, execute, isVisible: inLab, isEnabled: () => isEverywhere || inLab() });
    palette?.addItem({ command: id, category: 'Course' });
  }
  app.commands.addCommand('gradlab:show-course', {
    label: args => (args.launcher ? now.course?.title || 'Course' : 'Show the course'),
    caption: 'Labs, exercises, and where to continue',
    icon: args => (args.launcher ? courseIcon : undefined),
    execute: args => {
      app.shell.activateById(panel.id);
      return args.launcher ? app.commands.execute('docmanager:open', { path: START }) : undefined;
    },
  });
  palette?.addItem({ command: 'gradlab:show-course', category: 'Course' });
  launcher?.add({ command: 'gradlab:show-course', args: { launcher: true }, category: 'Notebook', rank: -1 });

  draw();
  Promise.all([readCourse(), app.restored]).then(() => {
    if (now.course?.labs.length) app.shell.activateById(panel.id);
  });
}
