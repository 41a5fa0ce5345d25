// Saves of one notebook, one after the other: JupyterLab takes two at once for a change of the file by another program.

const latest = new WeakMap(); // of each notebook's context

/** Save the notebook of this context once its other saves have ended. */
export function saveNotebook(context) {
  const save = (latest.get(context) ?? Promise.resolve()).catch(() => {}).then(() => context.save());
  latest.set(context, save);
  return save;
}
