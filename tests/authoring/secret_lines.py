"""The lines of a lab that students must not see."""

import json

from autograder.authoring.regions import HIDDEN, SOLUTION, find_regions
from autograder.model.course import Lab

COMMON = {"else:", "try:", "pass", "return x", ")", "]", "}", "):", "],", "),", "},", '"""'}


def find_secret_lines(lab: Lab, region_name: str) -> set[str]:
    """Lines inside regions of this kind that are nowhere else in the lab.

    Hidden checks contain the solution, which a student may write.
    """
    inside: set[str] = set()
    outside: set[str] = set()
    for cell in lab.cells:
        regions = find_regions(cell)
        for number, line in enumerate(cell.source.split("\n")):
            kinds = {region.kind for region in regions if number in region}
            is_outside = not kinds or (region_name == HIDDEN and kinds == {SOLUTION})
            (inside if region_name in kinds else outside if is_outside else set()).add(line.strip())
    labels = [check.label for exercise in lab.exercises for check in exercise.checks]
    label_lines = {f"{json.dumps(label, ensure_ascii=False)}," for label in labels}  # of hidden checks too
    return {line for line in inside - outside - COMMON - label_lines if line and not line.startswith("###")}
