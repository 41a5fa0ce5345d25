// Notebook 7's browser tabs: each holds one document, whereas JupyterLab's main area holds them all.

const PLACE = 'exercise'; // parameters of a tab's address
const AGAIN = 'again';

export class BrowserTabs {
  /** areUsed: whether this is Notebook 7. */
  constructor({ PageConfig, URLExt }) {
    this.areUsed = Boolean(PageConfig.getOption('notebookPage'));
    this.addressOf = path => URLExt.join(PageConfig.getBaseUrl(), 'notebooks', URLExt.encodeParts(path));
  }

  /** Open a lab in its own tab, which goes to `name` if it isn't empty. isAgain: whether that's a prediction to make again. */
  openLab(path, name, isAgain) {
    const wanted = new URLSearchParams(name ? { [PLACE]: name } : {});
    if (isAgain) wanted.set(AGAIN, '1');
    window.open(`${this.addressOf(path)}?${wanted}`);
  }

  /** Read what this tab was opened for: {name, isAgain}. Only the first call returns it, the others null. */
  takeWanted() {
    const address = new URL(window.location.href);
    const name = this.areUsed && address.searchParams.get(PLACE);
    if (!name) return null;
    const isAgain = address.searchParams.has(AGAIN);
    [PLACE, AGAIN].forEach(key => address.searchParams.delete(key));
    window.history.replaceState(null, '', address);
    return { name, isAgain };
  }
}
