"""`gradlab demo`: the main job on real notebooks, with a class made of the answers that prove the labs."""

from autograder.demo.run import run_demo

__all__ = ["run_demo"]
