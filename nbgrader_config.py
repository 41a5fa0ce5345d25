"""nbgrader's configuration: `nbgrader autograde` and the formgrader grade through Gradlab."""

from autograder.nbgrader_plugin import configure

c = get_config()  # noqa: F821 - given by traitlets

c.CourseDirectory.course_id = "gradlab"
configure(c)
