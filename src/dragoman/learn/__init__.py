"""The course: chapters that run, one file that the learner completes, and checks that grade it.

The text of the course is in `course/` at the root of the project, which the package contains.

- `chapters`: a chapter in Markdown as text and code, run in a terminal or written as a notebook
- `exercises`: the learner's file: the solution without the bodies of its exercises
- `results`: the checks of a learner's file, in a separate process
- `checks`: what must hold for each chapter; they compare nothing but behavior
- `mistakes`: fifteen mistakes, planted in the solution

The way of a solution: `results.check_apart` starts a process, in which `exercises.load_solution` ->
`checks.check_module` -> messages with the doctor's findings.
"""

from __future__ import annotations

from dragoman.learn.chapters import show_matrix
from dragoman.learn.mistakes import broken

__all__ = ["broken", "show_matrix"]
