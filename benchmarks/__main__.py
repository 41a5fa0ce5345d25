"""Runs every benchmark and prints its table; `make bench` writes the same text to benchmarks/results/."""

from __future__ import annotations

from pathlib import Path

from benchmarks import build, examiner


def main() -> None:
    for name, run in {"build": build.run, "examiner": examiner.run}.items():
        text = run()
        print(text)
        (Path(__file__).parent / "results" / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
