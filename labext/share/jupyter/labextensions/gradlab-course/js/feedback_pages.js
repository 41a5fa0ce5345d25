// Feedback pages in JupyterLab's main area: one for each lab, next to its notebook if there is room. Notebook 7 opens a tab.

const WIDE = 1100; // pixels: a notebook this wide has room for a page next to it

export class FeedbackPages {
  /** pageOf: returns the address of the page of the notebook at a path. goTo: goes to an exercise of that notebook. showMarks: called when a page has loaded, since newer marks arrive with it. */
  constructor(app, tracker, modules, tabs, pageOf, goTo, showMarks) {
    this.app = app;
    this.tracker = tracker;
    this.modules = modules['@jupyterlab/apputils'];
    this.tabs = tabs;
    this.pageOf = pageOf;
    this.goTo = goTo;
    this.showMarks = showMarks;
    this.open = new Map(); // a lab's page by its notebook's path, while it is open
  }

  /** Show the latest page of this lab, {name, title}, whose notebook is at this path. */
  show(lab, path) {
    if (this.tabs.areUsed) return this.tabs.openPage(this.pageOf(path));
    this.refresh(lab, path);
    const page = this.open.get(path);
    page.isWanted = true;
    this.app.shell.activateById(page.id);
  }

  hasFocus(path) {
    return this.isOpen(path) && this.open.get(path).node.contains(document.activeElement);
  }

  /** Show it next to the notebook if there's room; in Notebook 7, renew its tab. Returns whether it can be seen. */
  showBeside(lab, path) {
    if (this.tabs.areUsed) this.tabs.renewPage(this.pageOf(path));
    if (!this.isOpen(path) && !this.hasRoom) return false;
    this.refresh(lab, path);
    return this.open.get(path).isVisible;
  }

  /** Whether the notebook in front is wide enough for two side by side. */
  get hasRoom() {
    return !this.tabs.areUsed && (this.tracker.currentWidget?.node.clientWidth ?? 0) >= WIDE;
  }

  isOpen(path) {
    return Boolean(this.open.get(path) && !this.open.get(path).isDisposed);
  }

  refresh(lab, path) {
    let page = this.open.get(path);
    if (!this.isOpen(path)) {
      page = this.createPage(lab, path);
      this.open.set(path, page);
      const current = this.tracker.currentWidget;
      const mode = this.hasRoom ? 'split-right' : 'tab-after';
      this.app.shell.add(page, 'main', { mode, ref: current?.id, activate: false });
    }
    page.content.url = `${this.pageOf(path)}?at=${Date.now()}`;
  }

  /** Load the open pages again whose lab has a newer mark than they show. */
  refreshMarked(before, labs) {
    for (const lab of labs.filter(each => this.isOpen(each.path))) {
      const { has_mark: hasMark, mark } = lab.offer?.submission ?? {};
      const known = before.find(each => each.path === lab.path)?.offer?.submission?.mark;
      if (hasMark && mark !== known && mark !== this.open.get(lab.path).mark) this.refresh(lab, lab.path);
    }
  }

  createPage(lab, path) {
    const { IFrame, MainAreaWidget } = this.modules;
    const content = new IFrame({ sandbox: ['allow-same-origin'] });
    const frame = content.node.querySelector('iframe');
    frame.title = `Marked: ${lab.title}`;
    frame.addEventListener('load', () => {
      const theme = document.body.dataset.jpThemeLight === 'false' ? 'dark' : 'light';
      frame.contentDocument.documentElement.style.colorScheme = theme; // the page has colors for both
      this.linkHeadings(frame.contentDocument, path);
      this.forwardKeys(frame.contentDocument);
      if (page.isWanted && page.node.contains(document.activeElement)) this.focusTitle(frame.contentDocument);
      page.isWanted = false;
      page.mark = frame.contentDocument.querySelector('meta[name="gradlab-mark"]')?.content ?? '';
      this.showMarks();
    });
    const page = new MainAreaWidget({ content });
    page.id = `gradlab-page-${path}`;
    page.title.label = `Marked: ${lab.title}`;
    page.title.closable = true;
    return page;
  }

  /** Let a screen reader begin, and the arrow keys scroll, where the page begins. */
  focusTitle(page) {
    const title = page.querySelector('h1') ?? page.body;
    title.tabIndex = -1;
    title.focus();
  }

  /** Let JupyterLab's shortcuts work while the page has the focus. */
  forwardKeys(page) {
    page.addEventListener('keydown', event => this.app.commands.processKeydownEvent(event));
  }

  // The page itself runs no scripts.
  linkHeadings(page, path) {
    for (const heading of page.querySelectorAll('h2[id]')) {
      const link = page.createElement('button');
      link.type = 'button';
      link.textContent = 'Open in the notebook';
      link.className = 'gradlab-open';
      link.setAttribute('aria-label', `Open ${heading.textContent} in the notebook`);
      link.addEventListener('click', () => this.goTo(path, heading.id));
      heading.append(link);
    }
  }
}
