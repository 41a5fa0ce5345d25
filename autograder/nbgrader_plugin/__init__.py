"""Plugs into nbgrader, from nbgrader_config.py, so its own commands and its formgrader grade as `gradlab` does.

Every command reads that file, so the grader is imported only when nbgrader loads it by name.
"""

from __future__ import annotations

from typing import Any

from nbconvert.utils.base import NbConvertBase
from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import ClearSolutions, SaveCells
from traitlets.config import Config


def make_default_config() -> Config:
    """Return the settings that configure() makes."""
    config = Config()
    configure(config)
    return config


def configure(c: Any) -> None:
    """Set up nbgrader for a Gradlab course. Call it from nbgrader_config.py with `get_config()`.

    Classes are given by their paths, since the formgrader passes its configuration on as JSON.
    """
    # release/ is committed: without this, nbgrader would find it and never put the lab into its gradebook.
    c.GenerateAssignment.force = True
    stock = GenerateAssignment.class_traits()["preprocessors"].default_args[0]
    names = [f"{kind.__module__}.{kind.__name__}" for kind in stock if kind is not ClearSolutions]
    names.insert(stock.index(ClearSolutions), "autograder.nbgrader_plugin.converters.ClearAnswers")
    names[stock.index(SaveCells)] = "autograder.nbgrader_plugin.cell_saver.SaveChangedCells"
    c.GenerateAssignment.preprocessors = [
        "autograder.nbgrader_plugin.converters.UpgradeMetadata",
        *names,
        "autograder.nbgrader_plugin.converters.ClearHiddenFacts",
        "autograder.nbgrader_plugin.converters.RememberRelease",
    ]
    c.Autograde.pre_convert_hook = "autograder.nbgrader_plugin.converters.normalize_submission"
    c.Autograde.exporter_class = "autograder.nbgrader_plugin.converters.SubmissionExporter"
    c.Autograde.autograde_preprocessors = [
        "autograder.nbgrader_plugin.converters.Examine",
        "nbgrader.preprocessors.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        "nbgrader.preprocessors.LimitOutput",
        "autograder.nbgrader_plugin.converters.SaveScores",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.GenerateFeedback.exporter_class = "autograder.nbgrader_plugin.converters.FeedbackExporter"
    c.GenerateFeedback.preprocessors = []
    # A student's output must not run in the browser of someone who reads it in the formgrader.
    c.HTMLExporter.sanitize_html = True
    c.HTMLExporter.preprocessors = ["autograder.nbgrader_plugin.formgrader_text.PictureLimit"]
    filters = {
        "markdown2html": "render_text",
        "clean_html": "render_html",
        "highlight_code": "color_code",
        "ansi2html": "show_output",
    }
    c.HTMLExporter.filters = {
        name: f"autograder.nbgrader_plugin.formgrader_text.{ours}" for name, ours in filters.items()
    }
    # Drawings as images, since a sanitised page shows their HTML as text; no formulas, in which MathJax makes links.
    kinds = [kind for kind in NbConvertBase().display_data_priority if kind != "text/latex"]
    c.WidgetsDataTypeFilter.display_data_priority = ["image/svg+xml", *kinds]
    c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\nraise NotImplementedError()"}
