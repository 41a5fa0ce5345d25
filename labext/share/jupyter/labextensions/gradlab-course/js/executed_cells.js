// Which cells ran in the present kernel, and what to do if names are missing since it started.

const ADVICE = "hasn't run since the kernel started"; // of labkit, which says it itself if the kernel has imported it
const RESTARTED = 'Some cells above have not run since the kernel started, so their names are missing. Select this cell, '
  + 'choose Run > Run All Above Selected Cell, then run it again. The Check button of an exercise does both.';

/** Remembers which cells ran in the current kernel, which saved execution counts don't show, and which one runs now. */
export class ExecutedCells {
  constructor(actions) {
    this.cells = new WeakSet();
    this.scheduled = []; // cells that run or wait, in the kernel's order
    this.waiting = []; // called once one of them has ended
    actions.executionScheduled.connect((_, { cell }) => this.scheduled.push(cell));
    actions.executed.connect((_, { cell, success }) => {
      if (success) this.cells.add(cell.model);
      this.scheduled = this.scheduled.filter(each => each !== cell);
      this.waiting.splice(0).forEach(resolve => resolve());
    });
    actions.executed.connect((_, { notebook, cell, error }) => this.explainNameError(notebook, cell, error));
  }

  /** After a NameError, say below the cell if cells above have not run in this kernel. */
  explainNameError(notebook, cell, error) {
    cell.node.querySelector('.gradlab-restarted')?.remove();
    if (error?.errorName !== 'NameError' || !notebook.model?.getMetadata('gradlab')?.lab) return;
    if (error.traceback?.some(line => line.includes(ADVICE))) return;
    const above = notebook.widgets.slice(0, notebook.widgets.indexOf(cell));
    const name = /name '(\w+)' is not defined/.exec(error.errorValue)?.[1] ?? '';
    const mentions = each => new RegExp(`\\b${name}\\b`).test(each.model.sharedModel.getSource());
    const missing = each => each.model.type === 'code' && !this.has(each) && mentions(each);
    if (!above.some(missing)) return;
    const message = document.createElement('p');
    message.className = 'gradlab gradlab-message gradlab-restarted';
    message.setAttribute('role', 'status');
    message.textContent = RESTARTED;
    cell.node.append(message);
  }

  /** Call this once for each opened notebook. */
  watch(panel) {
    panel.sessionContext.statusChanged.connect((_, status) => {
      if (['restarting', 'autorestarting', 'terminating', 'dead'].includes(status)) {
        this.cells = new WeakSet();
        this.scheduled = [];
        this.waiting.splice(0).forEach(resolve => resolve());
      }
    });
  }

  /** The cell of this notebook that the kernel runs; the first of those that wait comes next. */
  findRunning(panel) {
    const isUnfinished = cell => cell.node.querySelector('.jp-InputPrompt')?.textContent.includes('*');
    return this.scheduled.find(cell => panel.content.widgets.includes(cell) && isUnfinished(cell));
  }

  /** Wait until this notebook's kernel runs nothing. */
  async awaitQuiet(panel) {
    while (this.findRunning(panel)) await new Promise(resolve => this.waiting.push(resolve));
  }

  has(cell) {
    return this.cells.has(cell.model);
  }
}
