"""Faster versions of parts of the model.

Each kernel computes the same as the plain module or function that it stands for, with the same parameters; a test
compares values and gradients. `accelerate` replaces leaf modules in place, so `dragoman.model` needs no kernel.
"""

from dragoman.kernels.accelerate import KERNELS, accelerate, accelerated, supports_varlen

__all__ = ["KERNELS", "accelerate", "accelerated", "supports_varlen"]
