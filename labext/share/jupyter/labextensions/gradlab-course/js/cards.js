// Additions to the cards below check cells: whether they are outdated, what a mark found, and what to do next.

import { button, element, formatCount, formatPoints, sign } from './elements.js';
import { keepFocus } from './focus.js';
import { chooseNextWork, coreOf, describeFinished, describePoints, describeReached, isFinished } from './next_work.js';
import { factsOf, indexOf } from './notebook.js';

const TRIES = 2; // marks below full before the solution is offered; the server checks it too

/** Whether the notebook shows a card that has no addition yet. */
export function hasNewCards(panel) {
  return [...panel.content.node.querySelectorAll('.gradlab-card')].some(card => !card.querySelector('.gradlab-way'));
}

/**
 * Update the cards of this notebook. Calling it again changes nothing.
 * lab: as the server read it from this notebook.
 * actions: {describeCopies: says which of an exercise's cells counts, labelKeys: returns the attributes that say a command's keys, open: goes to an exercise, mark, nextLab: the lab to go on with, openNextLab, renderCode, showPage,
 * readSolution: returns an exercise's, if it's time}.
 */
export function updateCards(panel, lab, actions) {
  for (const cell of panel.content.widgets) {
    const { kind, exercise } = factsOf(cell);
    const isFirst = kind === 'check' && panel.content.widgets[indexOf(panel, kind, exercise)] === cell;
    const card = isFirst ? cell.node.querySelector('.gradlab-card') : null;
    const work = card && lab.work.find(each => each.name === exercise);
    if (!work) continue;
    showTitle(card, work);
    hideAnnouncement(card, work.hidden.length > 0);
    const before = card.querySelector('.gradlab-way');
    const copies = actions.describeCopies(exercise);
    const key = JSON.stringify([work, copies, lab.summary, lab.work.map(each => each.done), lab.submitted, actions.nextLab?.name]);
    if (before?.dataset.key === key) continue;
    const after = element('div', '', { class: 'gradlab-way', 'data-key': key });
    after.append(...buildAddition(work, lab, actions, copies));
    // Hidden checks that have run aren't "later" any more, and the mark says how far the exercise is.
    card.classList.toggle('gradlab-known', work.hidden.length > 0);
    card.classList.toggle('gradlab-stale', work.stale);
    card.classList.toggle('gradlab-full', isFull(work));
    card.classList.toggle('gradlab-celebrated', isFull(work) && Boolean(before) && !work.stale);
    if (before) keepFocus(before, () => before.replaceWith(after), after);
    else card.append(after);
  }
}

/** Call a quiz by its title: the notebook's own card has only its name. */
function showTitle(card, { name, title }) {
  if (title === name) return;
  const place = document.createTreeWalker(card.querySelector('.gradlab-card-head') ?? card, NodeFilter.SHOW_TEXT).nextNode();
  if (!place?.data.startsWith(name)) return;
  place.data = title + place.data.slice(name.length);
  card.setAttribute('aria-label', `Checks of ${title}`);
}

/** Once hidden checks have run, the card's first line doesn't announce them any more. */
function hideAnnouncement(card, isMarked) {
  const rest = card.querySelector('.gradlab-card-head')?.lastChild;
  if (rest?.nodeType !== Node.TEXT_NODE) return;
  rest.announced ??= rest.data;
  const words = isMarked ? rest.announced.split(';')[0] : rest.announced;
  if (rest.data !== words) rest.data = words;
}

const isFull = work => work.full;

function buildAddition(work, lab, actions, copies) {
  const parts = copies ? [element('p', `${copies}. ${work.stale ? "This card isn't about it" : 'This card judges it'}.`)] : [];
  if (work.stale && work.state !== 'marked') return [...parts, element('p', 'Your cell has changed: run this check again.')];
  const row = element('div', '', { class: 'gradlab-buttons' });
  if (work.stale) parts.push(element('p', 'The checks above are from before your last change. The mark below counts it.'));
  if (work.state === 'marked') {
    const earned = `${formatPoints(work.earned)} of ${formatCount(work.points, 'point')}`;
    parts.push(isFull(work)
      ? buildLine('pass', `Marked: ${earned}, full marks`)
      : buildLine(work.earned > 0 ? 'partly' : 'fail', `Marked: ${earned}`));
  }
  const faulty = work.stale ? [] : lab.work.filter(each => work.faulty_uses.includes(each.name));
  if (faulty.length) {
    parts.unshift(element('p', describeFaultyUses(faulty.map(each => each.title))));
    row.append(button(`Go to ${faulty[0].title}`, () => actions.open(faulty[0].name)));
  }
  if (isFull(work) && work.passed < work.checks && !work.stale) parts.push(element('p', EARLIER_CHECKS));
  parts.push(...listHidden(work.hidden));
  if (isFull(work) && work.another_way) parts.push(fold('Another way to write it', actions.renderCode(work.another_way)));
  if (work.state === 'passing' && !lab.submitted) row.append(button('Mark it now', actions.mark, actions.labelKeys('gradlab:mark')));
  const next = chooseNextWork(lab, work.name);
  if (next && next !== work && work.state !== 'failing') row.append(button(`Next: ${next.title}`, () => actions.open(next.name)));
  if (isFinished(lab) && work === findLast(lab)) {
    parts.push(element('p', `${describeFinished(lab)}. ${describeReached(lab)}`.trim(), { class: 'gradlab-finish' }));
    if (actions.nextLab) row.append(button(`Next: ${actions.nextLab.title}`, actions.openNextLab, { class: 'gradlab-primary' }));
  }
  if (work.state === 'marked') row.append(button('Show the feedback page', actions.showPage, actions.labelKeys('gradlab:show-page')));
  if (lab.grader && work.tries >= TRIES && !work.done && work.kind === 'exercise') row.append(solutionButton(work, actions));
  parts.push(element('p', `This lab: ${describePoints(lab)}`, { class: 'gradlab-small' }));
  return row.childElementCount ? [...parts, row] : parts;
}

const EARLIER_CHECKS =
  'The checks above ran before you changed another cell, which this answer uses. The mark counts that change.';

const describeFaultyUses = names =>
  `Your answer uses ${names.join(' and ')}, which ${names.length > 1 ? "aren't" : "isn't"} right yet. Start there.`;

/** The last work of a lab that has a card. */
const findLast = lab => coreOf(lab).findLast(work => work.kind !== 'question');

/** The line that says how far the exercise is. */
function buildLine(state, words) {
  const line = element('p', '', { class: 'gradlab-line' });
  line.append(sign(state), element('strong', words));
  return line;
}

/** What hidden checks found: those that failed, each with its hints, and how many passed. */
function listHidden(findings) {
  if (!findings.length) return [];
  const failed = findings.filter(finding => !finding.passed);
  const list = element('ul');
  for (const { label, seen, hints } of failed) {
    const words = element('div');
    words.append(element('b', 'fail ', { class: 'gradlab-fail' }), label);
    if (seen) words.append(element('div', seen, { class: 'gradlab-seen' }));
    hints.forEach((hint, index) => words.append(fold(hints.length > 1 ? `Hint ${index + 1}` : 'Hint', element('div', hint))));
    const item = element('li');
    item.append(sign('fail'), words);
    list.append(item);
  }
  const passed = findings.length - failed.length;
  const words = `${passed} of ${formatCount(findings.length, 'hidden check')} passed when it was marked`;
  return [element('p', failed.length ? `${words}. The others:` : `${words}.`), ...(failed.length ? [list] : [])];
}

/** A button that shows the worked solution, below a question whether the student is sure. */
function solutionButton(work, actions) {
  const show = button('Show a solution', () => {
    const box = element('div');
    box.append(
      element('span', 'Sure? You learn more from one more try. '),
      button('Show it', async () => {
        const { solution, error } = await actions.readSolution(work.name);
        keepFocus(box, () => box.replaceChildren(error ? element('p', error) : actions.renderCode(solution)));
      }),
    );
    keepFocus(show, () => show.replaceWith(box), box);
  });
  return show;
}

function fold(title, content) {
  const details = element('details');
  details.append(element('summary', title), content);
  return details;
}
