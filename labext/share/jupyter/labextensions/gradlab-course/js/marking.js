// The marks that were asked for in this tab, and how far they are.

import { nameSource } from './notebook.js';

const SECOND = 1000; // in milliseconds
const SETTLED = 100; // milliseconds after which JupyterLab has drawn the last update of a message
const LONGEST = 24; // characters of a cell's first line, since JupyterLab cuts a message after 140

const callLab = name => `lab ${name.split('_')[0].replace(/^0+/, '')}`;

/**
 * Show a message with the seconds since now, and how far the mark is. Returns a function that removes it.
 * Notification: JupyterLab's. actions: the message's buttons. titleOf: an exercise's title.
 */
export function showMark(Notification, mark, actions, titleOf) {
  const begin = Date.now();
  const id = Notification.emit(mark.describe(0, {}, titleOf), 'in-progress', { autoClose: false, actions });
  let isShown = true;
  const timer = setInterval(async () => {
    const step = await mark.readStep().catch(() => ({}));
    const seconds = Math.round((Date.now() - begin) / SECOND);
    if (isShown) Notification.update({ id, message: mark.describe(seconds, step, titleOf), actions });
  }, SECOND);
  return () => {
    isShown = false;
    clearInterval(timer);
    setTimeout(() => Notification.dismiss(id), SETTLED); // an update that is under way would show it again, for good
  };
}

/** The marks that haven't ended. The server computes one at a time, for all tabs. */
export class Marks {
  /** course: the server's. */
  constructor(course) {
    this.course = course;
    this.marks = [];
  }

  /**
   * Keep the mark of this lab, in the notebook at this path; null if it was asked for before and hasn't ended.
   * afterCancel: called once the student has cancelled it.
   */
  add(lab, path, afterCancel) {
    if (this.find(path)) return null;
    const mark = new Mark(this.course, lab, path, afterCancel);
    this.marks.push(mark);
    return mark;
  }

  remove(mark) {
    this.marks = this.marks.filter(each => each !== mark);
  }

  /** The mark of this notebook, if it was asked for and hasn't ended. */
  find(path) {
    return this.marks.find(mark => mark.path === path) ?? null;
  }

  get latest() {
    return this.marks.at(-1) ?? null;
  }
}

class Mark {
  constructor(course, lab, path, afterCancel) {
    Object.assign(this, { course, lab, path, afterCancel, isCancelled: false });
    this.step = { number: 0, begin: Date.now() };
  }

  cancel() {
    this.isCancelled = true;
    this.course.cancel(this.path);
    this.afterCancel();
  }

  /** Read the step that it's at, see ProgressHandler. */
  readStep() {
    return this.course.progress(this.path);
  }

  /** Say how far it is, after these seconds. step: what the grader is at. titleOf: an exercise's title. */
  describe(seconds, step, titleOf) {
    const lab = callLab(this.lab.name);
    if (this.isCancelled) return `Cancelling the mark of ${lab}`;
    if (step.after) return `${lab.replace('l', 'L')} waits for ${callLab(step.after)}: ${seconds} s`;
    const words = `Marking ${lab}: ${seconds} s`;
    if (!step.number) return words;
    if (step.number !== this.step.number) this.step = { number: step.number, begin: Date.now() };
    const place = `${words}. Step ${step.number} of ${step.steps}: `;
    if (step.exercise) return `${place}the checks of ${titleOf(step.exercise)}`;
    const passed = Math.round((Date.now() - this.step.begin) / 1000);
    const limit = passed <= step.seconds ? `, at most ${step.seconds} s` : `. Its limit, ${step.seconds} s of processor time, takes longer on a busy machine`;
    return `${place}${nameSource(step.cell, LONGEST)} for ${passed} s${limit}`;
  }
}
