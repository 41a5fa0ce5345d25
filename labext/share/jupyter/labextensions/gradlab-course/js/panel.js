// The side panel: where to continue, the work in the open lab, and all labs. Plain elements, with states in words.

const STATES = {
  untouched: 'not started',
  written: 'written',
  failing: 'a check fails',
  passing: 'visible checks pass',
  marked: 'marked',
};

export const START = '00_start_here.ipynb';
const PAGES = { [START]: 'How a lab works', '00_glossary.ipynb': 'Glossary' };

/** Format a number of points as the feedback page does: with at most two decimals. */
const formatPoints = number => String(Math.round(number * 100) / 100);
const formatCount = (number, noun) => `${formatPoints(number)} ${noun}${number === 1 ? '' : 's'}`;

export function makePanel({ Widget }, actions) {
  const widget = new Widget();
  widget.id = 'gradlab-course';
  widget.title.caption = 'Course';
  widget.title.label = 'Course';
  widget.addClass('gradlab-Panel');
  widget.node.setAttribute('role', 'region');
  widget.node.setAttribute('aria-label', 'Course');
  widget.node.tabIndex = -1;

  let before; // the lab that was open when the panel was last drawn

  /** course: {title, labs} or null. open: the lab in front, or null. message: a line to show, or ''. */
  widget.showCourse = (course, open, message) => {
    const focused = document.activeElement?.closest('.gradlab-Panel button')?.dataset.key;
    const parts = [element('h2', course?.title || 'Course')];
    if (message) parts.push(element('p', message, { role: 'status', class: 'gradlab-message' }));
    if (course) {
      parts.push(continueButton(course, open, actions));
      if (open) parts.push(labSection(open, actions));
      const predictions = review(course, open, actions);
      if (predictions) parts.push(predictions);
      parts.push(pages(actions), allLabs(course, open, actions));
    }
    widget.node.replaceChildren(...parts);
    if (open && open.name !== before) widget.node.scrollTop = 0;
    before = open?.name;
    if (focused) widget.node.querySelector(`button[data-key="${CSS.escape(focused)}"]`)?.focus();
  };
  return widget;
}

function continueButton(course, open, actions) {
  if (open?.work.length && !open.next && coreOf(open).some(work => work.state !== 'marked' && work.kind !== 'question')) {
    const button = element('button', `Mark my work in ${open.title}`, { class: 'gradlab-continue', 'data-key': 'continue' });
    button.onclick = actions.mark;
    return button;
  }
  const lab = chooseNextLab(course, open);
  if (!lab) return element('p', course.labs.length ? 'Every exercise is done.' : 'There are no labs in this folder.');
  const words = lab.begun ? `Continue: ${lab.next} in ${lab.title}` : `Begin: ${lab.title}`;
  const button = element('button', words, { class: 'gradlab-continue', 'data-key': 'continue' });
  button.onclick = () => actions.open(lab, lab.begun ? lab.next : '');
  return button;
}

/** The work that earns points. */
const coreOf = lab => lab.work.filter(work => !work.practice);

/** Of the labs with work left: the one in front if begun, else the begun one that changed last, else the first. */
export function chooseNextLab(course, open) {
  const left = course.labs.filter(lab => lab.next);
  const begun = left.filter(lab => lab.begun).sort((one, other) => other.changed - one.changed);
  return left.find(lab => lab.name === open?.name && lab.begun) ?? begun[0] ?? left[0];
}

function labSection(lab, actions) {
  const section = element('section', '', { 'aria-label': `Work in ${lab.title}` });
  section.append(element('h3', `${lab.number} ${lab.title}`), element('p', summarizeLab(lab), { class: 'gradlab-standing' }));
  section.append(workList(lab, coreOf(lab), actions));
  const practice = lab.work.filter(work => work.practice);
  if (practice.length) section.append(element('h4', 'Further practice'), workList(lab, practice, actions));
  if (lab.work.some(work => work.state === 'marked')) {
    section.append(link('Show the latest feedback page', `page/${lab.name}`, () => actions.showPage(lab)));
  }
  return section;
}

function workList(lab, works, actions) {
  const list = element('ul');
  for (const work of works) {
    const item = element('li');
    const button = element('button', '', { class: `gradlab-work gradlab-${styleOf(work)}`, 'data-key': `${lab.name}/${work.name}` });
    button.append(
      element('span', '', { class: 'gradlab-dot', 'aria-hidden': 'true' }),
      element('span', work.name, { class: 'gradlab-name' }),
      element('span', stateOf(work), { class: 'gradlab-state' }),
    );
    button.onclick = () => actions.open(lab, work.name);
    item.append(button);
    list.append(item);
  }
  return list;
}

function pages(actions) {
  return links('Pages', Object.entries(PAGES).map(([path, name]) => link(name, path, () => actions.openFile(path))));
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
function link(words, key, action) {
  const button = element('button', words, { class: 'gradlab-again', 'data-key': key });
  button.onclick = action;
  return button;
}

/** The style of a work's dot: only full marks are green. */
function styleOf(work) {
  if (work.state !== 'marked' || work.done) return work.state;
  return work.earned > 0 ? 'partly' : 'failing';
}

function stateOf(work) {
  const points = formatCount(work.points, 'point');
  if (work.state === 'marked') return `${formatPoints(work.earned)} of ${points}`;
  const word = work.state === 'failing' ? `${work.passed} of ${work.checks} passed` : STATES[work.state];
  return [word, ...(work.practice ? [] : [points]), ...(work.level ? [work.level] : [])].join(', ');
}

/** One line below a card: what was earned, what is ready to be marked, and what is next. */
export const describeProgress = lab => [
  `${formatPoints(lab.earned)} of ${formatCount(lab.points, 'point')} marked${lab.ready ? `, ${lab.ready} more ready to be marked` : ''}`,
  ...(lab.next ? ['next: '] : []),
].join('; ');

/** One line about a lab: how much is done, and what was earned. */
function summarizeLab(lab) {
  const core = coreOf(lab);
  const done = core.filter(work => work.done).length;
  const marked = lab.work.some(work => work.state === 'marked');
  const earned = marked ? `${formatPoints(lab.earned)} of ${formatCount(lab.points, 'point')} marked` : formatCount(lab.points, 'point');
  return `${done} of ${core.length} done, ${earned}`;
}

/** A line about a lab, and a table of its work with the state of each. */
export function listResults(lab) {
  const table = element('table', '', { class: 'gradlab-table' });
  for (const work of lab.work) {
    const row = element('tr');
    row.append(element('th', work.name, { scope: 'row' }), element('td', stateOf(work)));
    table.append(row);
  }
  return [element('p', summarizeLab(lab)), table];
}

/** Wrong predictions of earlier labs, at most five, the oldest first. They come back until they are right. */
function review(course, open, actions) {
  const at = open ? course.labs.findIndex(lab => lab.name === open.name) : course.labs.length;
  const missed = course.labs.slice(0, at).flatMap(lab => lab.missed.map(name => ({ lab, name }))).slice(0, 5);
  if (!missed.length) return null;
  return links('Predict again', missed.map(({ lab, name }) =>
    link(`${name}, in ${lab.title.split(':')[0]}`, `again/${lab.name}/${name}`, () => actions.open(lab, name))));
}

function allLabs(course, open, actions) {
  const section = element('section', '', { 'aria-label': 'All labs' });
  const list = element('ol', '', { class: 'gradlab-labs' });
  const titles = Object.fromEntries(course.labs.map(lab => [lab.name, lab.title.split(':')[0]]));
  for (const lab of course.labs) {
    const item = element('li');
    const button = element('button', `${lab.number} ${lab.title}`, { class: 'gradlab-lab', 'data-key': lab.name });
    if (lab.name === open?.name) button.setAttribute('aria-current', 'true');
    button.onclick = () => actions.open(lab, '');
    const needs = lab.needs.map(name => titles[name] ?? name).join(', ');
    const about = `${lab.minutes} minutes${needs ? `; after ${needs}` : ''}`;
    item.append(button, element('div', `${summarizeLab(lab)}; ${about}`, { class: 'gradlab-standing' }));
    if (lab.milestone) item.append(element('div', `You'll have: ${lab.milestone}`, { class: 'gradlab-standing' }));
    const core = coreOf(lab);
    const done = core.filter(work => work.done).length;
    item.append(element('progress', '', { max: core.length, value: done, 'aria-label': `${done} of ${core.length} done` }));
    list.append(item);
  }
  section.append(element('h3', 'All labs'), list);
  return section;
}

export function element(name, text = '', attributes = {}) {
  const node = document.createElement(name);
  if (text) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}
