"""An exported model in transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from dragoman.bundle import Bundle
from dragoman.dataset.batch import pad
from dragoman.export.huggingface.progress_bars import without_progress_bars
from dragoman.export.protocol import OutputKind, Outputs
from dragoman.settings import Decoding
from dragoman.text.multilingual import language_ids
from dragoman.text.normalization import collapse_spaces

BATCH_SIZE = 32


class HuggingFaceModel:
    """A model and its tokenizer, see `ExportedModel`.

    The search is greedy, because beams are ranked by another formula. The generation config limits its length; no limit
    depends on the length of the source.
    """

    output_kind: OutputKind = "logits"

    def __init__(self, bundle: Bundle, directory: Path) -> None:
        self._bundle = bundle
        with without_progress_bars():
            self._model = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
        self._tokenizer = AutoTokenizer.from_pretrained(directory)
        config = self._model.generation_config
        limit = config.max_length - 1  # without bos
        self.decoding = Decoding(
            beam_size=1,
            max_length=limit,
            max_length_offset=limit,
            min_length=min(config.min_new_tokens or 0, limit - 1),
            no_repeat_ngram=config.no_repeat_ngram_size or 0,
        )

    @torch.inference_mode()
    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        """Logits after every target token."""
        source, target = self._bundle.source.vocabulary, self._bundle.target.vocabulary
        ids = pad(sources, first=None, last=source.eos, pad=source.pad)
        inputs = pad(targets, first=target.bos, last=None, pad=target.pad)
        logits = self._model(input_ids=ids, attention_mask=(ids != source.pad).long(), decoder_input_ids=inputs).logits
        return [row[: len(tokens) + 1].numpy() for row, tokens in zip(logits, targets, strict=True)]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Greedy translations, in batches of similar length."""
        translations = [""] * len(texts)
        order = np.argsort([len(text) for text in texts], kind="stable").tolist()
        for start in range(0, len(order), BATCH_SIZE):
            batch = order[start : start + BATCH_SIZE]
            for index, text in zip(batch, self._generate([texts[index] for index in batch]), strict=True):
                translations[index] = text
        return translations

    def _generate(self, texts: list[str]) -> list[str]:
        inputs = self._tokenizer(texts, return_tensors="pt", padding=True, truncation=True)
        generated = self._model.generate(**inputs, num_beams=1, length_penalty=1.0)
        generated = generated[:, 1 + len(language_ids(self._bundle.target)) :]  # without the tokens that are given
        # like dragoman's translations, without line breaks and control characters, which weak models produce as bytes
        return [collapse_spaces(text) for text in self._tokenizer.batch_decode(generated, skip_special_tokens=True)]
