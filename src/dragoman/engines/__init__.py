"""Engines: source ids in, hypotheses or the probabilities of given translations out.

`choose` says what every engine does, and chooses one for a request. `ctranslate2/` is the fastest on a
CPU. `torch_engine` searches with the model itself, on any device, with one of the `decoders` or `nearest_neighbors`.
`scoring` scores given translations for both, and records their attention.

`batching` makes batches of similar length, and
`fuzzy_memory` finds similar segments of a translation memory.
"""

from dragoman.engines.choose import ENGINES, Choice, Engine, EngineRequest, choose, open_engine

__all__ = ["ENGINES", "Choice", "Engine", "EngineRequest", "choose", "open_engine"]
