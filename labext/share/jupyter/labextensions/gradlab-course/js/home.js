// The course's home in JupyterLab's main area: what the course is for, where to continue, and the labs as a path.

import { HOW, START } from './course_pages.js';
import { button, element, sign } from './elements.js';
import { keepFocus } from './focus.js';
import { buildMilestoneLine } from './milestone_line.js';
import { chooseNextLab, describePoints, isPassed, keyOf, listUnopened } from './next_work.js';
import { chooseTitle, describeEnd, pointBar } from './panel.js';

const DAY = 86_400; // seconds

export function makeHome({ MainAreaWidget }, { Widget }, actions) {
  const content = new Widget();
  content.addClass('gradlab');
  content.addClass('gradlab-Home');
  content.node.tabIndex = -1;
  const home = new MainAreaWidget({ content });
  home.id = 'gradlab-home';
  home.title.label = 'Course';
  home.title.closable = true;

  /** course: {title, about, pages, labs, courses, problem}. */
  home.showCourse = course => {
    const title = chooseTitle(course);
    const page = element('article', '', { 'aria-label': title });
    page.append(element('h1', title));
    if (course.about) page.append(element('p', course.about, { class: 'gradlab-about' }));
    if (course.problem) page.append(element('p', `The labs may not be up to date: ${course.problem}.`, { role: 'status', class: 'gradlab-place' }));
    // Each of several courses without a lab says so.
    if (course.labs.length || course.courses.length < 2) page.append(buildStart(course, actions));
    if (course.courses.length < 2) {
      const reached = course.labs.map(isPassed);
      const line = buildMilestoneLine(course.labs, reached, course.labs.indexOf(chooseNextLab(course, null)));
      if (course.labs.length) page.append(...(line ? [line] : []), buildPath('The path', course.labs, course, actions));
    } else {
      for (const { name, title } of course.courses) {
        page.append(buildPath(title, course.labs.filter(lab => lab.course === name), course, actions));
      }
      const others = course.labs.filter(lab => !lab.course);
      if (others.length) page.append(buildPath('Other labs', others, course, actions));
    }
    keepFocus(content.node, () => content.node.replaceChildren(page));
  };
  return home;
}

/** Where the student was, and the button that continues there. */
function buildStart(course, actions) {
  const lab = chooseNextLab(course, null);
  if (!lab) return element('p', describeEnd(course, 'You have done every exercise.'), { class: 'gradlab-place' });
  const words = lab.begun ? `Continue with ${lab.next_title}` : `Begin with lab ${lab.number}`;
  const title = course.courses.length > 1 && lab.course ? `${course.courses.find(({ name }) => name === lab.course).title}: ${lab.title}` : lab.title;
  const place = lab.begun ? `Lab ${lab.number}, ${title}. You last worked on it ${describeDay(lab.changed)}.` : title;
  const start = button(words, () => actions.open(lab, lab.begun ? lab.next : ''), { class: 'gradlab-primary gradlab-start', 'data-key': 'start' });
  const row = element('div', '', { class: 'gradlab-buttons' });
  row.append(start);
  const unopened = listUnopened(course, lab);
  if (unopened.length) row.append(button(`Begin with lab ${unopened[0].number} instead`, () => actions.open(unopened[0], ''), { 'data-key': 'needed' }));
  const how = course.pages.find(path => path.endsWith(START));
  if (how) row.append(button(HOW, () => actions.openFile(how, HOW), { class: 'gradlab-how', 'data-key': 'how' }));
  const section = element('div', '', { class: 'gradlab-place' });
  section.append(element('p', place, { class: 'gradlab-small' }));
  if (unopened.length) section.append(element('p', describeUnopened(unopened)));
  section.append(row);
  return section;
}

function describeUnopened(labs) {
  const numbers = labs.map(lab => lab.number);
  const last = numbers.pop();
  return `It builds on ${numbers.length ? `labs ${numbers.join(', ')} and` : 'lab'} ${last}, which you haven't opened here.`;
}

function describeDay(seconds) {
  const days = Math.floor(Date.now() / 1000 / DAY) - Math.floor(seconds / DAY);
  return days <= 0 ? 'today' : days === 1 ? 'yesterday' : `${days} days ago`;
}

/** The labs of one course. */
function buildPath(title, labs, course, actions) {
  const section = element('section', '', { 'aria-label': course.courses.length > 1 ? `Labs: ${title}` : 'Labs' });
  const list = element('ol', '', { class: 'gradlab-path' });
  const numbers = Object.fromEntries(labs.map(lab => [lab.name, lab.number]));
  const nextLab = chooseNextLab(course, null);
  for (const lab of labs) list.append(buildStep(lab, numbers, lab === nextLab, actions));
  section.append(element('h2', title));
  if (labs.length) section.append(list);
  else section.append(element('p', describeEnd({ ...course, labs }, '')));
  return section;
}

function buildStep(lab, numbers, isNext, actions) {
  const reached = isPassed(lab);
  const style = isNext ? ' gradlab-here' : reached ? ' gradlab-reached' : lab.begun ? ' gradlab-begun' : '';
  const step = element('li', '', { class: `gradlab-step${style}` });
  const content = element('div');
  const key = keyOf(lab);
  const title = lab.path
    ? button(lab.title, () => actions.open(lab, ''), { class: 'gradlab-plain gradlab-lab', 'data-key': key })
    : element('h3', lab.title, { class: 'gradlab-lab' });
  title.prepend(element('span', `Lab ${lab.number}: `, { class: 'jp-sr-only' }));
  const needs = lab.needs.map(name => numbers[name] ?? name).join(', ');
  const facts = [lab.points ? describePoints(lab) : '', lab.minutes ? `${lab.minutes} minutes` : '', needs ? `after ${needs}` : ''].filter(Boolean).join(' · ');
  const line = element('p', '', { class: 'gradlab-small' });
  line.append(...describeState(lab, isNext), facts);
  content.append(title, line);
  if (lab.milestone) content.append(element('p', `${reached ? 'It gets you' : "You'll have"} ${lab.milestone}`, { class: 'gradlab-milestone' }));
  if (lab.begun) content.append(pointBar(lab));
  content.append(...buildOffer(lab, key, actions));
  step.append(element('span', lab.number, { class: 'gradlab-disc', 'aria-hidden': 'true' }), content);
  return step;
}

/** What the class has of this lab: when it's due, a lab to get, what was submitted, a newer version. */
function buildOffer(lab, key, actions) {
  const words = `Lab ${lab.number}, ${lab.title}`;
  const parts = lab.due ? [buildDueDate(new Date(lab.due))] : [];
  if (!lab.path) return [...parts, button('Get this lab', () => actions.open(lab, ''), { class: 'gradlab-offer', 'data-key': `get/${key}`, 'aria-label': `Get this lab: ${words}` })];
  const submission = lab.offer?.submission;
  if (submission) {
    const line = element('p', '', { class: 'gradlab-small gradlab-submission' });
    const badge = element('span', '', { class: 'gradlab-badge' });
    badge.append(sign(submission.has_mark ? 'ready' : 'written'), submission.has_mark ? 'marked' : 'submitted');
    line.append(badge, ` · ${describeSubmission(submission)} `);
    if (submission.has_mark) line.append(button('Show the feedback page', () => actions.showPage(lab), { class: 'gradlab-plain', 'data-key': `page/${key}`, 'aria-label': `Show the feedback page: ${words}` }));
    parts.push(line);
  }
  if (lab.offer?.newer) {
    const line = element('p', 'Your instructor has released a newer version. ', { class: 'gradlab-small' });
    line.append(button('Get the newer version', () => actions.renew(lab), { class: 'gradlab-plain', 'data-key': `renew/${key}`, 'aria-label': `Get the newer version: ${words}` }));
    parts.push(line);
  }
  return parts;
}

/** In the student's time zone. */
function buildDueDate(date) {
  const line = element('p', date < Date.now() ? 'Was due ' : 'Due ', { class: 'gradlab-small' });
  const form = { weekday: 'short', day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' };
  line.append(element('time', date.toLocaleString(undefined, form), { datetime: date.toISOString() }));
  return line;
}

function describeSubmission({ time, mark, reason, has_mark }) {
  const date = new Date(time.replace(' UTC', 'Z').replace(' ', 'T'));
  const when = Number.isNaN(date.getTime()) ? time : date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  return [has_mark ? mark : reason, `submitted ${when}`].filter(Boolean).join(' · ');
}

/** The icon and the word of a lab's state, if it has one. */
function describeState(lab, isNext) {
  const [icon, word] = isPassed(lab)
    ? lab.ready && !lab.submitted ? ['ready', 'ready to mark'] : ['pass', 'done']
    : lab.begun ? ['partly', isNext ? 'you are here' : 'begun'] : isNext ? ['untouched', 'next'] : [];
  if (!word) return [];
  const badge = element('span', '', { class: 'gradlab-badge' });
  badge.append(sign(icon), word);
  return [badge, ' · '];
}
