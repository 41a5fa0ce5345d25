// For people who work alone: a written answer is compared with the model answer, and marked by its writer.

import { captureKeys } from './controls.js';
import { button, element, formatCount, formatPoints } from './elements.js';
import { keepFocus } from './focus.js';
import { factsOf } from './notebook.js';

/**
 * Update what's below the written answers of this notebook. Calling it again changes nothing.
 * lab: as the server read it. actions: {readSolution, saveOwnMark: both take an exercise's name, and return {error} if refused}.
 */
export function updateOwnAnswers(panel, lab, actions) {
  for (const cell of panel.content.widgets) {
    const { kind, exercise } = factsOf(cell);
    const work = kind === 'question' && lab.grader && lab.work.find(each => each.name === exercise);
    if (!work) continue;
    const before = cell.node.querySelector('.gradlab-own');
    const key = JSON.stringify([work.state, work.earned]);
    if (before?.dataset.key === key) continue;
    if (work.state === 'untouched') {
      before?.remove();
      continue;
    }
    const box = element('div', '', { class: 'gradlab gradlab-message gradlab-own', 'data-key': key, 'aria-live': 'polite' });
    fill(box, work, actions);
    if (before) keepFocus(before, () => before.replaceWith(box), box);
    else cell.node.append(box);
  }
}

function fill(box, work, actions) {
  const marked = work.state === 'marked';
  const words = marked
    ? `You gave this answer ${formatPoints(work.earned)} of ${formatCount(work.points, 'point')}. `
    : 'Once you have said all you know, compare your answer with a model answer, and mark it. ';
  const compare = button(marked ? 'Compare again' : 'Compare', async () => {
    const { solution, error } = await actions.readSolution(work.name);
    if (error) return box.replaceChildren(element('p', error));
    const model = element('div', '', { class: 'gradlab-model', role: 'group', 'aria-label': 'Model answer' });
    const text = element('div');
    text.innerHTML = solution; // the course's own text, rendered by the grader
    model.append(element('strong', 'A model answer'), text);
    model.tabIndex = -1;
    box.replaceChildren(model, chooser(work, actions));
    model.focus(); // a screen reader reads it, and it begins in view
    model.scrollIntoView({ block: 'nearest' });
  });
  box.replaceChildren(element('span', words), compare);
}

/** Choices from no points to all of them, in halves. */
function chooser(work, actions) {
  const row = element('div', '', { class: 'gradlab-buttons' });
  const select = element('select', '', { 'aria-label': `Points for ${work.title}` });
  for (let points = 0; points <= work.points; points += 0.5) {
    select.append(element('option', `${formatPoints(points)} of ${formatCount(work.points, 'point')}`, { value: points }));
  }
  const problem = element('span', '', { role: 'status' });
  select.selectedIndex = -1; // a mark has to be chosen
  captureKeys(select);
  const save = button('Save this mark', async () => {
    if (select.selectedIndex < 0) {
      problem.textContent = 'Choose the points first.';
      select.focus();
      return;
    }
    const { error } = await actions.saveOwnMark(work.name, Number(select.value));
    problem.textContent = error ?? '';
  });
  row.append(select, save, problem);
  return row;
}
