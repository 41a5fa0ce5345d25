// Scrolling to a cell while the cells around it still get their heights: JupyterLab renders those that come near.

const IN_PLACE = 3; // frames in a row at the notebook's top before the focus moves there
const KEPT = 60; // frames in a row in view before the rest of the notebook counts as rendered
const SEEN = 60; // pixels of a cell that must be in view
const BEGINNING = 150; // pixels of a cell that should be in view below its task
const INPUTS = ['keydown', 'pointerdown', 'wheel'];

const latest = new WeakMap(); // of each notebook, its latest way to a cell, which ends earlier ones

/** The cell that the student was on the way to when they did something else, if it's still the active one. */
export function findUnreached(notebook) {
  const way = latest.get(notebook);
  return way && !way.isReached && notebook.activeCell === way.cell ? way.cell : null;
}

/** The way to a cell. It ends when the student does something, or goes elsewhere. */
export class Way {
  /** task: the cell above it that says what to do, or the cell itself. */
  constructor(notebook, cell, task = cell) {
    Object.assign(this, { notebook, cell, task, view: notebook.node.querySelector('.jp-WindowedPanel-outer') });
    latest.set(notebook, this);
    this.end = () => {
      this.hasEnded = true;
      INPUTS.forEach(kind => window.removeEventListener(kind, this.end, true));
    };
    INPUTS.forEach(kind => window.addEventListener(kind, this.end, true));
  }

  /** Whether the student hasn't gone elsewhere since. */
  get isLatest() {
    return latest.get(this.notebook) === this && !this.notebook.isDisposed && !this.cell.isDisposed;
  }

  /**
   * Scroll until the task, or else the cell, begins at the notebook's top, or as near to it as the notebook's end allows.
   * Then move the focus, and keep the cell in view. A student who goes elsewhere ends this at any point.
   */
  async arrive(moveFocus = async () => {}) {
    await this.scrollUntil(() => this.isAtTop, IN_PLACE);
    if (!this.isLatest) return;
    await moveFocus();
    this.isReached = true;
    this.keep(); // the student needn't wait for it
  }

  /** Keep the cell in view until the cells around it have their heights. */
  async keep() {
    await this.scrollUntil(() => this.isInView, KEPT);
    this.end();
  }

  async scrollUntil(isThere, frames) {
    for (let held = 0; held < frames && this.isLatest && !this.hasEnded;) {
      held = isThere() ? held + 1 : 0;
      if (!held) this.scroll();
      await new Promise(requestAnimationFrame);
    }
  }

  // JupyterLab's own scrolling trusts heights that it doesn't know yet, and does nothing if it thinks that it's there.
  scroll() {
    const { widgets } = this.notebook;
    const { target } = this;
    if (hasPlace(target)) return target.node.scrollIntoView({ block: 'start' });
    // It places the cells that come near those in the page.
    const at = widgets.indexOf(target);
    const above = widgets.slice(0, at).findLast(hasPlace);
    if (above) above.node.scrollIntoView({ block: 'start' });
    else widgets.slice(at + 1).find(hasPlace)?.node.scrollIntoView({ block: 'end' });
  }

  get isAtTop() {
    const { view } = this;
    const isAtEnd = view.scrollTop + view.clientHeight >= view.scrollHeight - 1;
    return this.isInView && (isAtEnd || Math.abs(this.target.node.getBoundingClientRect().top - view.getBoundingClientRect().top) < 2);
  }

  /** What to scroll to: the task, unless the cell would then begin below the window. */
  get target() {
    const { cell, task, view } = this;
    const areKnown = hasPlace(cell) && hasPlace(task);
    const height = this.box.top - task.node.getBoundingClientRect().top;
    return areKnown && height + BEGINNING > view.clientHeight ? cell : task;
  }

  get isInView() {
    const { top, bottom, height } = this.box;
    const view = this.view.getBoundingClientRect();
    return height > 0 && Math.min(bottom, view.bottom) - Math.max(top, view.top) >= Math.min(height, SEEN);
  }

  get box() {
    return this.cell.node.getBoundingClientRect();
  }
}

/** Whether a cell is in the page and takes room. JupyterLab keeps a selected cell in the page, hidden, when it's far away. */
const hasPlace = cell => cell.node.isConnected && cell.node.getBoundingClientRect().height > 0;
