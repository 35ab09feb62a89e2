"""Export to Argos: SentencePiece splits every text as our tokenizers do, or the export is refused."""

from __future__ import annotations

import json
import zipfile
from itertools import islice
from pathlib import Path

import pytest
import sentencepiece
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_bundles import make_bundle, sentences, tokenizers

from dragoman.corpus.synthetic.captions import captions
from dragoman.errors import UserError
from dragoman.export.argos.sentencepiece_model import sentencepiece_model, unsupported_tokenizer
from dragoman.export.parity import Sample
from dragoman.export.run import export
from dragoman.settings import Text
from dragoman.text.subword import SubwordTokenizer, load_subwords

KINDS = {
    "bpe": Text(vocabulary_size=500),
    "bpe, lowercase, nfkc": Text(vocabulary_size=500, lowercase=True, normalization="nfkc"),
    "bpe, no normal form": Text(vocabulary_size=400, normalization="none"),
    "unigram": Text(vocabulary_size=500, tokenizer="unigram"),
}
ODD = [
    "</s> Hund <pad> <0x41>",
    "Ａ\u00a0b  c\td\u3000e",
    "e\u0301 E\u0323\u0302 E\u0302\u0323 Ệ",
    "\u2581 x ▁▁",
    "ﬁne ½ ² Ⅷ",
    "ÄÖÜ ẞ İ Σας 漢字🙂 \u200d x",
    "",
]


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[SubwordTokenizer, sentencepiece.SentencePieceProcessor]:
    tokenizer, _ = tokenizers(KINDS[request.param])
    assert isinstance(tokenizer, SubwordTokenizer)
    assert unsupported_tokenizer(tokenizer) == []
    return tokenizer, sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(tokenizer))


def test_ids_are_the_same(pair: tuple[SubwordTokenizer, sentencepiece.SentencePieceProcessor]) -> None:
    ours, theirs = pair
    texts = [text for both in islice(captions("test"), 200) for text in both] + ODD
    assert theirs.encode(texts) == ours.encode(texts)


def test_ids_of_any_text_are_the_same(pair: tuple[SubwordTokenizer, sentencepiece.SentencePieceProcessor]) -> None:
    ours, theirs = pair

    @settings(max_examples=60, database=None)
    @given(st.text("abcdefgimnorstuäöüßAEH .,-\u00a0\t", max_size=40))
    def check(text: str) -> None:
        assert theirs.encode(text) == ours.encode([text])[0]

    check()


def test_tokens_that_sentencepiece_would_also_build_from_other_tokens_are_refused() -> None:
    """The merges are "bc", "ab" and then "ab" + "c". Our BPE splits the text "abc" into "a" and "bc".

    SentencePiece would merge these to "abc", because that is in the vocabulary.
    """
    tokenizer, _ = tokenizers(KINDS["bpe"])
    data = tokenizer.to_json()
    model = data["tokenizer"]["model"]
    model["vocab"] = {
        token: index for index, token in enumerate(["<unk>", "<pad>", "<s>", "</s>", *"▁abc", "bc", "ab", "abc"])
    }
    model["merges"] = [["b", "c"], ["a", "b"], ["ab", "c"]]
    broken = load_subwords(data)
    assert [broken.vocabulary.tokens[index] for index in broken.encode(["abc"])[0]] == ["▁", "a", "bc"]
    (reason,) = unsupported_tokenizer(broken)
    assert "'abc'" in reason
    assert "'ab'" not in reason


@pytest.mark.parametrize("variant", ["pre-norm, rotary", "unigram, silu", "post-norm, two vocabularies"])
def test_a_package_computes_the_same(variant: str, tmp_path: Path) -> None:
    bundle = make_bundle(variant, model__output_bias=True)
    byte_tokens = [index for token, index in bundle.target.vocabulary.ids.items() if token.startswith("<0x")]
    with torch.no_grad():
        bundle.model.output.bias[byte_tokens] -= 50  # libraries decode invalid UTF-8 differently
    parity = export(bundle, "argos", tmp_path / "out", sample=Sample(sentences()))
    assert parity.largest_difference < 1e-4
    assert parity.same_text > 0.9


def test_a_package_contains_the_files_that_argos_expects(tmp_path: Path) -> None:
    export(make_bundle(), "argos", tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "out" / "random.argosmodel") as package:
        names = package.namelist()
        metadata = json.loads(package.read(next(name for name in names if name.endswith("metadata.json"))))
    assert len({name.split("/")[0] for name in names}) == 1, "one directory"
    assert {
        "model/model.bin",
        "model/config.json",
        "sentencepiece.model",
        "minisbd/rules.onnx",
        "metadata.json",
        "README.md",
    } <= {name.partition("/")[2] for name in names}
    assert (metadata["from_code"], metadata["to_code"]) == ("de", "en")


def test_subwords_without_byte_fallback_are_refused() -> None:
    tokenizer, _ = tokenizers(Text(vocabulary_size=300, byte_fallback=False))
    assert "text.byte_fallback = false" in unsupported_tokenizer(tokenizer)[0]


@pytest.mark.parametrize(
    ("variant", "reason"), [("words", "text.tokenizer"), ("split words", "text.pre_tokenizer = 'whitespace'")]
)
def test_other_tokenizers_are_refused(variant: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=reason):
        export(make_bundle(variant), "argos", tmp_path / "out")
