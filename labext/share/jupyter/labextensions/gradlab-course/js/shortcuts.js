// The keys of the course's commands, as people read them and as screen readers announce them.

const ARIA = { Ctrl: 'Control', Cmd: 'Meta' }; // its names of the keys that it calls otherwise

/** The keys of a command as people write them; empty if it has none. */
export function findKeys(commands, id) {
  const binding = commands.keyBindings.find(each => each.command === id);
  return binding ? binding.keys.join(' ').replaceAll(' ', '+') : '';
}

/** The attributes of a button that does what this command does. title: the button's own, to which the keys are added. */
export function labelKeys(commands, id, title = '') {
  const keys = findKeys(commands, id);
  const attributes = title ? { title: keys ? `${title} (${keys})` : title } : {};
  return keys ? { ...attributes, 'aria-keyshortcuts': keys.replace(/Ctrl|Cmd/g, name => ARIA[name]) } : attributes;
}

/** Add the keys to the course's buttons in a toolbar, which JupyterLab draws later. Their titles have them already. */
export function labelToolbar(toolbar, commands) {
  const label = () => {
    for (const button of toolbar.querySelectorAll('[data-command^="gradlab:"]:not([aria-keyshortcuts])')) {
      for (const [name, value] of Object.entries(labelKeys(commands, button.dataset.command))) button.setAttribute(name, value);
    }
  };
  new MutationObserver(label).observe(toolbar, { childList: true, subtree: true });
  label();
}
