// JupyterLab's entry point: passes the modules that JupyterLab shares to plugin.js. Nothing is bundled or built.
(() => {
  const here = new URL('.', document.currentScript.src);
  let scope;

  // A shared module, in the version that JupyterLab has loaded, else in the newest.
  async function shared(name) {
    const versions = scope[name];
    if (!versions) throw new Error(`gradlab-course: this JupyterLab does not share ${name}. Use JupyterLab 4.2 to 4.6.`);
    const sorted = Object.keys(versions).sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
    const version = sorted.find(v => versions[v].loaded) ?? sorted[sorted.length - 1];
    return (await versions[version].get())();
  }

  async function extension() {
    const { NAMES, TREE, makePlugin } = await import(new URL('plugin.js', here));
    const modules = Object.fromEntries(await Promise.all(NAMES.map(async name => [name, await shared(name)])));
    const { PageConfig } = modules['@jupyterlab/coreutils'];
    if (PageConfig.getOption('notebookPage') === 'tree' && scope[TREE]) modules[TREE] = await shared(TREE);
    const plugin = makePlugin(modules);
    const activate = (...services) => {
      try {
        plugin.activate(...services);
      } catch (error) {
        reportFailure(error);
        throw error;
      }
      document.body.dataset.gradlab = 'loaded'; // hides labkit's line about a missing panel
    };
    return () => ({ __esModule: true, default: { ...plugin, activate } });
  }

  async function style() {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = new URL('../style/index.css', here).href;
    link.onerror = () => reportFailure(new Error('its style sheet is missing'));
    document.head.appendChild(link);
    return () => ({});
  }

  // JupyterLab reports an extension that fails only in the browser's console.
  function reportFailure(error) {
    const note = document.createElement('div');
    note.setAttribute('role', 'alert');
    note.style.cssText = 'position:fixed;inset:auto 0 0;z-index:20000;display:flex;gap:1em;align-items:center;'
      + 'padding:.75em 1em;background:#b42318;color:#fff;font:14px/1.45 sans-serif';
    const words = document.createElement('span');
    words.style.flex = '1';
    words.textContent = 'The Course panel and its buttons did not load. Reload this page. If you read this again, install the '
      + `course's package again and restart JupyterLab, or send your instructor this reason: ${error.message}`;
    const close = document.createElement('button');
    close.textContent = 'Close';
    close.onclick = () => note.remove();
    note.append(words, close);
    document.body.append(note);
  }

  function reported(promise) {
    promise.catch(reportFailure);
    return promise;
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB['gradlab-course'] = {
    init: sharedScope => { scope = sharedScope; },
    get: name => reported(name === './extension' ? extension() : style()),
  };
})();
