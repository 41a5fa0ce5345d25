"""The web page of a published course: its labs, each with a link that opens or downloads it, and how to work on them.

It's one file that loads nothing, so any web server can show it, GitHub Pages too.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from autograder.authoring.publication import Publication
from autograder.model.course import Course, LabEntry
from labkit.lab_progress import shorten_lab_name

TOKENS = "share/jupyter/labextensions/gradlab-course/style/tokens.css"
IN_COLAB = (
    "You need a browser and a Google account. Choose <em>Open in Colab</em> next to a lab, and there <em>File &gt; "
    "Save a copy in Drive</em>: otherwise, Colab forgets your changes. To submit a lab, download it as "
    "<code>.ipynb</code>, and restore its original name."
)
AFTER_DOWNLOAD = (
    "Download a lab, and open it where you have Jupyter. In Colab, choose <em>File &gt; Upload notebook</em>. The "
    "lab's first cell installs what it needs in Colab; elsewhere, install it once:"
)


def render_publication_page(course: Course, wheel: str, entries: Sequence[LabEntry], publication: Publication) -> str:
    """Render index.html.

    Args:
        wheel: The file name of the students' wheel.
        entries: The labs of the release.
        publication: An address at least.
    """
    template = (files("autograder.authoring") / "student" / "index.html.txt").read_text(encoding="utf-8")
    how = IN_COLAB if publication.repository else AFTER_DOWNLOAD
    install = "" if publication.repository else f"<pre>python -m pip install {publication.address}/{wheel}</pre>"
    parts = {
        "TOKENS": (files("labext") / TOKENS).read_text(encoding="utf-8"),
        "TITLE": escape(course.title),
        "ABOUT": f"<p>{escape(course.about)}</p>" if course.about else "",
        "HOW": f"<p>{how}</p>{install}",
        "LABS": "\n".join(_render_lab(entry, publication) for entry in entries),
    }
    for name, text in parts.items():
        template = template.replace(f"{{{name}}}", text)
    return template


def _render_lab(entry: LabEntry, publication: Publication) -> str:
    link = publication.make_link(entry.name)
    title = escape(entry.title)
    about = f"Lab {shorten_lab_name(entry.name)}, {entry.minutes} minutes"
    action = f'<a href="{escape(link.address)}" aria-label="{link.words}: {title}">{link.words}</a>' if link else ""
    milestone = f"<div>You'll have {escape(entry.milestone)}</div>" if entry.milestone else ""
    return f'<li><div><b>{title}</b>{milestone}<div class="about">{about}</div></div>{action}</li>'
