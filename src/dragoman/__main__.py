"""The command `dragoman`, also as ``python -m dragoman``: for torchrun, and where the command is not on the path."""

import sys


def main() -> None:
    """Run the command line; see `dragoman.cli.main`."""
    try:
        from dragoman.cli import main as run  # takes a moment, in which Ctrl-C may be pressed
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
