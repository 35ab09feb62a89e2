"""Tiny M2M100 and NLLB-200 models with random weights, whose tokenizers were trained on a few sentences."""

from __future__ import annotations

import io
import json
from itertools import islice
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers
import torch
import transformers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import pre_tokenizers

from dragoman.corpus.synthetic.captions import captions

HINDI = ["एक कुत्ता दौड़ रहा है।", "दो औरतें समुद्र तट पर किताब पढ़ रही हैं।", "एक छोटा बच्चा 3 गेंदों से खेलता है।"]
RUSSIAN = ["Собака бежит по берегу.", "Две женщины читают книгу.", "Маленький ребёнок играет в 3 мяча."]
GERMAN, ENGLISH = (list(texts) for texts in zip(*islice(captions("train"), 300), strict=True))
TEXTS = [*GERMAN, *ENGLISH, *HINDI * 20, *RUSSIAN * 20]
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
UNUSED_ROWS = 5
CONFIG: dict[str, Any] = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 60,
}


def save_model(directory: Path, pieces: int, languages: int, **options: Any) -> None:
    """Save random weights, with which eos is likely, and other tokens than pieces are not."""
    size = pieces + languages
    config = transformers.M2M100Config(**{**CONFIG, "vocab_size": size + UNUSED_ROWS, **options})
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = transformers.M2M100ForConditionalGeneration(config)
        for parameter in model.parameters():
            parameter.data.add_(torch.randn_like(parameter) * 0.5)
    bias = model.model.decoder.layer_norm.bias.data.normal_(generator=torch.Generator().manual_seed(1))
    output = model.lm_head.weight.data
    changes = torch.zeros(len(output)).index_fill(0, torch.tensor([0, 1, 3]), -8)
    changes[pieces:], changes[2] = -8, 3
    output += changes[:, None] * bias / bias.square().sum()
    model.save_pretrained(directory)


def save_m2m100(directory: Path, **options: Any) -> None:
    """Save a model and its tokenizer as the M2M100 models are published."""
    directory.mkdir()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_prefix=str(directory / "trained"),
        vocab_size=350,
        model_type="bpe",
        character_coverage=1.0,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(directory / "trained.model"))
    pieces = [*SPECIALS, *(processor.id_to_piece(index) for index in range(3, len(processor)))]
    (directory / "pieces.json").write_text(json.dumps({piece: index for index, piece in enumerate(pieces)}))
    tokenizer = transformers.M2M100Tokenizer(directory / "pieces.json", str(directory / "trained.model"))
    tokenizer.save_pretrained(directory)
    save_model(directory, len(pieces), len(tokenizer.lang_token_to_id), **options)


def save_nllb(directory: Path, **options: Any) -> None:
    """Save a model and its tokenizer as the NLLB-200 models are published."""
    directory.mkdir()
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", fuse_unk=True))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=600, special_tokens=SPECIALS, show_progress=False)
    backend.train_from_iterator(TEXTS, trainer)
    model = json.loads(backend.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    tokenizer = transformers.NllbTokenizer(
        vocab=model["vocab"], merges=merges, _spm_precompiled_charsmap=characters_map()
    )
    tokenizer.save_pretrained(directory)
    save_model(directory, len(model["vocab"]), len(tokenizer) - len(model["vocab"]), **options)


def characters_map() -> bytes:
    """How SentencePiece normalizes characters."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=written, vocab_size=150, minloglevel=2
    )
    protobuf: Any = sentencepiece_model_pb2  # type checkers do not know its classes
    proto = protobuf.ModelProto.FromString(written.getvalue())
    return bytes(proto.normalizer_spec.precompiled_charsmap)


SAVE = {"m2m100": save_m2m100, "nllb": save_nllb}
