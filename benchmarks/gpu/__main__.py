"""`python -m benchmarks.gpu [PART...] [--device cuda] [--labs NAME,...] [--jobs N]`: run the parts and write reports.

Each part takes less than ten minutes and can be run on its own. `answers` takes longest: give it a few labs at a time.
The exit status is 1 if a part failed. A part that isn't possible here reports the reason, and doesn't count as failed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from autograder.authoring.course_folder import read_course, read_labs
from autograder.base.device import Device
from benchmarks.classroom import ROOT
from benchmarks.gpu import answers, bounds, costs, limits, sections, solutions
from benchmarks.gpu.report import GpuContext, explain_missing_device, run_part, write_index

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
    parser.add_argument(
        "--device", type=Device, default=Device.CUDA, help="cpu is a stand-in, which shows that the parts run"
    )
    parser.add_argument("--labs", default="", help="names, separated by commas; all by default")
    parser.add_argument("--jobs", type=int, default=4, help="submissions at a time")
    options = parser.parse_args(arguments)
    labs = list(read_labs(read_course(ROOT), tuple(filter(None, options.labs.split(",")))))
    context = GpuContext(options.device, labs, options.jobs)
    reason = explain_missing_device(options.device)
    statuses = [run_part(name, PARTS[name], context, reason) for name in options.parts or PARTS]
    write_index()
    return int(any(status == "failed" for status in statuses))


if __name__ == "__main__":
    sys.exit(main())
