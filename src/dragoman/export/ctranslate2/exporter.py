"""CTranslate2's format: the model for its engine, beside our tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dragoman.bundle import Bundle
from dragoman.engines.ctranslate2.engine import CTranslate2Translator
from dragoman.engines.ctranslate2.spec import specify
from dragoman.export.parity import Compared, Exported, Values
from dragoman.settings import Decoding
from dragoman.text.registry import save_tokenizers

COMPUTE_TYPES = ("float32", "int8")


def refusals(bundle: Bundle) -> list[str]:
    """What CTranslate2 cannot express of this bundle."""
    source, target = bundle.source.vocabulary.specials, bundle.target.vocabulary.specials
    return [] if source == target else ["text.specials: source and target must have the same"]


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write model, vocabularies, tokenizers and a page on how to use them into a directory that is there."""
    spec = specify(bundle)
    spec.optimize(quantization=None if compute_type == "float32" else compute_type)
    spec.save(str(directory))
    save_tokenizers(directory, bundle.source, bundle.target)
    (directory / "README.md").write_text(_PAGE.format(name=bundle.recipe.name), encoding="utf-8")


def reopen(bundle: Bundle, directory: Path, compute_type: str) -> Exported:
    """What was written, opened by CTranslate2."""
    return _Reopened(bundle, directory, compute_type)


class _Reopened:
    compares: Compared = "log-probabilities"

    def __init__(self, bundle: Bundle, directory: Path, compute_type: str) -> None:
        plain = {"sampling": False, "top_k": None, "top_p": None, "temperature": 1.0, "cache": True, "n_best": 1}
        self.decoding: Decoding = bundle.recipe.decoding.model_copy(update=plain)
        self._translator = CTranslate2Translator(bundle, directory, self.decoding, compute_type)

    def values(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Values]:
        """Log-probabilities of the target tokens and the ends."""
        return [np.asarray(scores, dtype=np.float32) for scores in self._translator.score(sources, targets)]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translations by the engine of `dragoman translate`."""
        return [str(translation) for translation in self._translator.stream(texts)]


_PAGE = """# {name} for CTranslate2

Translate with `ctranslate2.Translator`. The tokenizers are dragoman's; those of subwords hold a description that the
library `tokenizers` reads:

```python
import json

import ctranslate2
import tokenizers

source, target = (
    tokenizers.Tokenizer.from_str(json.dumps(json.load(open(f"{{side}}.tokenizer.json"))["tokenizer"]))
    for side in ("source", "target")
)
translator = ctranslate2.Translator(".", inter_threads=2, intra_threads=1)
tokens = source.encode("…", add_special_tokens=False).tokens
result = translator.translate_batch([tokens], beam_size=5, min_decoding_length=0)[0]
print(target.decode([target.token_to_id(token) for token in result.hypotheses[0]]))
```

The end of the source is added by itself (`add_source_eos`). A bias of -10,000 keeps unk, padding and the start of
sentence out of translations, as dragoman does.
"""
