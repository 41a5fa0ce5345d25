"""Reads quizzes, `# %% quiz: NAME points=N`: questions with true and false statements and the reason for each.

The builder makes everything else from them: the text for students, the cell for the letters, checks, and (in
quiz_answers.py) the answers that prove these. A question is a line that begins with **its title**, then statements
`- [x] true` and `- [ ] false`, each followed by its reason in lines that begin with `> `, and then `Hint: ...`. An
introduction comes first.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from autograder.authoring.raw_cells import RawCell
from autograder.base.errors import SourceError
from autograder.model.quiz_statement import QuizStatement
from labkit.quiz_source import HALF

TITLE = re.compile(r"\*\*(?P<title>[^*]+)\*\*(?P<rest>.*)$")
STATEMENT = re.compile(r"- \[(?P<mark>[x ])\] (?P<text>.+)$")
REASON = re.compile(r"  > ?(?P<text>.*)$")
HINT = "Hint: "
LETTERS = "abcde"
FORM = "'**Title**', then '- [x] true' and '- [ ] false' with '  > why' under each, then 'Hint: ...'"
LETTERS_OF = 'the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}'
FORM_WEIGHT, QUESTION_WEIGHT = 1, 4  # of the checks
HALF_FROM = 4  # statements: of a shorter question, too many guesses misjudge only one
SCORING = (
    "Select *all* true statements, or write their letters in the cell below. You get full points for a question if you "
    "judge every statement correctly, and half if you get {one} wrong."
)


@dataclass
class Statement:
    """A true or false statement."""

    text: list[str]
    """The lines of its source."""
    true: bool
    reason: list[str] = field(default_factory=list)


@dataclass
class QuizQuestion:
    """A question with its statements."""

    title: str
    rest: list[str]
    """The text between the title and the statements."""
    line: int
    statements: list[Statement] = field(default_factory=list)
    hint: str = ""

    def pair_letters(self) -> list[tuple[str, Statement]]:
        return list(zip(LETTERS, self.statements, strict=False))

    @property
    def letters(self) -> str:
        """The letters of the true statements."""
        return "".join(letter for letter, statement in self.pair_letters() if statement.true)

    @property
    def allows_half(self) -> bool:
        """Whether it earns half of its points if one statement is misjudged."""
        return len(self.statements) >= HALF_FROM

    def has_inside_a_sentence(self, word: str) -> bool:
        """Whether a statement or a reason has this word, in this case, where no sentence begins."""
        texts = [" ".join(lines) for statement in self.statements for lines in (statement.text, statement.reason)]
        return any(re.search(rf"[\w`,] {re.escape(word)}\b", text) for text in texts)


@dataclass
class Quiz:
    """A quiz."""

    name: str
    introduction: str
    """In Markdown."""
    questions: list[QuizQuestion]

    @property
    def key(self) -> dict[str, str]:
        return {f"q{number}": question.letters for number, question in enumerate(self.questions, start=1)}


def read_quiz(raw: RawCell, name: str) -> Quiz:
    """Read a quiz. Raises SourceError if a question lacks statements, a true one or a hint, or a statement a reason."""
    quiz = Quiz(name, "", [])
    introduction: list[str] = []
    for number, line in zip(raw.line_numbers, raw.source.split("\n"), strict=True):
        if not line.startswith("#"):
            raise SourceError(raw.path, number, "a line of a quiz that isn't a comment", f"write {FORM}")
        text = line.removeprefix("#").removeprefix(" ").rstrip()
        last = quiz.questions[-1] if quiz.questions else None
        if title := TITLE.match(text):
            quiz.questions.append(QuizQuestion(title["title"], [title["rest"]], number))
        elif last is None:
            introduction.append(text)
        elif statement := STATEMENT.match(text):
            last.statements.append(Statement([statement["text"]], statement["mark"] == "x"))
        elif text.startswith(HINT):
            last.hint = text.removeprefix(HINT)
        elif last.hint:
            last.hint += f" {text}".rstrip()
        elif not last.statements:
            last.rest.append(text)
        elif reason := REASON.match(text):
            last.statements[-1].reason.append(reason["text"])
        elif text:
            last.statements[-1].text.append(text)
    quiz.introduction = "\n".join(introduction).strip("\n")
    _refuse_unfinished(quiz, raw)
    return quiz


def _refuse_unfinished(quiz: Quiz, raw: RawCell) -> None:
    if len(quiz.questions) < 2:
        raise SourceError(
            raw.path, raw.line, "a quiz needs two questions, since one right answer can be a guess", f"write {FORM}"
        )
    for question in quiz.questions:
        faults = {
            f"fewer than 2 or more than {len(LETTERS)} statements": not 2 <= len(question.statements) <= len(LETTERS),
            "no true statement": not question.letters,
            "a statement without its reason": not all(statement.reason for statement in question.statements),
            "no hint": not question.hint,
        }
        if fault := next((fault for fault, exists in faults.items() if exists), ""):
            raise SourceError(raw.path, question.line, f"{question.title!r} has {fault}", f"write {FORM}")


def render_prose(quiz: Quiz) -> str:
    """Render the text for students: the introduction, and the questions with a letter for each statement."""
    is_short = any(not question.allows_half for question in quiz.questions)
    one = "one of four or more" if is_short else "one"
    parts = [part for part in (quiz.introduction, SCORING.format(one=one)) if part]
    for number, question in enumerate(quiz.questions, start=1):
        title = f"**q{number}. {question.title}**{question.rest[0]}"
        statements = [f"- {letter}. " + "\n".join(statement.text) for letter, statement in question.pair_letters()]
        parts.append("\n".join([title, *question.rest[1:], *statements]))
    return "\n\n".join(parts)


def list_statements(quiz: Quiz) -> tuple[QuizStatement, ...]:
    """List all statements of all questions, each with its reason in one paragraph."""
    return tuple(
        QuizStatement(
            question=f"q{number}",
            letter=letter,
            text=" ".join(statement.text),
            true=statement.true,
            reason=" ".join(statement.reason),
        )
        for number, question in enumerate(quiz.questions, start=1)
        for letter, statement in question.pair_letters()
    )


def render_answer_cell(quiz: Quiz) -> str:
    """Render the cell for the letters. Its solution says why each statement is true or false.

    Where there are no check boxes, as in Colab, a student fills in the commented line. An empty answer instead of it
    would count as one.
    """
    reasons = []
    for number, question in enumerate(quiz.questions, start=1):
        for letter, statement in question.pair_letters():
            word = "true" if statement.true else "false"
            reasons.append(f"    # q{number} {letter}, {word}: {' '.join(statement.reason)}")
    return "\n".join(
        [
            f"def {quiz.name}() -> dict[str, str]:",
            f'    """For each of q1 to q{len(quiz.questions)}, {LETTERS_OF}."""',
            '    # Without check boxes, remove the "#" of the next line, and write the letters between the quotes:',
            f"    #return {json.dumps(dict.fromkeys(quiz.key, ''))}",
            "    ### BEGIN SOLUTION",
            *reasons,
            f"    return {json.dumps(quiz.key)}",
            "    ### END SOLUTION",
        ]
    )


def render_visible_checks(quiz: Quiz) -> str:
    return f"""with check(
    "form",
    "each of q1 to q{len(quiz.questions)} has letters between a and e",
    weight={FORM_WEIGHT},
    guard=True,
    hint="Which key or letter is missing?",
):
    assert_answered({quiz.name}(), questions={len(quiz.questions)})"""


def render_hidden_checks(quiz: Quiz) -> str:
    """Render one check per question, and before it one for half of its points, if it has enough statements."""
    checks = []
    for number, question in enumerate(quiz.questions, start=1):
        title, hint = _lower_title(question), json.dumps(question.hint, ensure_ascii=False)
        weight: float = QUESTION_WEIGHT
        arguments = f'{quiz.name}(), "q{number}", "{question.letters}"'
        if question.allows_half:
            weight = QUESTION_WEIGHT / 2
            label = json.dumps(f"q{number}: {title}{HALF}", ensure_ascii=False)
            checks.append(
                f'with check("q{number}_half", {label}, weight={weight:g}, hint={hint}):\n'
                f"    assert_letters({arguments}, misjudged=1)"
            )
        label = json.dumps(f"q{number}: {title}", ensure_ascii=False)
        checks.append(
            f'with check("q{number}", {label}, weight={weight:g}, hint={hint}):\n    assert_letters({arguments})'
        )
    return "\n".join(checks)


def _lower_title(question: QuizQuestion) -> str:
    """Return its title as it goes on after `q1:`, in lower case unless it begins with a name, as in "Adam's state"."""
    text = question.title.replace("`", "")
    first = re.split(r"[^\w.]", text, maxsplit=1)[0]  # only "Vector" of "Vector-Jacobian products"
    is_name = first[1:] != first[1:].lower() or question.has_inside_a_sentence(first)
    return text if is_name else text[:1].lower() + text[1:]
