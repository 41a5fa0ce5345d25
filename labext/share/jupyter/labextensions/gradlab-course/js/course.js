// What the server knows of the course, through JupyterLab's own connection, which brings token and XSRF.

export class Course {
  constructor({ ServerConnection }, { URLExt }) {
    this.settings = ServerConnection.makeSettings();
    this.request = async (path, body) => {
      const url = URLExt.join(this.settings.baseUrl, 'gradlab', path);
      const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
      const response = await ServerConnection.makeRequest(url, init, this.settings);
      const text = await response.text();
      if (!response.ok) throw new Error(reasonIn(text) || `${response.status} ${response.statusText}`);
      return JSON.parse(text);
    };
    this.pageOf = path => URLExt.join(this.settings.baseUrl, 'gradlab', 'page', path);
  }

  /** {title, labs}: every lab of the course, as labkit.progress reads them. */
  read() {
    return this.request('course');
  }

  /** One lab as it stands in an open notebook. path: of the notebook. */
  state(path, notebook) {
    return this.request('state', { path, notebook });
  }

  /** Have a saved notebook marked: {words, page}. In a class it is handed in, once that is agreed to: {ask} before. */
  mark(path, agreed = false) {
    return this.request('mark', { path, agreed });
  }
}

function reasonIn(text) {
  try {
    return JSON.parse(text).message ?? '';
  } catch {
    return '';
  }
}
