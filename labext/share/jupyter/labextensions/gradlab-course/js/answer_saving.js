// Saves a notebook once the student has answered: JupyterLab itself does so only every two minutes.

import { factsOf, WRITTEN } from './notebook.js';
import { saveNotebook } from './saving.js';

/** Save this lab whenever the student leaves an answer, selects a statement, or compares a prediction. */
export function saveAnswers(panel) {
  const { content, context } = panel;
  const saver = new Saver(context);
  content.node.addEventListener('focusout', ({ target, relatedTarget }) => {
    const cell = content.widgets.find(each => each.node.contains(target));
    if (cell && WRITTEN.includes(factsOf(cell).kind) && !cell.node.contains(relatedTarget) && context.model.dirty) saver.save();
  });
  // The controls' own handlers have run when these events arrive here.
  content.node.addEventListener('change', ({ target }) => target.closest('.gradlab-question') && saver.save());
  content.node.addEventListener('submit', ({ target }) => target.closest('.gradlab-prediction') && saver.save());
}

/** Saves a notebook as often as it's asked for, but not twice at a time. */
class Saver {
  constructor(context) {
    this.context = context;
    this.isSaving = false;
    this.isWanted = false;
  }

  async save() {
    this.isWanted = true;
    if (this.isSaving) return;
    this.isSaving = true;
    while (this.isWanted && this.canSave) {
      this.isWanted = false;
      await saveNotebook(this.context).catch(() => {}); // JupyterLab has shown why
    }
    this.isSaving = false;
  }

  get canSave() {
    const { context } = this;
    return !context.isDisposed && context.contentsModel?.writable !== false;
  }
}
