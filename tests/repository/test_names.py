"""One word for one thing, and functions that say what they do: their names begin with a verb that they keep."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import LONGEST, ROOT

NAMED_BY_PYTHON = {"__init__", "__main__"}
BENCHMARKS = {"own_course"}  # modules of benchmarks/ with the name of their command
# First words that aren't verbs: participles by their ending, and these.
IRREGULAR = set(
    """seen shown written drawn taken given known found held left lost made meant sent hidden came told kept
    anew alone some why where when how what which who whose each own other another again by of in on at as with without
    within beside after before behind below above only not no nothing nobody everything all both same such""".split()
)
# First words of functions. A new verb is added here; is there one for the same thing already?
VERBS = set(
    """
    add adjust admit adopt advance align allocate allow answer append apply ask assert assign attach authenticate backward become begin
    bind blame block branch build call capture carry cast catch change charge check choose claim clean
    clear close collect color compare compile compose compute configure confirm connect convert copy count
    create decide decode define delete describe detach detect die digest disguise dissolve do double drain draw drop duplicate
    emphasize empty enable encode end enlarge ensure enter escape estimate evaluate examine excuse exit expect explain
    explore export extend extract fetch fill filter find finish fit flush fold follow forbid forget fork format
    forward free  gather generate get grade grant group guard hang hide hold identify import initialize
    insert inspect install iter join judge keep kill label launch leave lie limit link list load locate lock log
    lower make map mark mask match measure merge mount move name normalize note number open operate order pack
    pair parse patch pause ping place plan play pluralize poll post postpone prepare prepend preprocess print
    probe protect prove provide publish push put query queue quote raise rate read reap rebuild receive record
    reduce refuse register regrade release remember remove rename render renew repair repeat replace replay reply
    report request require reserve reset resolve restart restore restrict retain retry return reuse revoke
    rotate round ruin run sanitize save say schedule score search seed select send separate serve set settle shift
    share shorten show shrink silence skip slugify snapshot sort spend split spoil start step stop store strip stub
    submit subtract suggest summarize supervise swap sweep tag take thin trace transfer truncate trust try uncomment
    unmask unpack unshare unsqueeze update upgrade use view wait walk watch work wrap write zero zip
    """.split()
)
QUESTIONS = {"is", "has", "can", "was"}
# What functions with these first words return, as a pattern of the annotation.
TEXT = r"(str|Markup|(list|tuple|Sequence|Iterator)\[str(, str|, \.\.\.)*\])( \| None)?"
PROMISES = {
    "find": r"(?!None$).*",
    "get": r"(?!None$).*",
    "list": r"(?!(str|int|bool|None)\b).*",
    "describe": TEXT,
    "format": TEXT,
    "count": r"int( \| None)?|dict\[\w+, int\]",
    **dict.fromkeys(QUESTIONS, r"bool|TypeGuard\[.*\]"),
}
# Methods of Tornado's handlers and of IPython's shell.
NAMED_BY_OTHERS = {"get", "_format_exception_for_storage"}
CONVERSIONS = {"to", "from", "as"}
# Names that others fix: of Python, pytest, Jupyter, nbgrader, Tornado and the kernel; of commands; of what labs import from labkit; and
# methods without a verb that look up one thing by its name, as properties do.
FIXED = set(
    """main fileno writable tolist msg syscall prctl runtest reportinfo showtraceback init_signal
    init_src init_dest data_received on_finish on_connection_close redirect_request
    new desk roster doctor demo feedback similar status
    unchanged domain device hint nbytes progress on_device live_bytes captured derivatives operations ranks saved saved_bytes state_of
    gradients_of trained on_second_device
    cell exercise lab points""".split()
)
# Functions of one word that other modules import without their module's name: of commands and nbgrader_config.py, known
# from other libraries, of sockets, system calls, the acts of a sandboxed run in their order, and probes that labs name.
SINGLE = set(
    """main run configure
    digest pluralize truncate
    send receive
    call kill mount prctl syscall unshare wait
    prepare enter launch
    captured derivatives operations probe ranks replay saved trained""".split()
)


def iter_modules() -> Iterator[Path]:
    for package in ("autograder", "labext", "labkit", "benchmarks"):
        yield from (path for path in (ROOT / package).rglob("*.py") if "light_lab" not in path.parts)


def test_a_module_is_named_by_a_noun_not_by_a_clause() -> None:
    names = {path.stem for path in iter_modules()} - NAMED_BY_PYTHON - BENCHMARKS
    clauses = [name for name in names if IRREGULAR.intersection(words := name.split("_")) or words[-1].endswith("ed")]
    assert not sorted(clauses)


def test_the_files_that_run_first_exist() -> None:
    assert not [name for name in LONGEST if not (ROOT / "tests" / f"{name}.py").exists()]


def test_no_two_classes_have_one_name() -> None:
    paths_by_name = defaultdict(list)
    for path in iter_modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                paths_by_name[node.name].append(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in paths_by_name.items() if len(paths) > 1}


def test_functions_begin_with_a_verb() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in iter_modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_property(node)
        if not _begins_well(node.name)
    ]
    assert not wrong


def test_functions_return_what_their_verbs_promise() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {node.name} -> {ast.unparse(node.returns)}"
        for path in iter_modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.returns
        and node.name not in NAMED_BY_OTHERS
        if not _keeps_promise(node.name, ast.unparse(node.returns))
    ]
    assert not wrong


def test_functions_that_others_import_say_what_they_act_on() -> None:
    trees = {".".join(path.relative_to(ROOT).with_suffix("").parts): _parse(path) for path in iter_modules()}
    trees = {name.removesuffix(".__init__"): tree for name, tree in trees.items()}
    functions = {
        (module, node.name) for module, tree in trees.items() for node in tree.body if isinstance(node, ast.FunctionDef)
    }
    wrong = {
        f"{node.module}: {alias.name}"
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module, alias.name) in functions and "_" not in alias.name and alias.name not in SINGLE
    }
    assert not sorted(wrong)


def test_documented_arguments_exist() -> None:
    """A renamed parameter keeps no old name in `Args:`."""
    wrong = []
    for path in iter_modules():
        for node in ast.walk(_parse(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                unknown = _list_documented(node) - _list_parameters(node)
                wrong += [f"{path.relative_to(ROOT)}:{node.lineno} {name}" for name in sorted(unknown)]
    assert not wrong


def _list_documented(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> set[str]:
    section = re.search(r"^Args:\n((?: {4}.*\n?|\n)+)", ast.get_docstring(node) or "", re.MULTILINE)
    return set(re.findall(r"^ {4}(\w+):", section[1], re.MULTILINE)) if section else set()


def _list_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> set[str]:
    """List the names of a function's parameters, or of a class's constructor."""
    functions = [node, *node.body] if isinstance(node, ast.ClassDef) else [node]
    found = [
        each.args
        for each in functions
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and (each is node or each.name == "__init__")
    ]
    return {name.arg for args in found for name in ast.walk(args) if isinstance(name, ast.arg)}


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _keeps_promise(name: str, returned: str) -> bool:
    pattern = PROMISES.get(name.strip("_").split("_")[0])
    return pattern is None or re.fullmatch(pattern, returned) is not None


def _begins_well(name: str) -> bool:
    bare = name.strip("_")
    is_hook = name.startswith(("__", "pytest_", "_repr_", "_jupyter_", "visit_"))
    return is_hook or bare in FIXED or bare.split("_")[0] in VERBS | QUESTIONS | CONVERSIONS


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(each).endswith(("property", ".setter")) for each in node.decorator_list)
