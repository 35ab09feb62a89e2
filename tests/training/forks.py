"""Trains a recipe in a fork of this process for each line read: a start takes milliseconds, so that many can be killed.

Run as a program with a recipe and a run directory, it prints each process id, and then the exit status. A number in
the line is that of the file operation on the run directory (opening, renaming, removing, …) before which the process is
to kill itself.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path

from dragoman.recipe import load_recipe
from dragoman.training.run.run import train


def die_at_operation(number: int, run: Path) -> None:
    """Kill this process, as nothing can prevent, before the operation of this number on files of the run."""
    left = number

    def count_operations(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if arguments and str(arguments[0]).startswith(f"{run}{os.sep}"):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count_operations)


def main(recipe: Path, run: Path) -> None:
    loaded = load_recipe(recipe)
    for line in sys.stdin:
        child = os.fork()
        if child:
            print(child, flush=True)
            print(os.waitpid(child, 0)[1], flush=True)
            continue
        try:
            if line.strip():
                die_at_operation(int(line), run)
            train(loaded, run, resume=(run / "recipe.toml").exists())
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
