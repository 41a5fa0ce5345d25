// The plugin: commands, the panel's state, and their connection to the notebook in front.

import { saveAnswers } from './answer_saving.js';
import { BrowserTabs } from './browser_tabs.js';
import { hasNewCards, updateCards } from './cards.js';
import { ClassLabs } from './class_labs.js';
import { makeCommands } from './commands.js';
import { leaveControl } from './controls.js';
import { describeCopies, markCopies } from './copies.js';
import { Course } from './course.js';
import { isCoursePage } from './course_pages.js';
import { makeCourseIcon } from './course_icon.js';
import { renderCode } from './elements.js';
import { ExecutedCells } from './executed_cells.js';
import { FeedbackPages } from './feedback_pages.js';
import { chooseNextLab } from './next_work.js';
import { extractState, goTo, handleDoubleClick, isLab, markCourseCells, placeOf } from './notebook.js';
import { updateOwnAnswers } from './own_answers.js';
import { makePanel } from './panel.js';
import { Places } from './places.js';
import { askAgain, decoratePredictions } from './predictions.js';
import { decorateQuizzes, showOpenQuestion } from './quiz.js';
import { keepPlace } from './reload_place.js';
import { labelKeys, labelToolbar } from './shortcuts.js';
import { addTeachersPages } from './teachers_pages.js';

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
/** The shared module of Notebook 7's first page, which shows the home in a tab. */
export const TREE = '@jupyter-notebook/tree';
const QUIET = 150; // milliseconds without a change before the state is requested

export function makePlugin(modules) {
  const apputils = modules['@jupyterlab/apputils'];
  return {
    id: 'gradlab-course:plugin',
    autoStart: true,
    requires: [modules['@jupyterlab/notebook'].INotebookTracker],
    optional: [apputils.ICommandPalette, modules['@jupyterlab/launcher'].ILauncher, ...(modules[TREE] ? [modules[TREE].INotebookTree] : [])],
    activate: (app, tracker, palette, launcher, tree) => activate(app, tracker, palette, launcher, tree, modules),
  };
}

function activate(app, tracker, palette, launcher, tree, modules) {
  const { NotebookActions } = modules['@jupyterlab/notebook'];
  const executed = new ExecutedCells(NotebookActions);
  const ids = []; // of the commands
  const now = { course: null, open: null, message: '', path: '' };
  const tabs = new BrowserTabs(modules['@jupyterlab/coreutils']);
  const announceChange = () => tabs.news.announce('changed');
  const course = new Course(modules['@jupyterlab/services'], modules['@jupyterlab/coreutils'], announceChange);
  const pages = new FeedbackPages(app, tracker, modules, tabs, path => course.pageOf(path), (path, name) => openLab({ path }, name), () => (now.course?.courses.length ? readCourse() : readOpen()));
  const labelCommand = (id, title) => labelKeys(app.commands, id, title);
  const leadOut = action => (...facts) => {
    places.leavePanel();
    action(...facts);
  };
  const panel = makePanel(modules['@lumino/widgets'], {
    labelKeys: labelCommand,
    open: leadOut((lab, exercise) => openLab(lab, exercise)),
    predictAgain: leadOut((lab, name) => openLab(lab, name, true)),
    openFile: leadOut((path, heading) => openLab({ path }, heading)),
    showPage: leadOut(lab => pages.show(lab, lab.path)),
    mark: leadOut(() => app.commands.execute('gradlab:mark')),
    showHome: leadOut(() => places.showHome()),
  });
  app.shell.add(panel, 'left', { rank: 90 });
  const classLabs = new ClassLabs({ course, modules, now, openLab, readCourse, tracker }, tabs);
  const places = new Places({ app, classLabs, course, modules, openLab, pages, readCourse, tracker, tree }, panel, tabs);
  const draw = () => {
    panel.showCourse(now.course, now.open, now.message);
    places.draw(now.course);
  };

  // New marks arrive with the course, so the open lab is read after it.
  async function readCourse() {
    let message = '';
    try {
      const before = now.course;
      now.course = await course.read();
      pages.refreshMarked(before?.labs ?? [], now.course.labs);
    } catch (error) {
      message = `The course cannot be read: ${error.message}`;
    }
    await readOpen(message);
  }

  // Replace the open lab by its present state, which may not be saved yet.
  function updateOpenLab() {
    const labs = now.course?.labs ?? [];
    const at = now.open ? labs.findIndex(lab => lab.name === now.open.name && lab.path === now.path) : -1;
    if (at < 0) return;
    const same = JSON.stringify(labs[at].work) === JSON.stringify(now.open.work);
    now.open = { ...now.open, course: labs[at].course, offer: labs[at].offer };
    labs[at] = { ...now.open, changed: same ? labs[at].changed : Date.now() / 1000 };
  }

  function decorate(panel) {
    const open = now.path === panel.context.path ? now.open : null;
    decorateQuizzes(panel, open?.work ?? [], open?.grader ? makeActions(panel, open, now.path).readKey : null);
    decoratePredictions(panel);
    markCourseCells(panel);
    markCopies(panel, index => goTo(panel, index, NotebookActions));
  }

  // The notebook rendered something. New cards are updated once their state is known.
  function handleRender(panel) {
    if (isCoursePage(panel)) markCourseCells(panel);
    if (!isLab(panel)) return;
    decorate(panel);
    if (hasNewCards(panel)) scheduleRead();
  }

  let readTimer = 0;
  function scheduleRead() {
    clearTimeout(readTimer);
    readTimer = setTimeout(() => readOpen(), QUIET);
  }

  /** message: what the panel says, unless the lab can't be read. */
  async function readOpen(message = '') {
    const front = tracker.currentWidget;
    now.message = message;
    if (!isLab(front)) {
      now.open = null;
      if (isCoursePage(front)) markCourseCells(front);
    } else {
      try {
        now.open = await course.state(front.context.path, extractState(front));
        now.path = front.context.path;
        updateOpenLab();
      } catch (error) {
        now.message = `The state of this lab cannot be read: ${error.message}`;
      }
      decorate(front);
      if (now.open && now.path === front.context.path) {
        const actions = makeActions(front, now.open, now.path);
        updateCards(front, now.open, actions);
        updateOwnAnswers(front, now.open, actions);
      }
    }
    draw();
    for (const id of ids) app.commands.notifyCommandChanged(id);
  }

  // What cards and written answers offer. The server reads the saved notebook.
  function makeActions(panel, lab, path) {
    const ask = async request => {
      try {
        await panel.context.save();
        return await request();
      } catch (error) {
        return { error: error.message };
      }
    };
    const nextLab = now.course ? chooseNextLab(now.course, lab) : null;
    return {
      describeCopies: name => describeCopies(panel, name),
      labelKeys: labelCommand,
      nextLab,
      openNextLab: () => openLab(nextLab, nextLab.begun ? nextLab.next : ''),
      open: name => openLab({ path }, name),
      mark: () => app.commands.execute('gradlab:mark'),
      renderCode: source => renderCode(panel.content.rendermime, source),
      showPage: () => pages.show(lab, path),
      readKey: (name, question) => ask(() => course.quizKey(path, name, question)),
      readSolution: name => ask(() => course.solution(path, name)),
      saveOwnMark: async (name, points) => {
        const reply = await ask(() => course.saveOwnMark(path, name, points));
        await readOpen();
        return reply;
      },
    };
  }

  const watched = new WeakSet();
  async function watchFront() {
    const front = tracker.currentWidget;
    if (front && !watched.has(front)) {
      watched.add(front);
      await front.context.ready;
      executed.watch(front);
      front.context.saveState.connect((_, state) => state === 'completed' && announceChange());
      front.content.model.contentChanged.connect(scheduleRead);
      if (isLab(front)) [saveAnswers, keepPlace].forEach(keep => keep(front));
      labelToolbar(front.toolbar.node, app.commands);
      front.content.node.addEventListener('keydown', leaveControl);
      front.content.node.addEventListener('dblclick', event => handleDoubleClick(front, event), true);
      new MutationObserver(() => handleRender(front)).observe(front.content.node, { childList: true, subtree: true });
      await tabs.keepNotebook(front, wanted => reveal(front, wanted.name, wanted.isAgain), words => modules['@jupyterlab/apputils'].Notification.warning(words, { autoClose: false }));
    }
    scheduleRead();
  }
  tracker.currentChanged.connect(watchFront);
  NotebookActions.executed.connect(scheduleRead);

  /** name: where to go, or empty. isAgain: whether that's a prediction to make again. */
  async function openLab(lab, name, isAgain = false) {
    if (lab.path === '') return classLabs.get(lab);
    if (tabs.areUsed && front()?.context.path !== lab.path) return tabs.openLab(lab.path, name, isAgain);
    const isOpen = Boolean(tracker.find(each => each.context.path === lab.path));
    // In Notebook 7, this command would close the notebook and open it in another tab.
    const opened = tabs.areUsed ? front() : await app.commands.execute('docmanager:open', { path: lab.path });
    if (isOpen && !name) await NotebookActions.focusActiveCell(opened.content, { preventScroll: true }); // where the student was
    else await reveal(opened, name, isAgain);
  }

  async function reveal(notebook, name, isAgain) {
    await notebook.context.ready;
    await notebook.revealed;
    if (name) showOpenQuestion(notebook, name);
    await goTo(notebook, name ? placeOf(notebook, name) : 0, NotebookActions);
    if (isAgain) askAgain(notebook, name);
  }

  const front = () => tracker.currentWidget;
  const inLab = () => isLab(front());
  const commands = makeCommands({ app, course, executed, modules, now, openLab, pages, readCourse, readOpen, places, tracker });
  for (const [id, { execute, isEverywhere, ...words }] of Object.entries(commands)) {
    app.commands.addCommand(id, { ...words, execute, isVisible: inLab, isEnabled: () => isEverywhere || inLab() });
    palette?.addItem({ command: id, category: 'Course' });
    ids.push(id);
  }
  places.addCommands(palette, launcher, makeCourseIcon(modules['@jupyterlab/ui-components']));
  addTeachersPages(app, modules, palette, launcher);

  draw();
  Promise.all([readCourse(), app.restored]).then(() => {
    if (!now.course?.labs.length && !now.course?.courses.length) return;
    places.begin();
    classLabs.watch(() => places.isHomeVisible);
    tabs.news.watchWork(readCourse);
  });
}
