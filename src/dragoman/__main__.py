"""``python -m dragoman``, for torchrun and where the command is not on the path."""

from dragoman.cli import main

main()
