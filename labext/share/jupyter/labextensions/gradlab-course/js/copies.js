// Several cells for one exercise: students copy a cell to try something, and only one of them counts.

import { button, element } from './elements.js';
import { factsOf, findVersions, indexOf, titleOf } from './notebook.js';

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five'];

/** Which of an exercise's cells counts, in a sentence; empty if it has only one. */
export function describeCopies(panel, exercise) {
  const versions = findVersions(panel, exercise);
  if (versions.length < 2) return '';
  const counted = panel.content.widgets[indexOf(panel, 'exercise', exercise)];
  const which = counted === versions.at(-1) ? 'The last one counts' : 'The lowest one that you changed counts';
  return `There are ${NUMBERS[versions.length] ?? versions.length} cells for ${titleOf(panel, exercise)}. ${which}`;
}

/** The exercises of this notebook that have several cells. */
export function listCopied(panel) {
  const names = panel.content.widgets.map(factsOf).filter(facts => facts.kind === 'exercise').map(facts => facts.exercise);
  return [...new Set(names)].filter(name => findVersions(panel, name).length > 1);
}

/** Whether this is an exercise's or a check's cell, and another one counts. */
export const isUncounted = (panel, cell) => Boolean(findCountedOf(panel, cell));

/** Say below each cell that doesn't count that it doesn't. goTo: goes to the cell at an index. */
export function markCopies(panel, goTo) {
  for (const cell of panel.content.widgets) {
    const counted = findCountedOf(panel, cell);
    const words = counted ? describeCopy(panel, cell, counted) : '';
    const before = cell.node.querySelector('.gradlab-copy');
    if ((before?.dataset.key ?? '') === words) continue;
    before?.remove();
    if (!words) continue;
    const message = element('div', '', { class: 'gradlab gradlab-message gradlab-copy', role: 'status', 'data-key': words });
    const lead = () => goTo(panel.content.widgets.indexOf(findCountedOf(panel, cell) ?? cell));
    message.append(element('span', `${words} `), button('Go to the one that counts', lead));
    cell.node.append(message);
  }
}

/** The cell that counts instead of this one; undefined if this one counts, or the course didn't write it. */
function findCountedOf(panel, cell) {
  const { kind, exercise } = factsOf(cell);
  if (kind !== 'exercise' && kind !== 'check') return undefined;
  const counted = panel.content.widgets[indexOf(panel, kind, exercise)];
  return counted === cell ? undefined : counted;
}

function describeCopy(panel, cell, counted) {
  const { kind, exercise } = factsOf(cell);
  if (kind === 'check') return `This is a copy of the check of ${titleOf(panel, exercise)}. The first one counts, not this one.`;
  const way = counted.model.getMetadata('deletable') === false ? '' : ' To make this one count, delete the other.';
  return `${describeCopies(panel, exercise)}, not this one.${findVersions(panel, exercise).length === 2 ? way : ''}`;
}
