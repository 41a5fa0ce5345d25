// The pages of a teacher on a hub, in browser tabs of their own: a hub allows no page inside another one.

const CATEGORY = 'Teaching'; // of the launcher's cards
// nbgrader's menu shows a command by its id, even if another plugin adds it.
const PAGES = [
  { id: 'gradlab:open-desk', label: 'Desk', caption: 'Read and mark written answers', path: 'gradlab/desk/', icon: 'editIcon' },
  { id: 'nbgrader:open-formgrader', label: 'Formgrader', caption: 'Release labs, and manage submissions', path: 'formgrader', icon: 'listIcon' },
];

/** Add them to the launcher and the menu, if this server is a teacher's. */
export function addTeachersPages(app, modules, palette, launcher) {
  const { PageConfig, URLExt } = modules['@jupyterlab/coreutils'];
  if (PageConfig.getOption('gradlabTeacher') !== 'true') return;
  PAGES.forEach(({ id, label, caption, path, icon }, rank) => {
    const address = URLExt.join(PageConfig.getBaseUrl(), path);
    app.commands.addCommand(id, { label, caption, icon: modules['@jupyterlab/ui-components'][icon], execute: () => window.open(address) });
    if (id.startsWith('gradlab:')) palette?.addItem({ command: id, category: 'Course' });
    launcher?.add({ command: id, category: CATEGORY, rank });
  });
}
