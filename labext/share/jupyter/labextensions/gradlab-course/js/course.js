// Requests to the server extension through JupyterLab's connection, which adds the token and the XSRF cookie.

/** The error of a request that got no answer: no one knows whether the server did what it asked for. */
export class Unanswered extends Error {
  constructor() {
    super("The server doesn't answer.");
  }
}

export class Course {
  /** announceChange: called after a request that changes what other tabs show. */
  constructor({ ServerConnection }, { URLExt }, announceChange) {
    this.connection = ServerConnection;
    this.settings = ServerConnection.makeSettings();
    this.baseUrl = URLExt.join(this.settings.baseUrl, 'gradlab/');
    this.request = async (path, body) => {
      const url = this.baseUrl + path;
      const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
      const response = await ServerConnection.makeRequest(url, init, this.settings).catch(() => {
        throw new Unanswered();
      });
      const text = await response.text();
      if (!response.ok) throw new Error(parseReason(text) || `${response.status} ${response.statusText}`);
      return JSON.parse(text);
    };
    this.change = async (path, body) => {
      const reply = await this.request(path, body);
      announceChange();
      return reply;
    };
    this.pageOf = path => URLExt.join(this.settings.baseUrl, 'gradlab', 'page', path);
  }

  /** Whether the notebook at this path has a feedback page. */
  async hasPage(path) {
    return (await this.connection.makeRequest(this.pageOf(path), {}, this.settings)).ok;
  }

  /** Read {title, about, pages, labs, courses, problem}: all labs, and the courses of a class that offers more. */
  read() {
    return this.request('course');
  }

  /** Get a lab from the class's exchange: {path}. renew: whether to get the present version, and keep the old one. */
  getLab(lab, renew = false) {
    return this.change(addressOfLab(lab), { renew });
  }

  /** The address that gets a lab and opens it. */
  addressOf(lab) {
    return this.baseUrl + addressOfLab(lab);
  }

  /** Read the progress in one lab, as it is in the open notebook at this path. */
  state(path, notebook) {
    return this.request('state', { path, notebook });
  }

  /** Read the step that the mark of this notebook is at, see ProgressHandler. */
  progress(path) {
    return this.request(`progress?path=${encodeURIComponent(path)}`);
  }

  /** End the mark of this notebook, or its wait for one. */
  cancel(path) {
    return this.request('cancel', { path });
  }

  /** Read the worked solution of an exercise, or the model answer to a question: {solution}. */
  solution(path, exercise) {
    return this.request('solution', { path, exercise });
  }

  /** Read which statements of a quiz's question are true, and why: {statements: [{letter, true, reason}]}. */
  quizKey(path, exercise, question) {
    return this.request('quiz_key', { path, exercise, question });
  }

  /** Save the points that the student gives to a written answer: {points}. */
  saveOwnMark(path, exercise, points) {
    return this.change('own_mark', { path, exercise, points });
  }

  /** Have a saved notebook marked: {words, page}. In a class, answer {ask} first; once agreed, submit it. */
  mark(path, agreed = false) {
    return this.change('mark', { path, agreed });
  }
}

const addressOfLab = lab => `labs/${encodeURIComponent(lab.name)}?course=${encodeURIComponent(lab.course)}`;

function parseReason(text) {
  try {
    return JSON.parse(text).message ?? '';
  } catch {
    return '';
  }
}
