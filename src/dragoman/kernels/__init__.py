"""Faster versions of parts of the model.

Each kernel computes the same as the plain module or function that it replaces, with the same parameters; a test
compares values and gradients. Only dropout differs: it rounds its probability to a multiple of 1/256. `accelerate`
replaces leaf modules in place, so `dragoman.model` does not import kernels.

- On a CPU: `linear` (for training, and with prepacked weights for translation), `dropout`, `varlen` (sentences of many
  lengths in one sequence)
- On a GPU: `unpadded`
- The loss: `projected_loss`, `projected_r_drop`
- `accelerate` has the table of kernels; `operators` says which operators this build of torch has
"""

from dragoman.kernels.accelerate import KERNELS, accelerate, accelerated, supports_unpadded, supports_varlen

__all__ = ["KERNELS", "accelerate", "accelerated", "supports_unpadded", "supports_varlen"]
