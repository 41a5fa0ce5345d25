// Quizzes in the rendered text of their cells: one question at a time, with check boxes, and why once it's compared.
// A quiz's letters are written into the exercise's cell, as if typed: only the notebook holds the answer.

import { captureKeys, wrapContents } from './controls.js';
import { button, element } from './elements.js';
import { keepFocus, scrollIntoSight } from './focus.js';
import { COMPARED, factsOf, indexOf } from './notebook.js';

const RETURN = /^ {4}return (\{.*\}) *$/m;
const STUB = /^ {4}# YOUR CODE HERE\n {4}raise NotImplementedError\(\) *$/m;
const RULE = 'Compare says which statements are true, and why. It also records your first try. You can change your letters '
  + 'afterwards: Mark my work counts them as they are then.';

const places = new WeakMap(); // the question that each quiz shows
const keys = new WeakMap(); // of each quiz, the statements of the questions that were compared here

/**
 * Add controls to all rendered quizzes of this notebook that have none yet.
 * readKey: (exercise, question) -> {statements: [{letter, true, reason}]} or {error}; null where no grader is.
 */
export function decorateQuizzes(panel, readKey) {
  for (const cell of panel.content.widgets) {
    const { kind, exercise } = factsOf(cell);
    if (kind !== 'prose' || !exercise) continue;
    const shown = cell.node.querySelector('.jp-RenderedMarkdown');
    if (!shown?.childElementCount) continue;
    const answer = panel.content.widgets[indexOf(panel, 'exercise', exercise)];
    const isNew = !shown.querySelector('.gradlab-choices');
    if (answer && (isNew || shown.dataset.comparable !== String(Boolean(readKey)))) {
      if (isNew) new Quiz(cell, answer, shown).attach(exercise, readKey);
      else shown.quiz.attach(exercise, readKey);
    }
  }
}

/** Read {q1: 'ac', ...} from the exercise's cell; null if the student wrote it in another form. */
export function readLetters(source) {
  const match = RETURN.exec(source);
  if (!match) return STUB.test(source) ? {} : null;
  try {
    return JSON.parse(match[1]);
  } catch {
    return null;
  }
}

/** Write these letters into the cell's source. */
export function writeLetters(source, letters) {
  const line = () => `    return ${JSON.stringify(letters).replaceAll('":"', '": "').replaceAll('","', '", "')}`;
  return source.replace(RETURN.test(source) ? RETURN : STUB, line);
}

function ignoreRepeatedClick(event) {
  if (event.detail < 2) return;
  event.preventDefault();
  event.stopPropagation();
}

class Quiz {
  /** cell: the questions. answer: the exercise's cell. shown: the rendered questions. */
  constructor(cell, answer, shown) {
    Object.assign(this, { cell, answer, shown, shared: answer.model.sharedModel, questions: groupQuestions(shown) });
    shown.quiz = this;
    this.note = element('p', '', { class: 'gradlab gradlab-message', role: 'status' });
    this.pager = element('div', '', { class: 'gradlab gradlab-buttons gradlab-pager' });
    shown.append(this.pager, this.note);
    // The second click of two quick ones would land on what the first has brought there, or open the text for editing.
    shown.addEventListener('click', ignoreRepeatedClick, true);
    shown.addEventListener('dblclick', event => event.stopPropagation());
    for (const question of this.questions) {
      for (const { box, letter } of question.boxes) box.onchange = () => this.choose(question, letter, box.checked);
    }
    answer.model.contentChanged.connect(() => this.refresh());
  }

  attach(exercise, readKey) {
    this.exercise = exercise;
    this.readKey = readKey;
    this.shown.dataset.comparable = String(Boolean(readKey));
    this.refresh();
  }

  get letters() {
    return readLetters(this.shared.getSource());
  }

  get place() {
    return Math.min(places.get(this.cell.model) ?? 0, this.questions.length - 1);
  }

  choose(question, letter, isChosen) {
    const before = this.letters ?? {};
    const letters = Object.fromEntries(this.questions.map(({ name }) => [name, before[name] ?? '']));
    const chosen = new Set(letters[question.name]);
    if (isChosen) chosen.add(letter);
    else chosen.delete(letter);
    letters[question.name] = [...chosen].sort().join('');
    this.shared.setSource(writeLetters(this.shared.getSource(), letters));
  }

  go(place) {
    places.set(this.cell.model, place);
    this.refresh();
    this.questions[this.place].boxes[0]?.box.focus();
  }

  /** Show the question in turn, with its boxes as the cell has them. */
  refresh() {
    const { letters, place, compared } = this;
    this.questions.forEach((question, index) => {
      question.section.hidden = index !== place;
      for (const { box, letter } of question.boxes) {
        box.disabled = letters === null;
        box.checked = (letters?.[question.name] ?? '').includes(letter);
      }
    });
    const { name } = this.questions[place];
    const back = button('Back', () => this.go(place - 1), { 'aria-label': 'Previous question' });
    const next = button('Next', () => this.go(place + 1), { 'aria-label': 'Next question' });
    back.disabled = place === 0;
    next.disabled = place === this.questions.length - 1;
    const parts = [back, element('span', `Question ${place + 1} of ${this.questions.length}`), next];
    const first = Object.values(compared);
    const rule = first.length ? `First try: ${first.filter(Boolean).length} of ${first.length} compared questions right.` : RULE;
    if (this.readKey && letters) parts.push(element('p', rule, { class: 'gradlab-small gradlab-rule' }));
    if (this.readKey && letters?.[name] && !this.keys[name]) {
      parts.push(button(name in compared ? 'Show why' : 'Compare', () => this.compare(this.questions[place]), { 'data-key': 'compare' }));
    }
    keepFocus(this.pager, () => this.pager.replaceChildren(...parts));
    this.note.textContent = letters === null ? 'You changed the form of the cell below, so change your letters there.' : '';
    if (letters) this.explain(this.questions[place]);
  }

  get compared() {
    return this.answer.model.getMetadata(COMPARED) ?? {};
  }

  /** The statements of each question whose key was read. */
  get keys() {
    if (!keys.has(this.cell.model)) keys.set(this.cell.model, {});
    return keys.get(this.cell.model);
  }

  /** Read which statements are true, and why. The first time, record whether the letters were right. */
  async compare(question) {
    const chosen = this.letters[question.name];
    const { statements, error } = await this.readKey(this.exercise, question.name);
    if (error) {
      this.note.textContent = error;
      return;
    }
    this.keys[question.name] = statements;
    if (!(question.name in this.compared)) {
      const isRight = statements.every(statement => chosen.includes(statement.letter) === statement.true);
      this.answer.model.setMetadata(COMPARED, { ...this.compared, [question.name]: isRight });
    }
    this.refresh();
    scrollIntoSight(this.note, question.section.querySelector('.gradlab-why'));
  }

  /** Show below each statement of a compared question whether it's true, and whether the box says so. */
  explain(question) {
    const statements = this.keys[question.name];
    if (!statements) return;
    let wrong = 0;
    for (const { box, letter, label } of question.boxes) {
      const statement = statements.find(each => each.letter === letter);
      const isRight = box.checked === statement.true;
      wrong += !isRight;
      label.parentElement.querySelector('.gradlab-why')?.remove();
      const why = element('div', '', { class: `gradlab-why ${isRight ? 'gradlab-right' : 'gradlab-wrong'}` });
      why.append(element('strong', `${isRight ? '✓ Right' : '✗ Not quite'}: this statement is ${statement.true}. `));
      const reason = element('span');
      reason.innerHTML = statement.reason; // the course's own text, rendered and cleaned by the grader
      why.append(reason);
      label.after(why);
    }
    const count = question.boxes.length;
    this.note.textContent = wrong ? `✗ You misjudged ${wrong} of ${count} statements.` : `✓ You judged all ${count} statements correctly.`;
  }
}

/** Put each question's elements into a section, and a check box before each statement. */
function groupQuestions(shown) {
  const questions = [];
  for (const node of [...shown.children]) {
    const title = /^(q\d+)\./.exec(node.querySelector('strong')?.textContent ?? '');
    if (title && node.tagName !== 'UL') {
      const section = element('section', '', { class: 'gradlab-question', 'aria-label': `Question ${title[1]}` });
      node.before(section);
      questions.push({ name: title[1], section, boxes: [] });
    }
    const question = questions.at(-1);
    if (!question) continue;
    question.section.append(node);
    if (node.tagName !== 'UL') continue;
    node.classList.add('gradlab', 'gradlab-choices');
    for (const item of node.children) {
      const letter = /^\s*([a-e])\. /.exec(item.textContent)?.[1];
      if (letter) question.boxes.push(addCheckbox(item, `${question.name} ${letter}`, letter));
    }
  }
  return questions;
}

function addCheckbox(item, name, letter) {
  const label = element('label');
  const box = element('input', '', { type: 'checkbox', 'aria-label': `${name}: ${item.textContent.trim().slice(3)}` });
  label.append(box, wrapContents(item));
  item.append(label);
  captureKeys(box);
  return { box, label, letter };
}
