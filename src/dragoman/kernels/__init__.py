"""Faster versions of parts of the model.

Each kernel computes the same as the plain module or function that it replaces, with the same parameters; a test
compares values and gradients. Only dropout differs: it rounds its probability to a multiple of 1/256. `accelerate`
replaces leaf modules in place, so `dragoman.model` does not import kernels.
"""

from dragoman.kernels.accelerate import KERNELS, accelerate, accelerated, supports_unpadded, supports_varlen

__all__ = ["KERNELS", "accelerate", "accelerated", "supports_unpadded", "supports_varlen"]
