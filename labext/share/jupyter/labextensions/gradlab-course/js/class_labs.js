// Labs that a student gets from the class's exchange.

import { isWaiting } from './next_work.js';

const MINUTE = 60_000; // milliseconds

export class ClassLabs {
  /** lesson: {course, modules, now, openLab, readCourse, tracker}. tabs: Notebook 7's browser tabs. */
  constructor(lesson, tabs) {
    Object.assign(this, { ...lesson, tabs });
  }

  /** Get a lab and open it. renew: whether to get the present version, and keep the student's under another name. */
  async get(lab, renew = false) {
    // A tab that opens once the lab has arrived would be blocked.
    if (this.tabs.areUsed && !renew) return this.tabs.openPage(this.course.addressOf(lab));
    const { Notification, showErrorMessage } = this.modules['@jupyterlab/apputils'];
    const id = Notification.emit(`Getting ${lab.title} …`, 'in-progress', { autoClose: false });
    try {
      const { path } = await this.course.getLab(lab, renew);
      await this.readCourse();
      await this.openLab({ ...lab, path }, '');
    } catch (error) {
      await showErrorMessage("You didn't get this lab", error);
    } finally {
      Notification.dismiss(id);
    }
  }

  /** Replace a lab by its newer version, once the student agrees. */
  async renew(lab) {
    const { Dialog, showDialog } = this.modules['@jupyterlab/apputils'];
    const answer = await showDialog({
      title: `Get the newer version of ${lab.title}?`,
      body: `Your folder is kept. It's renamed to “${lab.name} until”, followed by the time. Copy your answers from it.`,
      buttons: [Dialog.cancelButton(), Dialog.okButton({ label: 'Get it' })],
    });
    if (!answer.button.accept) return;
    const open = this.tracker.find(notebook => notebook.context.path === lab.path);
    if (open) {
      await open.context.save();
      await open.sessionContext.shutdown(); // the kernel's folder is about to be renamed
      open.dispose();
    }
    await this.get(lab, true);
  }

  /** Read the course from time to time while the home is visible or a mark may arrive. */
  watch(isHomeVisible) {
    setInterval(() => {
      const { course } = this.now;
      if (!course?.courses.length || document.visibilityState !== 'visible') return;
      if (isHomeVisible() || course.labs.some(isWaiting)) this.readCourse();
    }, MINUTE);
  }
}
