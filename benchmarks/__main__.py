"""Runs every benchmark and prints its table; `make bench` writes the same text to benchmarks/results/.

`python -m benchmarks NAME...` runs those that it names.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import build, classes, cluster, examiner, own_course, reports, scale, similar, student, uses, watch

ALL = {
    "build": build.run,
    "student": student.run,
    "uses": uses.run,
    "examiner": examiner.run,
    "classes": classes.run,
    "own_course": own_course.run,
    "scale": scale.run,
    "cluster": cluster.run,
    "reports": reports.run,
    "similar": similar.run,
    "watch": watch.run,
}


def main(names: Sequence[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what a benchmark started is ended, too
    for name in names or ALL:
        text = ALL[name]()
        print(text)
        (Path(__file__).parent / "results" / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
