// Notebook 7's browser tabs: each holds one document, whereas JupyterLab's main area holds them all.

import { TabNews } from './tab_news.js';

const PLACE = 'exercise'; // parameters of a tab's address
const AGAIN = 'again';
const TWICE = "This notebook is also open in another tab. Close one of the two: if you write in both, one tab's answers are lost.";

export class BrowserTabs {
  /** areUsed: whether this is Notebook 7. */
  constructor({ PageConfig, URLExt }) {
    const baseUrl = PageConfig.getBaseUrl();
    this.areUsed = Boolean(PageConfig.getOption('notebookPage'));
    this.addressOf = path => new URL(URLExt.join(baseUrl, 'notebooks', URLExt.encodeParts(path)), window.location.href).href;
    this.homeAddress = new URL(URLExt.join(baseUrl, 'tree'), window.location.href).href;
    this.pages = new Map(); // the tabs of pages that were opened from this tab, by address
    this.news = new TabNews(baseUrl);
  }

  /**
   * Go to the tab that shows this notebook, or open one, and there to `name` if it isn't empty.
   * isAgain: whether that's a prediction to make again.
   */
  openLab(path, name, isAgain) {
    const address = this.addressOf(path);
    const tab = window.open('', address); // an empty one if none has this name. With an address, it would load again.
    if (!tab) return; // blocked
    if (showsPage(tab, address)) {
      this.news.announce('go', { path, name, isAgain });
    } else {
      const wanted = new URLSearchParams(name ? { [PLACE]: name } : {});
      if (isAgain) wanted.set(AGAIN, '1');
      tab.location.replace(`${address}?${wanted}`);
    }
    tab.focus();
  }

  /** Load a page that isn't a notebook into its own tab. */
  openPage(address) {
    const page = window.open(address, address);
    this.pages.set(address, page);
    page?.focus();
  }

  /** Load a page again that was opened from this tab, if it's still open. */
  renewPage(address) {
    const page = this.pages.get(address);
    if (page && !page.closed) page.location.replace(address);
  }

  /** Let other tabs find this one, which has the course's home. */
  keepHome() {
    window.name = this.homeAddress;
  }

  /** Go to the tab with the course's home, or open it. */
  goHome() {
    const tab = window.open('', this.homeAddress);
    if (!tab) return; // blocked
    if (!showsPage(tab, this.homeAddress)) tab.location.replace(this.homeAddress);
    tab.focus();
  }

  /**
   * Let other tabs find this one by its notebook, and go where this tab was opened for.
   * goTo: goes to a place of the notebook, {name, isAgain}. warn: shows a message.
   */
  async keepNotebook(panel, goTo, warn) {
    if (!this.areUsed) return;
    const { context } = panel;
    const setName = () => {
      window.name = this.addressOf(context.path);
    };
    setName();
    context.pathChanged.connect(setName);
    const listen = (kind, action) => this.news.listen(kind, facts => facts.path === context.path && action(facts));
    listen('go', goTo);
    listen('opened', ({ path }) => this.news.announce('open here', { path }));
    listen('open here', () => warn(TWICE));
    this.news.announce('opened', { path: context.path });
    const wanted = takeWanted();
    if (wanted) await goTo(wanted);
  }
}

/** Take what this tab was opened for out of its address: {name, isAgain}; null if it names nothing. */
function takeWanted() {
  const address = new URL(window.location.href);
  const name = address.searchParams.get(PLACE);
  if (!name) return null;
  const isAgain = address.searchParams.has(AGAIN);
  [PLACE, AGAIN].forEach(key => address.searchParams.delete(key));
  window.history.replaceState(null, '', address);
  return { name, isAgain };
}

/** Whether a tab shows the page at this address. One that has left this server can't be read. */
function showsPage(tab, address) {
  try {
    return decodeURI(tab.location.pathname) === decodeURI(new URL(address).pathname);
  } catch {
    return false;
  }
}
