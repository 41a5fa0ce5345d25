"""Writes docs/labkit.md, every name that a lab can import from labkit: python -m scripts.labkit_reference."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import FunctionType, ModuleType

import labkit
from labkit import pictures, probes

PAGE = Path(__file__).parent.parent / "docs" / "labkit.md"
HEAD = """\
# labkit

If you write labs, these are the names that you can import from `labkit`. [writing-a-lab.md](writing-a-lab.md) explains
how checks use them. `python -m scripts.labkit_reference` writes this page from the docstrings.
"""
SECTIONS = {
    "Checks": ("check", "assert_close", "explain", "unchanged", "Seen", "hint"),
    "Quizzes and written answers": ("assert_answered", "assert_letters"),
    "Devices, memory and progress": ("device", "use_device", "memory", "progress"),
    "Pictures": tuple(sorted(pictures.MODULES)),
}
PROBES = (
    *("probe", "trained", "state_of", "gradients_of", "captured", "replay", "ranks", "on_second_device"),
    *("saved", "saved_bytes", "live_bytes", "derivatives", "operations"),
)


def format_labkit_reference() -> str:
    """Format the page, with a section for each kind of name."""
    parts = [HEAD]
    for title, names in SECTIONS.items():
        parts += [f"## {title}\n", *(_format_object(name, getattr(labkit, name)) for name in names)]
    parts += ["## Probes\n", *(_format_object(name, getattr(probes, name)) for name in PROBES)]
    return "\n".join(parts)


def _format_object(name: str, value: object) -> str:
    if not isinstance(value, ModuleType):
        return f"### {name}\n\n{_format_call(name, value)}"
    functions = [each for each in vars(value).values() if inspect.isfunction(each) and _is_public(each, value)]
    calls = [_format_call(f"{name}.{function.__name__}", function) for function in functions]
    return "\n".join([f"### {name}\n\n{_format_docstring(value)}\n", *calls])


def _is_public(function: FunctionType, module: ModuleType) -> bool:
    return not function.__name__.startswith("_") and function.__module__ == module.__name__


def _format_call(name: str, value: object) -> str:
    assert callable(value)
    text = str(inspect.signature(value)).split(" -> ")[0]
    text = re.sub(r"<(?:function|class) '?([\w.]+)'?(?: at 0x\w+)?>", lambda match: match[1].split(".")[-1], text)
    signature = re.sub(r": '([^']*)'", r": \1", text)
    return f"```python\n{name}{signature}\n```\n\n{_format_docstring(value)}\n"


def _format_docstring(value: object) -> str:
    """Format the docstring as Markdown: its sections become lists."""
    lines: list[str] = []
    in_section = False
    for line in (inspect.getdoc(value) or "").splitlines():
        if line in ("Args:", "Attributes:", "Returns:", "Raises:"):
            in_section = True
            lines.append(f"*{line.removesuffix(':')}:*\n")
        elif in_section and (match := re.match(r" {4}(\w+): (.*)", line)):
            lines.append(f"- `{match[1]}`: {match[2]}")
        else:
            lines.append(f"  {line.strip()}".rstrip() if in_section else line)  # code stays indented
    return "\n".join(lines).rstrip()


if __name__ == "__main__":
    PAGE.write_text(format_labkit_reference(), encoding="utf-8")
