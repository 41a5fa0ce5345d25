# %% given
def numbers():
    """The next number from each of the three generators. Two of them keep a second Gaussian for the next call."""
    return [
        random.gauss(0, 1),
        float(np.random.standard_normal()),
        torch.rand(1, device="cpu", generator=torch.default_generator).item(),
    ]


def switches():
    """Deterministic algorithms: whether on, whether only warning. cuDNN: deterministic, benchmark."""
    algorithms = [torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()]
    return [*algorithms, torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark]


@probes.probe
def workspace():
    """The variable that cuBLAS reads when its first matrix product runs."""
    return os.environ.get("CUBLAS_WORKSPACE_CONFIG")


@probes.probe
def workspaces(context, seed, before):
    """The variable inside the block and after it. before: its value until then, or None if it isn't set."""
    kept = os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
    try:
        if before is not None:
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = before
        with context(seed):
            inside = workspace()
        return [inside, workspace()]
    finally:
        os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
        if kept is not None:
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = kept


@probes.probe
def broken_off(context, seed, is_interrupt):
    """The state after a block that changes the settings and then raises an error, or an interrupt."""
    kind = KeyboardInterrupt if is_interrupt else ZeroDivisionError
    kept, raised = os.environ.get("CUBLAS_WORKSPACE_CONFIG"), False
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    try:
        with context(seed):
            numbers()
            torch.use_deterministic_algorithms(False)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = False, True
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"
            raise kind
    except kind:
        raised = True
    after = {"raised": raised, "numbers": numbers(), "switches": switches()}
    after["variable"] = os.environ.get("CUBLAS_WORKSPACE_CONFIG") == kept
    torch.use_deterministic_algorithms(False)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = False, False
    os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
    if kept is not None:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = kept
    return after


# %% exercise
@contextmanager
def deterministic(seed: int) -> Iterator[None]:
    """A context manager: its block gives the same numbers in every run, as far as the settings below ensure it.

    Inside the block: Python's `random`, NumPy's `np.random` and PyTorch's generators start from seed.
    An operation without a deterministic algorithm raises an error: a warning isn't enough.
    cuDNN's `deterministic` is True, and its `benchmark` is False. The environment variable CUBLAS_WORKSPACE_CONFIG is
    ":4096:8".
    After the block, these generators continue from where they were before it, and every setting has its earlier value.

    Details:
    - seed: 0 to 2**32 - 1.
    - All of this holds even if the block is inside another one, changes a setting, raises an error, or is interrupted.
      The error reaches the caller.
    - If CUBLAS_WORKSPACE_CONFIG wasn't set before the block, it's unset afterward. The block itself never unsets it.
    """
    ### BEGIN SOLUTION
    of_python, of_numpy = random.getstate(), np.random.get_state()
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    of_cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    variable = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
    with torch.random.fork_rng():
        try:
            for start in (random.seed, np.random.seed, torch.manual_seed):
                start(seed)
            torch.use_deterministic_algorithms(True)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
            yield
        finally:
            random.setstate(of_python)
            np.random.set_state(of_numpy)
            torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = of_cudnn
            os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
            if variable is not None:
                os.environ["CUBLAS_WORKSPACE_CONFIG"] = variable
    ### END SOLUTION


# %% promises
# A context manager -> seeded, other_seeds, nested
# Inside the block -> seeded, other_seeds, nested
# An operation without -> switches, as_before, nested
# cuDNN's -> switches, as_before, nested
# The environment -> workspace
# After the block -> go_on, raised, nested, broken_off, as_before
# seed: 0 to -> seeded, other_seeds, nested
# All of this -> raised, broken_off, nested
# The error reaches -> raised, broken_off
# If CUBLAS_WORKSPACE_CONFIG -> workspace
# The block itself -> workspace


# %% domain
# The checks write a block each, and compare what it leaves behind.


# %% checks
with check(
    "seeded",
    "inside, all three generators start from the seed",
    weight=3,
    required=True,
    hint=(
        "Which three libraries have their own generators, and which of your lines seeds each?",
        "Call random.seed, np.random.seed and torch.manual_seed before the yield.",
    ),
):
    outside = random.getstate(), np.random.get_state(), torch.get_rng_state()
    for seeded in (random.seed, np.random.seed, torch.manual_seed):
        seeded(3)
    want = [numbers(), numbers()]
    random.setstate(outside[0])
    np.random.set_state(outside[1])
    torch.set_rng_state(outside[2])
    with deterministic(3):
        got = [numbers(), numbers()]
    assert_close(got, want, rtol=0, atol=0)
with check(
    "switches",
    "inside, what can't be repeated raises an error, and cuDNN always chooses the same algorithm",
    weight=2,
    hint=(
        "Print switches() inside the block: which of the four isn't what the docstring says?",
        "Use torch.use_deterministic_algorithms and two attributes of torch.backends.cudnn.",
    ),
):
    with deterministic(3):
        got = switches()
    assert_close(got, [True, False, True, False])

# %% hidden checks
with check("other_seeds", "other seeds, and a second block with the same seed", weight=2, required=True):
    seeds = [0, 2**32 - 1, 20, 7, 20]
    want, got = list[list[list[float]]](), list[list[list[float]]]()
    for s in seeds:
        for seeded in (random.seed, np.random.seed, torch.manual_seed):
            seeded(s)
        want.append([numbers(), numbers()])
    for s in seeds:
        with deterministic(s):
            got.append([numbers(), numbers()])
    assert_close(got, want, rtol=0, atol=0)
with check(
    "go_on",
    "after the block, the generators continue from where they were",
    weight=3,
    hint="What do random.getstate(), np.random.get_state() and torch.get_rng_state() return?",
):
    random.seed(11), np.random.seed(12), torch.manual_seed(13)
    want = [numbers() for _ in range(3)]
    random.seed(11), np.random.seed(12), torch.manual_seed(13)
    got = [numbers()]
    with deterministic(3):
        numbers()
    got += [numbers(), numbers()]
    assert_close(got, want, rtol=0, atol=0)
with check(
    "as_before",
    "settings that were on before the block are on after it",
    weight=2,
    hint="What was each setting before: did you check, or did you assume it was off?",
):
    found = list[list[bool]]()
    wanted = [[True, True, False, True], [True, False, True, False], [False, False, True, True], [False] * 4]
    for on, warn, same, search in wanted:
        torch.use_deterministic_algorithms(on, warn_only=warn)
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = same, search
        with deterministic(5):
            found.append(switches())
        found.append(switches())
    torch.use_deterministic_algorithms(False)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = False, False
    want = [state for after in wanted for state in ([True, False, True, False], after)]
    assert_close(found, want)
with check(
    "raised",
    "the same after a block that raised, and the error reaches the caller",
    weight=2,
    hint="Which of your lines run when the block raises at the yield?",
):
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    want = numbers()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    came = ""
    try:
        with deterministic(5):
            numbers()
            raise ZeroDivisionError("the block's own")
    except ZeroDivisionError as error:
        came = str(error)
    after = [numbers(), switches()]
    torch.use_deterministic_algorithms(False)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = False, False
    assert came == "the block's own", "the block raised an error that didn't reach the caller"
    assert_close(after, [want, [False] * 4], rtol=0, atol=0)
with check(
    "broken_off",
    "the same after an interrupt, and after a block that changed the settings",
    hint="Which of your lines run after a KeyboardInterrupt, which isn't an Exception?",
):
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    want = {"raised": True, "numbers": numbers(), "switches": [False] * 4, "variable": True}
    assert_close([broken_off(deterministic, s, s > 5) for s in (5, 6)], [want, want])
with check("nested", "one block inside another", hint="Does the inner block restore what it found, or the default?"):
    random.seed(8), np.random.seed(8), torch.manual_seed(8)
    want = [numbers(), numbers()]
    with deterministic(8):
        got = [numbers()]
        with deterministic(2):
            numbers()
        got.append(numbers())
        between = switches()
    assert_close(got, want, rtol=0, atol=0)
    assert_close([between, switches()], [[True, False, True, False], [False] * 4])
with check(
    "workspace",
    "CUBLAS_WORKSPACE_CONFIG inside and after the block, whether it was set before or not",
    weight=2,
    observed=True,
    hint="What does os.environ.get return for a variable that isn't set?",
):
    got = [workspaces(deterministic, 3, before) for before in (None, ":16:8", ":4096:8", "")]
    assert_close(got, [[":4096:8", None], [":4096:8", ":16:8"], [":4096:8", ":4096:8"], [":4096:8", ""]])


# %% right "an exit stack, state by state"
from contextlib import ExitStack


@contextmanager
def deterministic(seed):
    with ExitStack() as stack:
        stack.callback(random.setstate, random.getstate())
        stack.callback(np.random.set_state, np.random.get_state())
        stack.callback(torch.set_rng_state, torch.get_rng_state())
        mode = torch.are_deterministic_algorithms_enabled()
        warn = torch.is_deterministic_algorithms_warn_only_enabled()
        stack.callback(torch.use_deterministic_algorithms, mode, warn_only=warn)
        for name, value in (("deterministic", True), ("benchmark", False)):
            stack.callback(setattr, torch.backends.cudnn, name, getattr(torch.backends.cudnn, name))
            setattr(torch.backends.cudnn, name, value)
        before = dict(os.environ)
        stack.callback(os.environ.update, before)
        stack.callback(os.environ.pop, "CUBLAS_WORKSPACE_CONFIG", None)
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        yield


# %% right "a class with enter and exit"
class deterministic:
    def __init__(self, seed):
        self.seed = seed

    def __enter__(self):
        cudnn = torch.backends.cudnn
        self.states = random.getstate(), np.random.get_state(), torch.get_rng_state()
        self.debug = torch.get_deterministic_debug_mode()
        self.cudnn = cudnn.deterministic, cudnn.benchmark
        self.variable = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
        random.seed(self.seed)
        np.random.seed(self.seed)
        torch.manual_seed(self.seed)
        torch.set_deterministic_debug_mode("error")
        cudnn.deterministic, cudnn.benchmark = True, False
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"

    def __exit__(self, *error):
        cudnn = torch.backends.cudnn
        random.setstate(self.states[0])
        np.random.set_state(self.states[1])
        torch.set_rng_state(self.states[2])
        torch.set_deterministic_debug_mode(self.debug)
        cudnn.deterministic, cudnn.benchmark = self.cudnn
        if self.variable is None:
            del os.environ["CUBLAS_WORKSPACE_CONFIG"]
        else:
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = self.variable


# %% wrong "NumPy's new generator is seeded, which nobody draws from" fails=seeded,other_seeds,nested
@contextmanager
def deterministic(seed):
    of_python, of_numpy = random.getstate(), np.random.get_state()
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    of_cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    variable = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
    with torch.random.fork_rng():
        try:
            random.seed(seed)
            np.random.default_rng(seed)
            torch.manual_seed(seed)
            torch.use_deterministic_algorithms(True)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
            yield
        finally:
            random.setstate(of_python)
            np.random.set_state(of_numpy)
            torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = of_cudnn
            del os.environ["CUBLAS_WORKSPACE_CONFIG"]
            if variable is not None:
                os.environ["CUBLAS_WORKSPACE_CONFIG"] = variable


# %% wrong "the other value will do" fails=workspace
@contextmanager
def deterministic(seed):
    of_python, of_numpy = random.getstate(), np.random.get_state()
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    of_cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    variable = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
    with torch.random.fork_rng():
        try:
            random.seed(seed)
            np.random.seed(seed)
            torch.manual_seed(seed)
            torch.use_deterministic_algorithms(True)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"
            yield
        finally:
            random.setstate(of_python)
            np.random.set_state(of_numpy)
            torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = of_cudnn
            del os.environ["CUBLAS_WORKSPACE_CONFIG"]
            if variable is not None:
                os.environ["CUBLAS_WORKSPACE_CONFIG"] = variable


# %% wrong "all that goes wrong is an Exception" fails=broken_off
@contextmanager
def deterministic(seed):
    of_python, of_numpy, of_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    of_cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    variable = os.environ.get("CUBLAS_WORKSPACE_CONFIG")

    def restore():
        random.setstate(of_python)
        np.random.set_state(of_numpy)
        torch.set_rng_state(of_torch)
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = of_cudnn
        del os.environ["CUBLAS_WORKSPACE_CONFIG"]
        if variable is not None:
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = variable

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    try:
        yield
    except Exception:
        restore()
        raise
    else:
        restore()


# %% wrong "warns only" fails=switches,as_before,nested
@contextmanager
def deterministic(seed):
    of_python, of_numpy = random.getstate(), np.random.get_state()
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    of_cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    variable = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
    with torch.random.fork_rng():
        try:
            random.seed(seed)
            np.random.seed(seed)
            torch.manual_seed(seed)
            torch.use_deterministic_algorithms(True, warn_only=True)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
            yield
        finally:
            random.setstate(of_python)
            np.random.set_state(of_numpy)
            torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
            torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = of_cudnn
            del os.environ["CUBLAS_WORKSPACE_CONFIG"]
            if variable is not None:
                os.environ["CUBLAS_WORKSPACE_CONFIG"] = variable
