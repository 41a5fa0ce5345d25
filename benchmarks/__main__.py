"""Run every benchmark, print its tables and write them to benchmarks/results/, as `make bench` does.

`python -m benchmarks NAME...` runs only the named ones.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import (
    build,
    classes,
    cluster,
    deadline,
    examiner,
    hub,
    own_course,
    reports,
    scale,
    similar,
    student,
    uses,
    watch,
)

BENCHMARKS = {
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
    "hub": hub.run,
    "deadline": deadline.run,
}


def main(names: Sequence[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # an exit also ends the processes that a benchmark started
    for name in names or BENCHMARKS:
        text = BENCHMARKS[name]()
        print(text)
        (Path(__file__).parent / "results" / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
