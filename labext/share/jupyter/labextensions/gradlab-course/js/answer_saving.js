// Saves a notebook once the student has answered: JupyterLab itself does so only every two minutes.

import { factsOf, WRITTEN } from './notebook.js';
import { queueSaves } from './saving.js';

/** Save this lab whenever the student leaves an answer, selects a statement, or compares a prediction. */
export function saveAnswers(panel) {
  const { content, context } = panel;
  queueSaves(context);
  const save = () => {
    if (context.isDisposed || context.contentsModel?.writable === false) return;
    context.save().catch(() => {}); // JupyterLab has shown why
  };
  content.node.addEventListener('focusout', ({ target, relatedTarget }) => {
    const cell = content.widgets.find(each => each.node.contains(target));
    if (cell && WRITTEN.includes(factsOf(cell).kind) && !cell.node.contains(relatedTarget) && context.model.dirty) save();
  });
  // The controls' own handlers have run when these events arrive here.
  content.node.addEventListener('change', ({ target }) => target.closest('.gradlab-question') && save());
  content.node.addEventListener('submit', ({ target }) => target.closest('.gradlab-prediction') && save());
}
