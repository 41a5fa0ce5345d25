// Saves of one notebook, one after the other: JupyterLab takes two at once for a change of the file by another program.

const queued = new WeakSet(); // contexts; two views of a notebook share one

/** Let each save of this context, JupyterLab's own included, wait until the one before it has ended. */
export function queueSaves(context) {
  if (queued.has(context)) return;
  queued.add(context);
  const save = context.save.bind(context);
  let latest = Promise.resolve();
  let waiting = null; // serves all who ask until it begins, when it takes what the notebook contains
  context.save = () => {
    if (!waiting) {
      waiting = latest.then(() => {
        waiting = null;
        return save();
      });
      latest = waiting.catch(() => {});
    }
    return waiting;
  };
}
