"""What the report needs of each line of metrics.jsonl; lines of users or of other versions may lack it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError

from dragoman.training.run.log import Metrics


def _encodable(text: str) -> str:
    text.encode()  # raises a ValueError for half of a surrogate pair, which JSON can contain, but no file
    return text


_Text = Annotated[str, AfterValidator(_encodable)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _Sample(_Part):
    source: _Text
    reference: _Text
    translation: _Text
    direction: _Text = ""


class _RankedSample(_Sample):
    chrf: FiniteFloat


class _GroupScores(_Part):
    name: _Text
    sentences: int
    bleu: FiniteFloat
    chrf: FiniteFloat


class _Attention(_Part):
    source: list[_Text]
    translation: list[_Text]
    weights: list[list[FiniteFloat]]


class _Timed(_Part):
    step: int = Field(ge=0, le=10**12)
    seconds: FiniteFloat


class _Train(_Timed):
    kind: Literal["train"]
    epoch: FiniteFloat


class _Scores(_Part):
    bleu: FiniteFloat
    chrf: FiniteFloat
    perplexity: FiniteFloat
    sentences: int
    bleu_signature: _Text
    chrf_signature: _Text
    samples: list[_Sample]


class _Direction(_Part):
    sentences: int
    bleu: FiniteFloat
    chrf: FiniteFloat
    loss: FiniteFloat
    wrong_language: FiniteFloat
    problems: list[_Text] = []


class _Validation(_Timed, _Scores):
    kind: Literal["validation"]
    epoch: FiniteFloat
    loss: FiniteFloat
    best: bool
    directions: dict[_Text, _Direction] = {}


class _Test(_Scores):
    kind: Literal["test"]
    name: _Text
    decoding: _Text
    best: list[_RankedSample] = []
    worst: list[_RankedSample] = []
    by_length: list[_GroupScores] = []
    by_rarest_word: list[_GroupScores] = []
    attention: list[_Attention] = []


class _ComparedScores(_Part):
    sentences: int
    bleu: FiniteFloat
    chrf: FiniteFloat


class _Comparison(_Timed):
    kind: Literal["comparison"]
    name: _Text
    old_text: bool
    before: _ComparedScores
    after: _ComparedScores


class _Event(_Timed):
    kind: Literal["event"]
    message: _Text


class _Slow(_Timed):
    kind: Literal["slow"]
    speed: FiniteFloat
    expected: FiniteFloat | None
    message: _Text
    fix: _Text


_LINE: TypeAdapter[Any] = TypeAdapter(
    Annotated[_Train | _Validation | _Test | _Comparison | _Event | _Slow, Field(discriminator="kind")]
)


def complete_lines(metrics: Metrics) -> list[dict[str, Any]]:
    """The lines that have everything that the report shows of their kind."""
    return [line for line in metrics if _is_complete(line)]


def _is_complete(line: dict[str, Any]) -> bool:
    try:
        _LINE.validate_python(line)
    except ValidationError:
        return False
    return True
