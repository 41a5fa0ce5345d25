// What to do next: in a lab, and in the course.

import { formatCount } from './elements.js';

/** The work that earns points. */
export const coreOf = lab => lab.work.filter(work => !work.practice);

/** Whether nothing with points is left to write in a lab. */
export const isPassed = lab => lab.begun && !lab.next;

/** Whether a lab is finished: nothing is left to write, and it's submitted, or nothing is left to compare or to mark. */
export const isFinished = lab => isPassed(lab) && (lab.submitted || (!lab.ready && !listLeft(lab).length));

/** Whether all is written, and a mark is the next thing to ask for. A person marks written answers. */
export const needsMark = lab =>
  isPassed(lab) && !lab.submitted && coreOf(lab).some(work => work.state !== 'marked' && work.kind !== 'question');

/** Whether the class has these answers, and no mark of an exercise is here. */
export const isAwaited = lab => lab.submitted && !coreOf(lab).some(work => work.state === 'marked');

/** What to say of a finished lab. */
export const describeFinished = lab => `Lab ${lab.number} is ${isAwaited(lab) ? 'submitted' : 'done'}`;

/** A lab's points in words. While they're with the class, no count of what is ready for a mark helps. */
export const describePoints = lab => (isAwaited(lab) ? `${formatCount(lab.points, 'point')}, submitted` : lab.summary);

/** What's known of the mark of a lab whose present answers are submitted. */
export function describeSubmitted({ offer }) {
  const { has_mark: hasMark, mark, reason } = offer?.submission ?? {};
  if (hasMark) return mark ? `Submitted, and marked: ${mark}` : 'Submitted, and marked';
  return reason ? `Submitted. ${reason}` : 'Submitted, waiting for the mark';
}

/** Whether a mark may arrive for this lab. */
export const isWaiting = lab => Boolean(lab.offer?.submission && !lab.offer.submission.has_mark);

/** The unfinished work of a lab. After it, the written answers to compare with a model answer, if there's a grader. */
export function listLeft(lab) {
  const open = coreOf(lab).filter(work => !work.done);
  return open.length ? open : coreOf(lab).filter(work => lab.grader && isToCompare(work));
}

const isToCompare = work => work.kind === 'question' && work.state === 'written';

/** The unfinished work below `here`, the name of a work or empty; without any, the first above it; null if all is done. */
export function chooseNextWork(lab, here) {
  const at = lab.work.findIndex(work => work.name === here);
  const left = listLeft(lab);
  return left.find(work => lab.work.indexOf(work) > at) ?? left.find(work => work.name !== here) ?? left[0] ?? null;
}

/** Whether this work is above `here` in the lab. */
export function isAbove(lab, work, here) {
  const names = lab.work.map(each => each.name);
  return names.indexOf(work.name) < names.indexOf(here);
}

/** Why a work isn't finished. */
export function describeLeft(work) {
  if (isToCompare(work)) return 'compare it with the model answer';
  return { untouched: "it isn't written", failing: 'a check fails', marked: 'it can earn more' }[work.state] ?? "it isn't checked";
}

/** What identifies a lab. Labs of two courses may have the same name. */
export const keyOf = lab => (lab.course ? `${lab.course}/${lab.name}` : lab.name);

/**
 * Of the labs with work left: the one in front; else, from the lab that the student worked on last, the first, since the
 * labs before it may have been done on another computer; else the first of all.
 */
export function chooseNextLab(course, open) {
  const { labs } = course;
  const isLeft = lab => Boolean(lab.next);
  const latest = labs.filter(lab => lab.begun).sort((one, other) => one.changed - other.changed).at(-1);
  const isOpen = lab => open && keyOf(lab) === keyOf(open);
  return labs.filter(isLeft).find(isOpen) ?? labs.slice(Math.max(0, labs.indexOf(latest))).find(isLeft) ?? labs.find(isLeft);
}

/** The labs that this one builds on and that weren't opened here. */
export const listUnopened = (course, lab) =>
  course.labs.filter(each => each.course === lab.course && lab.needs.includes(each.name) && !each.begun);

/** What the button says that leads to this lab's next work. */
export const describeStart = lab => (lab.begun ? `Continue: ${lab.next_title} in ${lab.title}` : `Begin: ${lab.title}`);

/** What the student has reached with a finished lab. */
export const describeReached = lab => (lab.milestone ? `It gets you ${lab.milestone}.` : '');
