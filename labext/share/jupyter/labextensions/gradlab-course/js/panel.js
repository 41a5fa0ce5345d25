// The side panel: where to continue, the work in the open lab, and all labs. States are an icon and words.

import { PAGES } from './course_pages.js';
import { button as makeButton, element, formatCount, formatPoints, sign } from './elements.js';
import { keepFocus } from './focus.js';
import {
  chooseNextLab, coreOf, describeFinished, describePoints, describeReached, describeStart, describeSubmitted, isAwaited, isFinished, keyOf, listLeft, needsMark,
} from './next_work.js';

const STATES = {
  untouched: 'not started',
  written: 'written',
  failing: 'a check fails',
  passing: 'ready to mark',
  marked: 'marked',
};

const CONTINUE = { class: 'gradlab-primary gradlab-continue', 'data-key': 'continue' };

export function makePanel({ Widget }, actions) {
  const widget = new Widget();
  widget.id = 'gradlab-course';
  widget.title.caption = 'Course';
  widget.title.label = 'Course';
  widget.addClass('gradlab');
  widget.addClass('gradlab-Panel');
  widget.node.setAttribute('role', 'region');
  widget.node.setAttribute('aria-label', 'Course');
  widget.node.tabIndex = -1;

  /** Move the keyboard's focus to the first control. */
  widget.takeFocus = () => (widget.node.querySelector('.gradlab-continue, section button') ?? widget.node).focus();

  let before; // the lab that was open when the panel was last drawn
  let wasFinished = true; // whether it was finished then

  /** course: {title, labs} or null. open: the lab in front, or null. message: a line to show, or ''. */
  widget.showCourse = (course, open, message) => {
    const parts = [buildTitle(course, actions)];
    if (message) parts.push(element('p', message, { role: 'status', class: 'gradlab-message' }));
    if (course) {
      if (open && isFinished(open)) parts.push(finish(open, keyOf(open) === before && !wasFinished));
      parts.push(continueButton(course, open, actions));
      if (open) parts.push(labSection(open, actions));
      const predictions = review(course, open, actions);
      if (predictions) parts.push(predictions);
      if (course.pages.length) parts.push(pages(course, actions));
      parts.push(...allLabs(course, open, actions));
    }
    keepFocus(widget.node, () => widget.node.replaceChildren(...parts));
    const isFirst = open && isFinished(open) && !wasFinished;
    if (open && (keyOf(open) !== before || isFirst)) widget.node.scrollTop = 0;
    before = open && keyOf(open);
    wasFinished = !open || isFinished(open);
  };
  return widget;
}

/** The course's title, which opens its home. */
function buildTitle(course, actions) {
  const words = course ? chooseTitle(course) : 'Course';
  const title = element('h2', course ? '' : words);
  if (course) {
    title.append(makeButton(words, actions.showHome, { class: 'gradlab-plain', 'data-key': 'home', ...actions.labelKeys('gradlab:show-course', "Show the course's home") }));
  }
  return title;
}

/** What a finished lab has led to. isNew: whether it has just been finished. */
function finish(lab, isNew) {
  const section = element('section', '', { class: `gradlab-finish${isNew ? ' gradlab-celebrated' : ''}`, 'aria-label': 'Finished' });
  const line = element('p', '', { class: 'gradlab-line' });
  line.append(sign('pass'), element('strong', describeFinished(lab)));
  section.append(line);
  if (lab.milestone) section.append(element('p', describeReached(lab)));
  return section;
}

function continueButton(course, open, actions) {
  if (open && needsMark(open)) {
    return makeButton(`Mark my work in ${open.title}`, actions.mark, { ...CONTINUE, ...actions.labelKeys('gradlab:mark') });
  }
  const [compared] = open && !open.next ? listLeft(open) : [];
  if (compared) return makeButton(`Compare your answer: ${compared.title}`, () => actions.open(open, compared.name), CONTINUE);
  const lab = chooseNextLab(course, open);
  if (!lab) return element('p', describeEnd(course, 'Every exercise is done.'));
  return makeButton(describeStart(lab), () => actions.open(lab, lab.begun ? lab.next : ''), CONTINUE);
}

export const chooseTitle = course => course.title || (course.courses.length > 1 ? 'Your courses' : 'Course');

/** What to say if there's no next lab. done: if there are labs. */
export function describeEnd(course, done) {
  if (course.labs.length) return done;
  return course.courses.length ? "Your instructor hasn't released a lab yet. Once there is one, it appears here." : 'There are no labs in this folder.';
}

function labSection(lab, actions) {
  const section = element('section', '', { 'aria-label': `Work in ${lab.title}` });
  section.append(element('h3', `${lab.number} ${lab.title}`), ...buildPoints(lab));
  section.append(workList(lab, coreOf(lab), actions));
  const practice = lab.work.filter(work => work.practice);
  if (practice.length) section.append(element('h4', 'Further practice'), workList(lab, practice, actions));
  if (lab.work.some(work => work.state === 'marked')) {
    section.append(link('Show the latest feedback page', `page/${lab.name}`, () => actions.showPage(lab), actions.labelKeys('gradlab:show-page')));
  }
  return section;
}

function workList(lab, works, actions) {
  const list = element('ul');
  for (const work of works) {
    const item = element('li');
    const button = makeButton('', () => actions.open(lab, work.name), { class: 'gradlab-plain gradlab-work', 'data-key': `${lab.name}/${work.name}` });
    const state = element('span', '', { class: 'gradlab-small gradlab-state' });
    state.append(element('span', describeState(work, lab)), ' ', element('span', describeWorth(work)));
    if (work.compared) state.append(' ', element('span', `first try: ${work.first_right} of ${work.compared} compared questions right`));
    button.append(sign(signOf(work)), breakableName(work.title), ' ', state);
    item.append(button);
    list.append(item);
  }
  return list;
}

function pages(course, actions) {
  return links('Pages', course.pages.map(path => link(PAGES[path.split('/').at(-1)], path, () => actions.openFile(path, PAGES[path.split('/').at(-1)]))));
}

/** A section with this title and a list of buttons. */
function links(title, buttons) {
  const section = element('section', '', { 'aria-label': title });
  const list = element('ul');
  for (const button of buttons) {
    const item = element('li');
    item.append(button);
    list.append(item);
  }
  section.append(element('h3', title), list);
  return section;
}

/** A button that goes somewhere. key: identifies it, so it keeps the focus when the panel is redrawn. */
const link = (words, key, action, attributes) => makeButton(words, action, { class: 'gradlab-plain', 'data-key': key, ...attributes });

/** The icon of a work's state: only full marks are a green disc. */
function signOf(work) {
  if (work.questions && work.state !== 'marked') return work.done ? 'ready' : work.answered ? 'written' : 'untouched';
  if (work.state !== 'marked') return { failing: 'fail', passing: 'ready' }[work.state] ?? work.state;
  if (work.full) return 'pass';
  return work.earned > 0 ? 'partly' : 'fail';
}

function describeWorth(work) {
  const points = formatCount(work.points, 'point');
  if (work.state === 'marked') return `${formatPoints(work.earned)} of ${points}`;
  if (work.earned_before !== null) return `was ${formatPoints(work.earned_before)} of ${points}`;
  return [...(work.practice ? [] : [points]), ...(work.level ? [work.level] : [])].join(', ');
}

function describeState(work, lab) {
  if (lab.submitted && work.done && work.state !== 'marked') return 'submitted';
  if (work.questions && ['written', 'failing'].includes(work.state)) return `${work.answered} of ${work.questions} answered`;
  return work.state === 'failing' ? `${work.passed} of ${work.checks} passed` : STATES[work.state];
}

/** A name that may break after an underscore. */
function breakableName(name) {
  const node = element('span', '', { class: 'gradlab-name' });
  name.split(/(?<=_)/).forEach((part, index) => node.append(...(index ? [element('wbr')] : []), part));
  return node;
}

/** A lab's points, with the earned ones large, and its bar once it's begun. */
function buildPoints(lab) {
  const score = element('p', '', { class: 'gradlab-score' });
  if (isAwaited(lab)) score.append(formatCount(lab.points, 'point'));
  else score.append(element('strong', formatPoints(lab.earned)), ` of ${formatCount(lab.points, 'point')}`);
  const parts = [score, ...(lab.begun ? [pointBar(lab)] : [])];
  if (lab.changed_count) parts.push(element('p', `${formatCount(lab.changed_count, 'answer')} changed since the mark`, { class: 'gradlab-small' }));
  if (lab.submitted) parts.push(element('p', describeSubmitted(lab), { class: 'gradlab-small' }));
  else if (lab.ready) parts.push(element('p', `${formatPoints(lab.ready)} more ready to mark`, { class: 'gradlab-small' }));
  if (lab.milestone && !isFinished(lab)) parts.push(element('p', `You'll have: ${lab.milestone}`, { class: 'gradlab-small' }));
  return parts;
}

/** Wrong predictions of earlier labs, at most five, the oldest first. They come back until they are right. */
function review(course, open, actions) {
  const at = open ? course.labs.findIndex(lab => keyOf(lab) === keyOf(open)) : course.labs.length;
  const missed = course.labs.slice(0, at).flatMap(lab => lab.missed.map(prediction => ({ lab, prediction }))).slice(0, 5);
  if (!missed.length) return null;
  return links('Predict again', missed.map(({ lab, prediction: { name, question } }) =>
    link(`Lab ${lab.number}: ${question || 'a prediction'}`, `again/${lab.name}/${name}`, () => actions.predictAgain(lab, name))));
}

/** A section for all labs, or one for each course. */
function allLabs(course, open, actions) {
  if (!course.labs.length) return [];
  if (course.courses.length < 2) return [labList('All labs', course.labs, open, actions)];
  const groups = [...course.courses, { name: undefined, title: 'Other labs' }];
  return groups
    .map(({ name, title }) => [title, course.labs.filter(lab => lab.course === name)])
    .filter(([, labs]) => labs.length)
    .map(([title, labs]) => labList(title, labs, open, actions));
}

function labList(title, labs, open, actions) {
  const section = element('section', '', { 'aria-label': title });
  const list = element('ol');
  for (const lab of labs) {
    const item = element('li');
    const button = makeButton('', () => actions.open(lab, ''), { class: 'gradlab-plain gradlab-lab', 'data-key': keyOf(lab) });
    button.append(element('span', lab.number, { class: 'gradlab-number' }), ' ', element('span', lab.title), ' ');
    button.append(element('span', lab.path ? describePoints(lab) : 'Get this lab', { class: 'gradlab-small' }));
    if (lab.begun) button.append(pointBar(lab));
    if (open && keyOf(lab) === keyOf(open)) button.setAttribute('aria-current', 'true');
    item.append(button);
    list.append(item);
  }
  section.append(element('h3', title), list);
  return section;
}

/** A bar of a lab's points: earned, and striped those ready to mark. The words next to it say the same. */
export function pointBar(lab) {
  const bar = element('span', '', { class: 'gradlab-bar', 'aria-hidden': 'true' });
  const share = points => `${lab.points ? (100 * points) / lab.points : 0}%`;
  for (const [name, points] of [['earned', lab.earned], ['ready', lab.ready]]) {
    const part = element('span', '', { class: `gradlab-bar-${name}` });
    part.style.width = share(points);
    bar.append(part);
  }
  return bar;
}
