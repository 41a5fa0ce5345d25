from tests.classroom.processes import end_processes  # noqa: F401  # for every test here
