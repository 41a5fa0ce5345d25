// What the course adds to the cards below check cells: which speak of an older text, and where the student stands.

import { factsOf } from './notebook.js';
import { element, onTheWay } from './panel.js';

/** Whether a card stands there that nothing was added to. */
export function hasUntold(panel) {
  return [...panel.content.node.querySelectorAll('.gradlab-card')].some(card => !card.querySelector('.gradlab-way'));
}

/** lab: as the server read it from this notebook. follow: goes to an exercise. Called twice it changes nothing more. */
export function tellCards(panel, lab, follow) {
  for (const cell of panel.content.widgets) {
    const { kind, exercise } = factsOf(cell);
    const card = kind === 'check' ? cell.node.querySelector('.gradlab-card') : null;
    const work = card && lab.work.find(each => each.name === exercise);
    if (!work) continue;
    card.classList.toggle('gradlab-stale', work.stale);
    const words = work.stale ? 'Your cell has changed since: run this check again.' : onTheWay(lab);
    const next = work.stale ? '' : lab.next;
    const line = card.querySelector('.gradlab-way');
    if (line?.textContent === words + next) continue;
    const told = element('div', words, { class: 'gradlab-way' });
    if (next) {
      const button = element('button', next);
      button.onclick = () => follow(next);
      told.append(button);
    }
    if (line) line.replaceWith(told);
    else card.append(told);
  }
}
