// Where the student was in a notebook before the page was reloaded.

import { Way } from './scrolling.js';

const isReload = () => performance.getEntriesByType('navigation')[0]?.type === 'reload';

/** Return to the cell that was active before a reload, and remember the active cell as long as the browser tab is open. */
export async function keepPlace(panel) {
  const { content, context } = panel;
  const key = `gradlab place ${context.path}`;
  const before = isReload() && sessionStorage.getItem(key);
  content.activeCellChanged.connect((_, cell) => cell && sessionStorage.setItem(key, cell.model.id));
  await panel.revealed;
  const index = content.widgets.findIndex(cell => cell.model.id === before);
  if (index < 1 || content.activeCellIndex > 0) return; // or the student has gone elsewhere meanwhile
  content.activeCellIndex = index;
  await new Way(content, content.widgets[index]).arrive();
}
