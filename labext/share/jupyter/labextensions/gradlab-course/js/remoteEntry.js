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
    const { NAMES, makePlugin } = await import(new URL('plugin.js', here));
    const modules = Object.fromEntries(await Promise.all(NAMES.map(async name => [name, await shared(name)])));
    const plugin = makePlugin(modules);
    return () => ({ __esModule: true, default: plugin });
  }

  async function style() {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = new URL('../style/index.css', here).href;
    document.head.appendChild(link);
    return () => ({});
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB['gradlab-course'] = {
    init: sharedScope => { scope = sharedScope; },
    get: name => (name === './extension' ? extension() : style()),
  };
})();
