// The course's home in JupyterLab's main area: what the course is for, where to continue, and the labs as a path.

import { button, element } from './elements.js';
import { keepFocus } from './focus.js';
import { chooseNextLab, pointBar } from './panel.js';

const DAY = 86_400; // seconds

export function makeHome({ MainAreaWidget }, { Widget }, actions) {
  const content = new Widget();
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
    page.append(...buildStart(course, actions), buildPath(course, actions));
    keepFocus(content.node, () => content.node.replaceChildren(page));
  };
  return home;
}

/** The big button, and where the student was. */
function buildStart(course, actions) {
  const lab = chooseNextLab(course, null);
  if (!lab) return [element('p', course.labs.length ? 'You have done every exercise.' : 'There are no labs in this folder.')];
  const words = lab.begun ? `Continue with ${lab.next}` : `Begin with lab ${lab.number}`;
  const place = lab.begun ? `Lab ${lab.number}, ${lab.title}. You were there ${describeDay(lab.changed)}.` : lab.title;
  const start = button(words, () => actions.open(lab, lab.begun ? lab.next : ''), { class: 'gradlab-start', 'data-key': 'start' });
  const how = button('How a lab works', actions.showHow, { class: 'gradlab-how', 'data-key': 'how' });
  const row = element('div', '', { class: 'gradlab-startrow' });
  row.append(start, how);
  return [row, element('p', place, { class: 'gradlab-standing' })];
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
  const [icon, state] = describeState(lab, isNext);
  const step = element('li', '', { class: `gradlab-step${isNext ? ' gradlab-here' : ''}` });
  const title = button(lab.title, () => actions.open(lab, ''), { class: 'gradlab-lab', 'data-key': lab.name });
  title.prepend(element('span', lab.number, { class: 'gradlab-number' }));
  const needs = lab.needs.map(name => numbers[name] ?? name).join(', ');
  const facts = [state, lab.summary, `${lab.minutes} minutes`, needs ? `after ${needs}` : ''].filter(Boolean).join(' · ');
  const line = element('p', '', { class: 'gradlab-standing' });
  if (icon) line.append(element('span', icon, { class: 'gradlab-icon', 'aria-hidden': 'true' }));
  line.append(facts);
  step.append(title, line);
  if (lab.milestone) step.append(element('p', `${isPassed(lab) ? 'You have' : "You'll have"} ${lab.milestone}`, { class: 'gradlab-milestone' }));
  if (lab.begun) step.append(pointBar(lab));
  return step;
}

/** Whether nothing with points is left to write in a lab. */
const isPassed = lab => lab.begun && !lab.next;

function describeState(lab, isNext) {
  if (isPassed(lab)) return ['✓', lab.ready ? 'ready to mark' : 'done'];
  if (lab.begun) return ['◐', isNext ? 'you are here' : 'begun'];
  return ['', isNext ? 'next' : ''];
}
