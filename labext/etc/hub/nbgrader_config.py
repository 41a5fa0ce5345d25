"""nbgrader's configuration of a student's server on a class's JupyterHub: it sets c.ExchangeFactory."""

from labext.exchange_plugins import configure_student

configure_student(get_config())  # type: ignore[name-defined]  # noqa: F821 - given by traitlets
