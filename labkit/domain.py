"""The domain of an exercise's arguments, declared once, and a student's function tried on inputs drawn from it.

A wrong answer is rarely wrong everywhere: it forgets an edge, such as no rows, a transposed tensor, or a row of equal
numbers. So a domain names its edges, and inputs are drawn with and without each of them. What the function should
return, and how it should leave its arguments, is what the reference does with the same input.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

from labkit.call_snapshots import record_trial
from labkit.comparison import Mismatch, assert_close
from labkit.draw import DrawArguments, add_repeats, draw_inputs
from labkit.probes.trials import EARLIER_RESULT
from labkit.reference import Reference, collect_codes
from labkit.trial import Case, Trial, assert_same_state, compute_cases, describe_owner, keep_values, run_trials

CASES_WITHOUT_EDGE = 6  # without an edge; the first is repeated
EDGE_CASES = 2  # with each edge

Function = Callable[..., Any]
Context = Callable[[], contextlib.AbstractContextManager[Any]]

# Drawn once in a process, since that takes longer than the calls.
_cases: dict[tuple[str, frozenset[tuple[str, CodeType]], Sequence[type[Exception]], str, int], tuple[Case, ...]] = {}


class Domain:
    """The arguments that an exercise's function takes.

    Args:
        call: Calls the function, see domain().
        contexts: Those in which it's called, by edge.
        errors: Which exceptions are right if the reference raises one.
    """

    run_trials = staticmethod(run_trials)  # gradlab prove replaces it

    def __init__(
        self,
        draw_arguments: DrawArguments,
        edges: Sequence[str],
        reference: Reference,
        call: Function | None,
        contexts: Mapping[str, Context],
        errors: Sequence[type[Exception]],
    ) -> None:
        self.draw_arguments, self.edges, self.reference = draw_arguments, tuple(edges), reference
        self.call, self.contexts, self.errors = call, contexts, tuple(errors)
        self._check_edges(contexts)
        self.parameters = list(inspect.signature(call or reference.function).parameters)[call is not None :]
        codes = [collect_codes(value) for value in (draw_arguments, reference.function, call)]
        self._codes = frozenset(item for found in codes for item in found.items())
        self._trials: dict[str, list[Trial]] = {}
        self._function: Function | None = None

    def _check_edges(self, names: Iterable[str]) -> None:
        """Raise ValueError if this domain has no edge of such a name."""
        if unknown := [name for name in names if name and name not in self.edges]:
            raise ValueError(f"this domain has no edge {unknown[0]!r}, only {', '.join(map(repr, self.edges))}")

    def assert_results(self, function: Function, *edges: str, **options: Any) -> None:
        """Raise Mismatch unless the function returns what the reference returns.

        After the plain inputs come the sizes of the first with other numbers, and the first again, and all results are
        compared at the end. So a function that remembers results, or returns the same memory twice, differs.

        Args:
            edges: The edges to try; by default, inputs without an edge.
            options: As for assert_close().
        """
        for trial in self.iter_trials(function, *edges or ("",)):
            assert_close(trial.report.result, trial.case.report.result, **options)

    def assert_arguments(self, function: Function, *edges: str, ignore: Sequence[str] = (), **options: Any) -> None:
        """Raise Mismatch unless the function leaves its arguments as the reference does.

        That includes the memory around a view, requires_grad, retains_grad, .grad, and which tensors are in a list or a
        dict. Numbers that the reference doesn't change have to be the same bit for bit.

        Args:
            edges: The edges to try; by default, all.
            ignore: Parameters to leave out, or their .grad: ("w.grad",).
        """
        for trial in self._iter_comparable_trials(function, edges):
            case = trial.case
            for name, got, want, unchanged in zip(
                self.parameters, trial.arguments, case.arguments, case.unchanged, strict=False
            ):
                if name not in ignore:
                    exact = {"rtol": 0, "atol": 0} if unchanged else {}
                    assert_close(keep_values(got), keep_values(want), name=name, **options | exact)
                    assert_same_state(got, want, name, options, with_grad=f"{name}.grad" not in ignore)
            if trial.find_replaced() != trial.case.replaced:
                raise Mismatch("an argument holds other tensors than before")

    def assert_returns(self, function: Function, parameter: str, *edges: str) -> None:
        """Raise Mismatch unless the function returns the argument that the reference returns, and not a copy.

        Args:
            parameter: Its name, for the message.
            edges: The edges to try; by default, all.
        """
        for trial in self._iter_comparable_trials(function, edges):
            if trial.report.identities != trial.case.report.identities:
                raise Mismatch(f"your result is another object than {parameter}")

    def assert_memory(self, function: Function, *edges: str) -> None:
        """Raise Mismatch unless each tensor of the result is in the memory that the reference's is in.

        That's new memory, or an argument's, or that of another tensor of the result. A list or dict has to
        be a new one, too.

        Args:
            edges: The edges to try; by default, all.
        """
        for trial in self._iter_comparable_trials(function, edges):
            for got, want in zip(trial.report.owners, trial.case.report.owners, strict=False):
                if got != want:
                    raise Mismatch(describe_owner(got), describe_owner(want))
            if trial.report.container == EARLIER_RESULT != trial.case.report.container:
                raise Mismatch("your result is the object that an earlier call returned")

    def assert_gradients(
        self, function: Function, *edges: str, of: Sequence[int] | None = None, **options: Any
    ) -> None:
        """Raise Mismatch unless backward passes through the result give the reference's gradients.

        Compares requires_grad, whether the result is a leaf, and its gradients for each tensor among the arguments.

        Args:
            edges: The edges to try; by default, all.
            of: The tensors of the result to compare, by number; by default, all.
        """
        for trial in self._iter_comparable_trials(function, edges):
            got, want = trial.report, trial.case.report
            if len(got.states) != len(want.states):
                raise Mismatch("your result has another number of tensors")
            for place in range(len(want.states)) if of is None else of:
                mine, other = got.states[place], want.states[place]
                if mine.requires_grad != other.requires_grad:
                    raise Mismatch("your result requires grad" if mine.requires_grad else "your result has no gradient")
                if mine.is_leaf != other.is_leaf:
                    raise Mismatch(f"your result is {mine}", str(other))
                if got.gradients[place] is None and want.gradients[place] is not None:
                    raise Mismatch("a backward pass through your result raises an exception")
                assert_close(got.gradients[place], want.gradients[place], name="the gradients", **options)

    def assert_settings(self, function: Function, *edges: str) -> None:
        """Raise Mismatch unless PyTorch's settings are afterwards as after the reference.

        They are: whether operations are recorded, the default dtype, autocast, anomaly detection, and whether only
        deterministic algorithms may be used.

        Args:
            edges: The edges to try; by default, all.
        """
        for trial in self._iter_comparable_trials(function, edges):
            if trial.report.kept != trial.case.report.kept:
                raise Mismatch("one of PyTorch's settings is not as before")

    def list_cases(self, edge: str = "") -> tuple[Case, ...]:
        """List the cases with this edge, or the plain ones. They are drawn once for each process and seed."""
        key = (self.reference.source, self._codes, self.errors, edge, self.reference.seed)
        if key not in _cases:
            count = EDGE_CASES if edge else CASES_WITHOUT_EDGE
            inputs = draw_inputs(self.draw_arguments, edge, count, self.reference.seed)
            inputs = inputs if edge else add_repeats(inputs)
            with self._enter_context(edge):
                _cases[key] = compute_cases(self.reference.function, inputs, self.call, self.errors)
        return _cases[key]

    def iter_trials(self, function: Function, *edges: str) -> Iterator[Trial]:
        """Yield the calls with these edges. Each is made once, by the first check that needs it.

        Raises what the function raises, unless the reference raises such an exception too.
        """
        for trial in self._list_trials(function, edges):
            if not trial.is_as_expected():
                with self._enter_context(trial.case.drawn.edge):
                    self._record(trial)
                    trial.raise_error(function, self.call)
            self._record(trial)
            yield trial

    def _list_trials(self, function: Function, edges: Sequence[str]) -> list[Trial]:
        """Make the calls with these edges that weren't made yet, in one message for each context, and list all."""
        self._check_edges(edges)
        if function is not self._function:
            self._function, self._trials = function, {}
        cases: dict[str, list[Case]] = {}
        for edge in edges:
            if edge not in self._trials:
                cases.setdefault(edge if edge in self.contexts else "", []).extend(self.list_cases(edge))
        for context, needed in cases.items():
            with self._enter_context(context):
                trials = self.run_trials(function, needed, self.call)
            for trial in trials:
                self._trials.setdefault(trial.case.drawn.edge, []).append(trial)
        return [trial for edge in edges for trial in self._trials[edge]]

    def _iter_comparable_trials(self, function: Function, edges: Sequence[str]) -> Iterator[Trial]:
        """Yield the calls with these edges, or with every edge, that ended as the reference's did.

        A call that raises an exception fails the check of its result. If all do, this raises it too.
        """
        edges = edges or ("", *self.edges)
        ended = [trial for trial in self._list_trials(function, edges) if trial.is_as_expected()]
        for trial in ended:
            self._record(trial)
            yield trial
        if not ended:
            yield from self.iter_trials(function, *edges)

    def _record(self, trial: Trial) -> None:
        """Record which call is compared next, for the message if its result is wrong."""
        name, drawn = self.reference.name, trial.case.drawn
        record_trial(name, drawn.edge, self.parameters, drawn.make_arguments, is_direct=self.call is None)

    def _enter_context(self, edge: str) -> contextlib.AbstractContextManager[Any]:
        return self.contexts.get(edge, contextlib.nullcontext)()


def domain(
    reference: Reference,
    *edges: str,
    call: Function | None = None,
    contexts: Mapping[str, Context] | None = None,
    errors: Sequence[type[Exception]] = (),
) -> Callable[[DrawArguments], Domain]:
    """Declare the domain of an exercise's arguments, by a function that draws them.

    The function is called as draw_arguments(draw, edge), with a Draw, and one of the edges, or "" for an input without
    any. It returns the arguments as a tuple.

    Args:
        edges: The names of the edges.
        call: A probe or given function that calls the exercise's, as call(function, *arguments), and returns what to
            compare: for a class, or for what can only be seen in the student's process, such as a model.
        contexts: A context manager for the calls with an edge: {"recording off": torch.no_grad}.
        errors: Which exceptions are right if the reference raises one; by default, one of its type.
    """
    return lambda draw_arguments: Domain(draw_arguments, edges, reference, call, contexts or {}, errors)
