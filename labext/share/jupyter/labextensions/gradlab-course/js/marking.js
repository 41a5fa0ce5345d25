// The marks that were asked for in this tab, one after the other, and how far they are.

import { nameSource } from './notebook.js';

const LONGEST = 24; // characters of a cell's first line, since JupyterLab cuts a message after 140

const callLab = name => `lab ${name.split('_')[0].replace(/^0+/, '')}`;

/** Marks run one at a time, in the order in which they were asked for. */
export class MarkQueue {
  /** course: the server's. */
  constructor(course) {
    this.course = course;
    this.marks = [];
  }

  /**
   * Ask for the mark of this lab, in the notebook at this path; null if it was asked for before and hasn't ended.
   * afterCancel: called once the student has cancelled it.
   */
  add(lab, path, afterCancel) {
    if (this.find(path)) return null;
    const mark = new QueuedMark(this, lab, path, afterCancel);
    this.marks.push(mark);
    return mark;
  }

  /** The mark of this notebook, if it was asked for and hasn't ended. */
  find(path) {
    return this.marks.find(mark => mark.path === path) ?? null;
  }

  get latest() {
    return this.marks.at(-1) ?? null;
  }
}

class QueuedMark {
  constructor(queue, lab, path, afterCancel) {
    Object.assign(this, { queue, lab, path, afterCancel, isCancelled: false });
    this.isOver = new Promise(resolve => { this.end = resolve; });
    this.isOver.then(() => { queue.marks = queue.marks.filter(mark => mark !== this); });
    this.cancelled = new Promise(resolve => { this.giveUp = resolve; });
    this.step = { number: 0, begin: Date.now() };
  }

  /** Wait for its turn. Throws an error if it was cancelled before. */
  async awaitTurn() {
    while (this.isWaiting && !this.isCancelled) await Promise.race([this.queue.marks[0].isOver, this.cancelled]);
    if (this.isCancelled) throw new Error('cancelled');
  }

  get isWaiting() {
    return this.queue.marks[0] !== this;
  }

  cancel() {
    this.isCancelled = true;
    if (!this.isWaiting) this.queue.course.cancel(); // else the grader is at another one
    this.giveUp();
    this.afterCancel();
  }

  /** Say how far it is, after these seconds. step: what the grader is at. titleOf: an exercise's title. */
  describe(seconds, step, titleOf) {
    const lab = callLab(this.lab.name);
    if (this.isWaiting) return `${lab.replace('l', 'L')} waits for ${callLab(this.queue.marks[0].lab.name)}: ${seconds} s`;
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
