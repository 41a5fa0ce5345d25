// The arrow keys in a lab. JupyterLab's own skip cells whose source is folded, such as imports and checks.

/**
 * Commands that select the next cell below or above, folded or not.
 * front: returns the notebook in front. actions: JupyterLab's NotebookActions.
 */
export function makeSelectionCommands(front, actions) {
  const select = async step => {
    const notebook = front().content;
    const { widgets } = notebook;
    let at = notebook.activeCellIndex + step;
    while (widgets[at]?.isHidden) at += step; // below a folded heading
    if (!widgets[at]) return;
    notebook.deselectAll();
    notebook.activeCellIndex = at;
    await notebook.scrollToItem(at, 'smart');
    await actions.focusActiveCell(notebook, { waitUntilReady: true, preventScroll: true });
  };
  return {
    'gradlab:select-below': { label: 'Select the cell below', caption: 'Select the next cell, folded or not', execute: () => select(1) },
    'gradlab:select-above': { label: 'Select the cell above', caption: 'Select the previous cell, folded or not', execute: () => select(-1) },
  };
}
