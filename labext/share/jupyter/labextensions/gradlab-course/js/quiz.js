// Quizzes in the rendered text of their cells: one question at a time, with check boxes, and why once it's compared.
// A quiz's letters are written into the exercise's cell, as if typed: only the notebook holds the answer.

import { captureKeys, wrapContents } from './controls.js';
import { button, element, formatCount, formatPoints } from './elements.js';
import { keepFocus, scrollIntoSight } from './focus.js';
import { COMPARED, factsOf, indexOf } from './notebook.js';
import { readLetters, writeLetters } from './quiz_letters.js';

const RULE = 'Compare says which statements are true, and why. It also records your first try. You can change your letters '
  + 'afterwards: Mark my work counts them as they are then.';

const LOST = /^(q\d+): /; // how the label of a hidden check names its question

const places = new WeakMap(); // the question that each quiz shows, once the student has chosen one
const keys = new WeakMap(); // of each quiz, the statements of the questions that were compared here

/**
 * Add controls to all rendered quizzes of this notebook that have none yet.
 * work: the lab's, as far as it's known. readKey: (exercise, question) -> {statements: [{letter, true, reason}]} or {error};
 * null where no grader is.
 */
export function decorateQuizzes(panel, work, readKey) {
  for (const cell of panel.content.widgets) {
    const { kind, exercise } = factsOf(cell);
    if (kind !== 'prose' || !exercise) continue;
    const shown = cell.node.querySelector('.jp-RenderedMarkdown');
    if (!shown?.childElementCount) continue;
    const answer = panel.content.widgets[indexOf(panel, 'exercise', exercise)];
    if (!answer) continue;
    if (!shown.querySelector('.gradlab-choices')) new Quiz(panel.context, cell, answer, shown);
    shown.quiz.attach(work.find(each => each.name === exercise) ?? { name: exercise, state: '', hidden: [] }, readKey);
  }
}

/** Show the first question of this quiz that is unanswered or lost points. */
export function showOpenQuestion(panel, exercise) {
  const cell = panel.content.widgets[indexOf(panel, 'prose', exercise)];
  if (!cell) return;
  places.delete(cell.model);
  cell.node.querySelector('.jp-RenderedMarkdown')?.quiz?.refresh();
}

function ignoreRepeatedClick(event) {
  if (event.detail < 2) return;
  event.preventDefault();
  event.stopPropagation();
}

class Quiz {
  /** context: the notebook's. cell: the questions. answer: the exercise's cell. shown: the rendered questions. */
  constructor(context, cell, answer, shown) {
    Object.assign(this, { context, cell, answer, shown, shared: answer.model.sharedModel, questions: groupQuestions(shown) });
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

  /** Take what's known of this quiz, which may be the same as before. */
  attach(work, readKey) {
    const known = JSON.stringify([work, Boolean(readKey)]);
    const hadLost = Boolean(this.work && this.lost.length);
    this.work = work;
    this.readKey = readKey;
    if (this.known === known) return;
    this.known = known;
    if (!hadLost && this.lost.length) places.delete(this.cell.model); // a mark has just named them
    this.refresh();
  }

  get letters() {
    return readLetters(this.shared.getSource());
  }

  get place() {
    return Math.min(places.get(this.cell.model) ?? this.firstOpen, this.questions.length - 1);
  }

  /** The first question that is unanswered or lost points; without any, the first of all. */
  get firstOpen() {
    const { letters, lost } = this;
    return Math.max(0, this.questions.findIndex(({ name }) => (letters && !letters[name]) || lost.includes(name)));
  }

  /** The questions that lost points when the present letters were marked. */
  get lost() {
    const failed = this.work.state === 'marked' ? this.work.hidden.filter(finding => !finding.passed) : [];
    return [...new Set(failed.map(({ label }) => LOST.exec(label)?.[1]).filter(Boolean))];
  }

  choose(question, letter, isChosen) {
    places.set(this.cell.model, this.questions.indexOf(question)); // an answered question is still shown
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
    const hadFocus = this.questions.some(({ section }, index) => index !== place && section.contains(document.activeElement));
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
    const canCompare = this.readKey && letters?.[name] && !this.keys[name];
    const first = Object.values(compared);
    const rule = first.length ? `First try: ${first.filter(Boolean).length} of ${first.length} compared questions right.` : canCompare ? RULE : '';
    if (this.readKey && letters && rule) parts.push(element('p', rule, { class: 'gradlab-small gradlab-rule' }));
    if (canCompare) parts.push(button(name in compared ? 'Show why' : 'Compare', () => this.compare(this.questions[place]), { 'data-key': 'compare' }));
    parts.push(...this.describeMark());
    const hadCompare = document.activeElement?.dataset.key === 'compare' && this.pager.contains(document.activeElement);
    keepFocus(this.pager, () => this.pager.replaceChildren(...parts));
    if (hadCompare && !canCompare && !next.disabled) next.focus();
    this.note.textContent = letters === null ? 'You changed the form of the cell below, so change your letters there.' : '';
    if (letters) this.explain(this.questions[place]);
    if (hadFocus) this.questions[place].boxes[0]?.box.focus();
  }

  /** What the mark gave, with a way to each question that lost points. */
  describeMark() {
    const { work: { earned, points, state }, lost } = this;
    if (state !== 'marked') return [];
    const line = element('p', `Marked: ${formatPoints(earned)} of ${formatCount(points, 'point')}. `, { class: 'gradlab-small gradlab-rule' });
    if (lost.length) line.append('Points lost: ');
    lost.forEach((name, index) => {
      const go = button(name, () => this.go(this.questions.findIndex(each => each.name === name)), { 'aria-label': `Question ${name}, which lost points` });
      line.append(go, ' ');
    });
    return [line];
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
    const { statements, error } = await this.readKey(this.work.name, question.name);
    if (error) {
      this.note.textContent = error;
      return;
    }
    if (!(question.name in this.compared)) {
      const isRight = statements.every(statement => chosen.includes(statement.letter) === statement.true);
      this.answer.model.setMetadata(COMPARED, { ...this.compared, [question.name]: isRight });
      // Once the reasons are shown, a reload must not undo the first try. JupyterLab reports a failure.
      await this.context.save().catch(() => {});
    }
    this.keys[question.name] = statements;
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
