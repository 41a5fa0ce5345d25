"""`python -m benchmarks.gpu [PART...] [--device cuda] [--labs NAME,...] [--jobs N]`: run the parts and write reports.

Each part takes under ten minutes, and can be run by itself. `answers` is the longest: give it some labs at a time.
The exit status is 1 where a part failed; one that is not possible here is told, with the reason, and is no failure.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from autograder.authoring.course_folder import read_course, read_labs
from benchmarks.classroom import ROOT
from benchmarks.gpu import answers, bounds, costs, limits, sections, solutions
from benchmarks.gpu.report import Context, missing_device, run_part, write_index

PARTS = {
    "solutions": solutions.run,
    "bounds": bounds.run,
    "limits": limits.run,
    "costs": costs.run,
    "sections": sections.run,
    "answers": answers.run,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--device", default="cuda", help="cpu is a stand-in, which shows that the parts run")
    parser.add_argument("--labs", default="", help="names, with commas between; all where none is named")
    parser.add_argument("--jobs", type=int, default=4, help="submissions at a time")
    parsed = parser.parse_args(arguments)
    labs = list(read_labs(read_course(ROOT), tuple(filter(None, parsed.labs.split(",")))))
    context = Context(parsed.device, labs, parsed.jobs)
    missing = missing_device(parsed.device)
    done = [run_part(name, PARTS[name], context, missing) for name in parsed.parts or PARTS]
    write_index()
    return int(any(status == "failed" for status in done))


if __name__ == "__main__":
    sys.exit(main())
