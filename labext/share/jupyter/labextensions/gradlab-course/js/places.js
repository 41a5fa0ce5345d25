// The course's places, and the keyboard's ways to them: the panel, the home, and the feedback page of the lab in front.

import { makeHome } from './home.js';
import { labOf } from './notebook.js';

const NARROW = 700; // pixels: a window this narrow has no room for a panel next to the course

export class Places {
  /** lesson: {app, classLabs, course, modules, openLab, pages, readCourse, tracker, tree: Notebook 7's list of files, if it's here}. panel: the course's. tabs: Notebook 7's browser tabs. */
  constructor(lesson, panel, tabs) {
    Object.assign(this, { ...lesson, panel, tabs });
    this.home = null; // while it's open
    panel.node.addEventListener('keydown', event => {
      if (event.key === 'Escape') this.returnToMain();
    });
  }

  /** Add the commands that lead to the home and the panel. icon: the course's. */
  addCommands(palette, launcher, icon) {
    const { commands } = this.app;
    commands.addCommand('gradlab:show-course', {
      label: args => (args.launcher ? this.latest?.title || 'Course' : "Show the course's home"),
      caption: 'Labs, exercises, and where to continue',
      icon: args => (args.launcher ? icon : undefined),
      execute: () => {
        if (!this.canShowHome) return this.tabs.goHome();
        this.makeRoom();
        this.showHome();
        this.readCourse();
      },
    });
    commands.addCommand('gradlab:show-panel', {
      label: 'Show the Course panel',
      caption: 'Go to the Course panel, or back to the notebook',
      execute: () => this.goToPanel(),
    });
    for (const command of ['gradlab:show-course', 'gradlab:show-panel']) palette?.addItem({ command, category: 'Course' });
    launcher?.add({ command: 'gradlab:show-course', args: { launcher: true }, category: 'Notebook', rank: -1 });
  }

  /** Draw the course on the home, if it's open. */
  draw(course) {
    this.latest = course;
    if (course && this.home && !this.home.isDisposed) this.home.showCourse(course);
  }

  /** Whether this page has room for the home. A browser tab of Notebook 7 holds one document. */
  get canShowHome() {
    return Boolean(this.tree) || !this.tabs.areUsed;
  }

  get isHomeVisible() {
    return Boolean(this.home?.isVisible);
  }

  showHome() {
    if (!this.canShowHome) return this.tabs.goHome();
    if (!this.home || this.home.isDisposed) {
      this.home = makeHome(this.modules['@jupyterlab/apputils'], this.modules['@lumino/widgets'], {
        open: (lab, exercise) => this.openLab(lab, exercise),
        renew: lab => this.classLabs.renew(lab),
        openFile: (path, heading) => this.openLab({ path }, heading),
        showPage: lab => this.pages.show(lab, lab.path),
      });
      if (this.tree) this.tree.addWidget(this.home);
      else this.app.shell.add(this.home, 'main');
    }
    this.draw(this.latest);
    if (this.tree) this.tree.currentWidget = this.home;
    else this.app.shell.activateById(this.home.id);
  }

  /** Close the launcher that JupyterLab opens if nothing else is open, and show the home instead. */
  replaceLauncher() {
    if (this.tabs.areUsed) return this.tree && this.showHome();
    const widgets = [...this.app.shell.widgets('main')];
    if (!widgets.every(widget => widget.id.startsWith('launcher'))) return;
    this.showHome();
    widgets.forEach(widget => widget.close());
  }

  /** Show what the course begins with. */
  begin() {
    if (this.tree) this.tabs.keepHome();
    this.makeRoom();
    this.followWidth();
    this.replaceLauncher();
  }

  /** Show the panel, unless the window is too narrow for it and what it leads to. */
  makeRoom() {
    if (this.isNarrow) this.app.shell.collapseLeft?.();
    else this.showPanel();
  }

  /** Fold the panel away when the window becomes narrow, by its edge or by zooming, and show it again when it's wide. */
  followWidth() {
    const { shell } = this.app;
    let restore = () => this.showPanel();
    window.matchMedia(`(width < ${NARROW}px)`).addEventListener('change', ({ matches }) => {
      if (!matches) {
        restore();
        return;
      }
      const isOtherOpen = !this.panel.isVisible && shell.leftCollapsed === false; // such as the list of files
      if (this.panel.isVisible) restore = () => this.showPanel();
      else restore = () => isOtherOpen && shell.expandLeft?.();
      if (this.panel.node.contains(document.activeElement)) this.returnToMain();
      else shell.collapseLeft?.();
    });
  }

  get isNarrow() {
    return window.innerWidth < NARROW;
  }

  /** Show the panel. The focus stays where it is. */
  showPanel() {
    this.app.shell.activateById(this.panel.id);
  }

  /** Move the focus to the panel or, if it's there, back to what the student works on. */
  goToPanel() {
    if (this.panel.node.contains(document.activeElement)) {
      this.returnToMain();
      return;
    }
    this.showPanel();
    // The command palette, as it closes, activates the main area within a frame.
    requestAnimationFrame(() => requestAnimationFrame(() => this.panel.takeFocus()));
  }

  /** In a narrow window, the panel would hide what it leads to. */
  leavePanel() {
    if (this.isNarrow) this.returnToMain();
  }

  returnToMain() {
    if (this.isNarrow) this.app.shell.collapseLeft?.();
    const main = this.app.shell.currentWidget ?? this.tracker.currentWidget;
    if (main) this.app.shell.activateById(main.id);
  }

  /** Move the focus to the feedback page of the lab in front or, if it's there, back to the notebook. */
  async goToPage() {
    const notebook = this.tracker.currentWidget;
    const { path } = notebook.context;
    const lab = labOf(notebook);
    if (this.pages.hasFocus(path)) {
      this.app.shell.activateById(notebook.id);
    } else if (await this.course.hasPage(path)) {
      this.pages.show(lab, path);
    } else {
      const words = `${lab.title} has no feedback page yet. Mark my work makes it.`;
      this.modules['@jupyterlab/apputils'].Notification.info(words, { autoClose: 4000 });
    }
  }
}
