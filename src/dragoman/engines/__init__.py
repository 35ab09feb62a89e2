"""Engines: source ids in, hypotheses or the probabilities of given translations out.

`choose` chooses an engine for a request; `protocol` says what every engine does. `ctranslate2/` is the fastest on a
CPU. `torch_engine` searches with the model itself, on any device, with one of the `decoders` or `nearest_neighbors`.
`scoring` scores given translations for both. `text_search` translates texts by an engine.

`batching` makes batches of similar length, `direction` chooses the languages of a model with several, and
`fuzzy_memory` finds similar segments of a translation memory.
"""

from dragoman.engines.choose import ENGINES, Choice, choose, open_engine
from dragoman.engines.protocol import Engine, EngineRequest

__all__ = ["ENGINES", "Choice", "Engine", "EngineRequest", "choose", "open_engine"]
