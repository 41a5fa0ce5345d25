// Additions to the cards below check cells: whether they are outdated, and the student's progress.

import { factsOf } from './notebook.js';
import { describeProgress, element } from './panel.js';

/** Whether the notebook shows a card that has no addition yet. */
export function hasNewCards(panel) {
  return [...panel.content.node.querySelectorAll('.gradlab-card')].some(card => !card.querySelector('.gradlab-way'));
}

/**
 * Update the cards of this notebook. Calling it again changes nothing.
 * lab: as the server read it from this notebook. goTo: a function that goes to an exercise.
 */
export function updateCards(panel, lab, goTo) {
  for (const cell of panel.content.widgets) {
    const { kind, exercise } = factsOf(cell);
    const card = kind === 'check' ? cell.node.querySelector('.gradlab-card') : null;
    const work = card && lab.work.find(each => each.name === exercise);
    if (!work) continue;
    card.classList.toggle('gradlab-stale', work.stale);
    const words = work.stale ? 'Your cell has changed: run this check again.' : describeProgress(lab);
    const next = work.stale ? '' : lab.next;
    const line = card.querySelector('.gradlab-way');
    if (line?.textContent === words + next) continue;
    const addition = element('div', words, { class: 'gradlab-way' });
    if (next) {
      const button = element('button', next);
      button.onclick = () => goTo(next);
      addition.append(button);
    }
    if (line) line.replaceWith(addition);
    else card.append(addition);
  }
}
