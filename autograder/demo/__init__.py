"""`gradlab demo`: grades a class made of the labs' own answers, from building to the report."""

from autograder.demo.demonstration import run_demo

__all__ = ["run_demo"]
