// The plugin: commands, the panel's state, and what connects the two with the notebook in front.

import { hasUntold, tellCards } from './cards.js';
import { Course } from './course.js';
import { currentExercise, goTo, indexOf, isLab, labOf, placeOf, Ran, reset, runChecks, slim } from './notebook.js';
import { element, makePanel, standing, START, stateOf, whereToGoOn } from './panel.js';
import { decorate } from './quiz.js';

/** Modules that JupyterLab shares, and that makePlugin() takes by these names. */
export const NAMES = [
  '@jupyterlab/apputils',
  '@jupyterlab/coreutils',
  '@jupyterlab/launcher',
  '@jupyterlab/notebook',
  '@jupyterlab/services',
  '@jupyterlab/ui-components',
  '@lumino/widgets',
];
// A path with steps, the last one reached.
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">
<g class="jp-icon3" fill="none" stroke="#616161" stroke-width="2"><path d="M5 19h5v-5h5V9h5"/><circle cx="5" cy="19" r="2"/>
<circle class="jp-icon3 jp-icon-selectable" cx="20" cy="9" r="2" fill="#616161"/></g></svg>`;
const WIDE = 1100; // pixels of a notebook that leave room for a page beside it
const QUIET = 150; // milliseconds without a change before the state is asked for

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
  const { showDialog, showErrorMessage, Dialog, Notification, IFrame, MainAreaWidget } = modules['@jupyterlab/apputils'];
  const { NotebookActions } = modules['@jupyterlab/notebook'];
  const { LabIcon } = modules['@jupyterlab/ui-components'];
  const { Widget } = modules['@lumino/widgets'];
  const course = new Course(modules['@jupyterlab/services'], modules['@jupyterlab/coreutils']);
  const ran = new Ran(NotebookActions);
  const now = { course: null, open: null, message: '', path: '' };
  const pages = new Map(); // a lab's feedback page, while it is open

  const courseIcon = new LabIcon({ name: 'gradlab:course', svgstr: ICON });
  const panel = makePanel({ Widget }, {
    open: (lab, exercise) => openLab(lab, exercise),
    openFile: path => app.commands.execute('docmanager:open', { path }),
    showPage: lab => showPage(lab.name, lab.path),
    mark: () => app.commands.execute('gradlab:mark'),
  });
  app.shell.add(panel, 'left', { rank: 90 });
  const draw = () => panel.show_course(now.course, now.open, now.message);

  async function readCourse() {
    try {
      now.course = await course.read();
      now.message = '';
    } catch (error) {
      now.message = `The course cannot be read: ${error.message}`;
    }
    withOpen();
    draw();
  }

  // The lab in front as it stands now, which its file may not show yet.
  function withOpen() {
    const labs = now.course?.labs ?? [];
    const at = labs.findIndex(lab => lab.name === now.open?.name && lab.path === now.path);
    if (at < 0) return;
    const same = JSON.stringify(labs[at].work) === JSON.stringify(now.open.work);
    labs[at] = { ...now.open, changed: same ? labs[at].changed : Date.now() / 1000 };
  }

  // Something was rendered in the notebook: a new card is told of once its state is known.
  function rendered(panel) {
    if (!isLab(panel)) return;
    decorate(panel);
    if (hasUntold(panel)) changed();
  }

  let waiting = 0;
  function changed() {
    clearTimeout(waiting);
    waiting = setTimeout(readOpen, QUIET);
  }

  async function readOpen() {
    const front = tracker.currentWidget;
    if (!isLab(front)) {
      now.open = null;
    } else {
      try {
        now.open = await course.state(front.context.path, slim(front));
        now.path = front.context.path;
        now.message = '';
      } catch (error) {
        now.message = `The state of this lab cannot be read: ${error.message}`;
      }
      decorate(front);
      if (now.open && now.path === front.context.path) tellCards(front, now.open, name => openLab({ path: now.path }, name));
    }
    withOpen();
    draw();
    for (const id of Object.keys(COMMANDS)) app.commands.notifyCommandChanged(id);
  }

  // A text that a double click opened takes what is typed next, which would else be commands.
  function writeInto(notebook) {
    const cell = notebook.activeCell;
    if (cell?.model.type === 'markdown' && !cell.rendered && !cell.readOnly) notebook.mode = 'edit';
  }

  const watched = new WeakSet();
  async function follow() {
    const front = tracker.currentWidget;
    if (front && !watched.has(front)) {
      watched.add(front);
      await front.context.ready;
      ran.watch(front);
      front.content.model.contentChanged.connect(changed);
      front.content.node.addEventListener('dblclick', () => requestAnimationFrame(() => writeInto(front.content)));
      new MutationObserver(() => rendered(front)).observe(front.content.node, { childList: true, subtree: true });
    }
    changed();
  }
  tracker.currentChanged.connect(follow);
  NotebookActions.executed.connect(changed);

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
    if (!name) return say('There is no exercise below this cell.');
    await runChecks(front(), [name], ran, NotebookActions);
    const index = indexOf(front(), 'check', name);
    if (index >= 0) await front().content.scrollToItem(index, 'smart');
    await readOpen();
    const work = now.open?.work.find(each => each.name === name);
    if (work && work.checks) say(`${name}: ${work.passed} of ${work.checks} passed`);
  }

  async function checkAll() {
    const names = (now.open?.work ?? []).filter(work => work.kind !== 'question').map(work => work.name);
    await runChecks(front(), names, ran, NotebookActions);
    await readOpen();
    if (!now.open) return;
    const table = element('table', '', { class: 'gradlab-table' });
    for (const work of now.open.work) {
      const row = element('tr');
      row.append(element('th', work.name, { scope: 'row' }), element('td', stateOf(work)));
      table.append(row);
    }
    const body = new Widget();
    body.addClass('gradlab-tablebox');
    body.node.append(element('p', standing(now.open)), table);
    await showDialog({ title: `Checks of ${now.open.title}`, body, buttons: [Dialog.okButton()] });
  }

  async function askReset() {
    const name = currentExercise(front());
    if (!name) return say('There is no exercise below this cell.');
    const answer = await showDialog({
      title: `Reset ${name}?`,
      body: 'The cell gets its first text again. What stands there now is kept below it, as text that is not run.',
      buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Reset' })],
      defaultButton: 0,
    });
    if (answer.button.accept) reset(front(), name);
  }

  async function next() {
    if (!inLab()) {
      const lab = now.course && whereToGoOn(now.course, null);
      return lab && openLab(lab, lab.next);
    }
    if (!now.open?.next) return say('Every exercise of this lab is done.');
    await openLab({ path: now.path }, now.open.next);
  }

  async function mark() {
    const notebook = front();
    const lab = labOf(notebook);
    await notebook.context.save();
    say(`Marking ${lab}: your notebook is being graded`, 'in-progress', false);
    try {
      let marked = await course.mark(notebook.context.path);
      if (marked.ask) {
        Notification.dismiss(told);
        const buttons = [Dialog.cancelButton(), Dialog.okButton({ label: 'Hand in' })];
        const answer = await showDialog({ title: 'Mark my work', body: marked.ask, buttons });
        if (!answer.button.accept) return;
        say(`Handing in ${lab}`, 'in-progress', false);
        marked = await course.mark(notebook.context.path, true);
      }
      const has = marked.marked !== false; // a page with a mark; else the words say what comes, or why none does
      say(marked.words, has ? 'success' : 'info', has ? 8000 : 20000);
      if (has) showPage(lab, marked.page);
    } catch (error) {
      Notification.dismiss(told);
      await showErrorMessage('This notebook was not marked', error);
    }
    await readOpen();
  }

  function showPage(lab, path) {
    const beside = tracker.currentWidget;
    let page = pages.get(lab);
    if (!page || page.isDisposed) {
      const content = new IFrame({ sandbox: ['allow-same-origin'] });
      const frame = content.node.querySelector('iframe');
      frame.addEventListener('load', () => {
        const theme = document.body.dataset.jpThemeLight === 'false' ? 'dark' : 'light';
        frame.contentDocument.documentElement.style.colorScheme = theme; // the page has colours for both
      });
      page = new MainAreaWidget({ content });
      page.id = `gradlab-page-${lab}`;
      page.title.label = `Marked: ${lab}`;
      page.title.closable = true;
      pages.set(lab, page);
      const room = (beside?.node.clientWidth ?? 0) >= WIDE; // for two beside each other
      app.shell.add(page, 'main', { mode: room ? 'split-right' : 'tab-after', ref: beside?.id, activate: !room });
    }
    page.content.url = `${course.pageOf(path)}?at=${Date.now()}`;
  }

  // One notification at a time: the next takes the place of the last.
  let told = '';
  function say(text, type = 'info', autoClose = 4000) {
    if (told) Notification.dismiss(told);
    told = Notification.emit(text, type, { autoClose });
  }

  const COMMANDS = {
    'gradlab:run-check': ['Check', 'Run the checks of this exercise, and what they need', check],
    'gradlab:run-all-checks': ['Check all', 'Run every check of this lab and list what they say', checkAll],
    'gradlab:next': ['Next', 'Go to the next exercise that is not done', next],
    'gradlab:reset': ['Reset', 'Give this exercise its first text again', askReset],
    'gradlab:mark': ['Mark my work', 'Have this notebook graded, hidden checks included', mark],
  };
  for (const [id, [label, caption, execute]] of Object.entries(COMMANDS)) {
    const everywhere = id === 'gradlab:next';
    app.commands.addCommand(id, { label, caption, execute, isVisible: inLab, isEnabled: () => everywhere || inLab() });
    palette?.addItem({ command: id, category: 'Course' });
  }
  app.commands.addCommand('gradlab:show-course', {
    label: args => (args.launcher ? now.course?.title || 'Course' : 'Show the course'),
    caption: 'Labs, exercises, and where to go on',
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
