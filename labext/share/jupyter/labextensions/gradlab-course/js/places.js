// The course's places, and the keyboard's ways to them: the panel, the home, and the feedback page of the lab in front.

import { makeHome } from './home.js';
import { labOf } from './notebook.js';
import { START } from './panel.js';

export class Places {
  /** lesson: {app, course, modules, openLab, pages, tracker}. panel: the course's. tabs: Notebook 7's browser tabs. */
  constructor(lesson, panel, tabs) {
    Object.assign(this, { ...lesson, panel, tabs });
    this.home = null; // while it's open
    panel.node.addEventListener('keydown', event => {
      if (event.key === 'Escape') this.returnToMain();
    });
  }

  /** Draw the course on the home, if it's open. */
  draw(course) {
    this.latest = course;
    if (course && this.home && !this.home.isDisposed) this.home.showCourse(course);
  }

  showHome() {
    if (this.tabs.areUsed) return; // they hold one document each
    if (!this.home || this.home.isDisposed) {
      this.home = makeHome(this.modules['@jupyterlab/apputils'], this.modules['@lumino/widgets'], {
        open: (lab, exercise) => this.openLab(lab, exercise),
        showHow: () => this.openLab({ path: START }, ''),
      });
      this.app.shell.add(this.home, 'main');
    }
    this.draw(this.latest);
    this.app.shell.activateById(this.home.id);
  }

  /** Close the launcher that JupyterLab opens if nothing else is open, and show the home instead. */
  replaceLauncher() {
    const widgets = [...this.app.shell.widgets('main')];
    if (!widgets.every(widget => widget.id.startsWith('launcher'))) return;
    this.showHome();
    widgets.forEach(widget => widget.close());
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

  returnToMain() {
    const main = this.app.shell.currentWidget ?? this.tracker.currentWidget;
    if (main) this.app.shell.activateById(main.id);
  }

  /** Move the focus to the feedback page of the lab in front or, if it's there, back to the notebook. */
  async goToPage() {
    const notebook = this.tracker.currentWidget;
    const { path } = notebook.context;
    const lab = labOf(notebook);
    if (this.pages.hasFocus(lab.name)) {
      this.app.shell.activateById(notebook.id);
    } else if (await this.course.hasPage(path)) {
      this.pages.show(lab, path);
    } else {
      const words = `${lab.title} has no feedback page yet. Mark my work makes it.`;
      this.modules['@jupyterlab/apputils'].Notification.info(words, { autoClose: 4000 });
    }
  }
}
