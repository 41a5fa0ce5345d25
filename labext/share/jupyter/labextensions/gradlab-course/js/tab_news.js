// News between the browser tabs of one Jupyter server.

const QUIET = 150; // milliseconds without another reason before the course is read again

export class TabNews {
  constructor(baseUrl) {
    this.channel = new BroadcastChannel(`gradlab ${baseUrl}`); // a hub's servers have the same origin
  }

  /** Send news of this kind to the other tabs. */
  announce(kind, facts = {}) {
    this.channel.postMessage({ ...facts, kind });
  }

  /** Call `action` with the facts of each news of this kind. */
  listen(kind, action) {
    this.channel.addEventListener('message', ({ data }) => data.kind === kind && action(data));
  }

  /** Call `refresh` when this tab comes to the front or, while it's visible, when something was saved or marked in another. */
  watchWork(refresh) {
    let timer = 0;
    const look = () => {
      if (document.visibilityState !== 'visible') return;
      clearTimeout(timer);
      timer = setTimeout(refresh, QUIET);
    };
    window.addEventListener('focus', look);
    document.addEventListener('visibilitychange', look);
    this.listen('changed', look);
  }
}
