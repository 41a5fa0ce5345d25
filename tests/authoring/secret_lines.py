"""The lines of a lab that students must not see."""

import json

from autograder.authoring.regions import find_regions
from autograder.model.course import Lab

COMMON = {"else:", "try:", "pass", "return x", ")", "]", "}", "):", "],", "),", "},", '"""'}


def find_secret_lines(lab: Lab, region_name: str) -> set[str]:
    """Lines inside regions of this kind that are nowhere else in the lab."""
    inside: set[str] = set()
    outside: set[str] = set()
    for cell in lab.cells:
        regions = find_regions(cell)
        for number, line in enumerate(cell.source.split("\n")):
            hidden = any(number in region for region in regions)
            is_inside = any(number in region for region in regions if region.kind == region_name)
            (inside if is_inside else outside if not hidden else set()).add(line.strip())
    labels = [check.label for exercise in lab.exercises for check in exercise.checks]
    label_lines = {f"{json.dumps(label, ensure_ascii=False)}," for label in labels}  # of hidden checks too
    return {line for line in inside - outside - COMMON - label_lines if line and not line.startswith("###")}
