// The course's home in JupyterLab's main area: what the course is for, where to continue, and the labs as a path.

import { button, element, sign } from './elements.js';
import { keepFocus } from './focus.js';
import { buildMilestoneLine } from './milestone_line.js';
import { chooseNextLab, pointBar } from './panel.js';

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

  /** course: {title, about, labs}. */
  home.showCourse = course => {
    const page = element('article', '', { 'aria-label': course.title || 'Course' });
    page.append(element('h1', course.title || 'Course'));
    if (course.about) page.append(element('p', course.about, { class: 'gradlab-about' }));
    const reached = course.labs.map(isPassed);
    const line = buildMilestoneLine(course.labs, reached, course.labs.indexOf(chooseNextLab(course, null)));
    page.append(buildStart(course, actions), ...(line ? [line] : []), buildPath(course, actions));
    keepFocus(content.node, () => content.node.replaceChildren(page));
  };
  return home;
}

/** Where the student was, and the button that continues there. */
function buildStart(course, actions) {
  const lab = chooseNextLab(course, null);
  if (!lab) return element('p', course.labs.length ? 'You have done every exercise.' : 'There are no labs in this folder.', { class: 'gradlab-place' });
  const words = lab.begun ? `Continue with ${lab.next_title}` : `Begin with lab ${lab.number}`;
  const place = lab.begun ? `Lab ${lab.number}, ${lab.title}. You were there ${describeDay(lab.changed)}.` : lab.title;
  const start = button(words, () => actions.open(lab, lab.begun ? lab.next : ''), { class: 'gradlab-primary gradlab-start', 'data-key': 'start' });
  const how = button('How a lab works', actions.showHow, { class: 'gradlab-how', 'data-key': 'how' });
  const row = element('div', '', { class: 'gradlab-buttons' });
  row.append(start, how);
  const section = element('div', '', { class: 'gradlab-place' });
  section.append(element('p', place, { class: 'gradlab-small' }), row);
  return section;
}

function describeDay(seconds) {
  const days = Math.floor(Date.now() / 1000 / DAY) - Math.floor(seconds / DAY);
  return days <= 0 ? 'today' : days === 1 ? 'yesterday' : `${days} days ago`;
}

function buildPath(course, actions) {
  const section = element('section', '', { 'aria-label': 'Labs' });
  const list = element('ol', '', { class: 'gradlab-path' });
  const numbers = Object.fromEntries(course.labs.map(lab => [lab.name, lab.number]));
  const nextLab = chooseNextLab(course, null);
  for (const lab of course.labs) list.append(buildStep(lab, numbers, lab === nextLab, actions));
  section.append(element('h2', 'The path'), list);
  return section;
}

function buildStep(lab, numbers, isNext, actions) {
  const reached = isPassed(lab);
  const style = isNext ? ' gradlab-here' : reached ? ' gradlab-reached' : lab.begun ? ' gradlab-begun' : '';
  const step = element('li', '', { class: `gradlab-step${style}` });
  const content = element('div');
  const title = button(lab.title, () => actions.open(lab, ''), { class: 'gradlab-plain gradlab-lab', 'data-key': lab.name });
  title.prepend(element('span', `Lab ${lab.number}: `, { class: 'jp-sr-only' }));
  const needs = lab.needs.map(name => numbers[name] ?? name).join(', ');
  const facts = [lab.summary, `${lab.minutes} minutes`, needs ? `after ${needs}` : ''].filter(Boolean).join(' · ');
  const line = element('p', '', { class: 'gradlab-small' });
  line.append(...describeState(lab, isNext), facts);
  content.append(title, line);
  if (lab.milestone) content.append(element('p', `${reached ? 'You have' : "You'll have"} ${lab.milestone}`, { class: 'gradlab-milestone' }));
  if (lab.begun) content.append(pointBar(lab));
  step.append(element('span', lab.number, { class: 'gradlab-disc', 'aria-hidden': 'true' }), content);
  return step;
}

/** Whether nothing with points is left to write in a lab. */
const isPassed = lab => lab.begun && !lab.next;

/** The icon and the word of a lab's state, if it has one. */
function describeState(lab, isNext) {
  const [icon, word] = isPassed(lab)
    ? lab.ready ? ['ready', 'ready to mark'] : ['pass', 'done']
    : lab.begun ? ['partly', isNext ? 'you are here' : 'begun'] : isNext ? ['untouched', 'next'] : [];
  if (!word) return [];
  const badge = element('span', '', { class: 'gradlab-badge' });
  badge.append(sign(icon), word);
  return [badge, ' · '];
}
