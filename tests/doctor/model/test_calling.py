"""Models of common forms are examined without a line of glue; for others, the message shows that line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from correct_models import IDS, PAD, SIZE, TorchModel, torch_transformer
from torch import Tensor, nn
from torch.nn.functional import pad

from dragoman.doctor import Finding, examine
from dragoman.errors import UserError

MODEL = torch_transformer(norm_first=False)


def errors(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings if finding.severity == "error"}


def called_as(findings: list[Finding]) -> str:
    return " ".join(finding.message for finding in findings if finding.code == "called-as")


class WithMasks(TorchModel):
    """A model whose caller makes the masks; subclasses understand them in different ways."""

    def masks(self, source_mask: Tensor, target_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Padding (batch, source) and what each target position may not see, (batch · heads, target, target)."""
        return ~source_mask[:, 0, 0], ~target_mask[:, 0].repeat_interleave(4, 0)

    def forward(self, source: Tensor, target: Tensor, source_mask: Tensor, target_mask: Tensor) -> Tensor:  # type: ignore[override]
        padding, hidden = self.masks(source_mask, target_mask)
        memory = self.transformer.encoder(self.embed(source, self.source), src_key_padding_mask=padding)
        decoded = self.transformer.decoder(
            self.embed(target, self.target), memory, tgt_mask=hidden, memory_key_padding_mask=padding
        )
        logits: Tensor = self.output(decoded)
        return logits


class TimeFirstWithMasks(nn.Module):
    """nn.Transformer as in a tutorial: ids of shape (length, batch), and masks that the caller makes."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(SIZE, 32), nn.Embedding(SIZE, 32)
        self.positions = nn.Parameter(torch.randn(200, 1, 32))
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64), 1, enable_nested_tensor=False)
        self.transformer = nn.Transformer(32, 4, 1, 1, 64, custom_encoder=encoder)
        self.output = nn.Linear(32, SIZE)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor,
        tgt_mask: Tensor,
        src_padding_mask: Tensor,
        tgt_padding_mask: Tensor,
        memory_key_padding_mask: Tensor,
    ) -> Tensor:
        source = self.source(src) + self.positions[: len(src)]
        target = self.target(tgt) + self.positions[: len(tgt)]
        masks = (src_mask, tgt_mask, None, src_padding_mask, tgt_padding_mask, memory_key_padding_mask)
        hidden = self.transformer(source, target, *masks)
        logits: Tensor = self.output(hidden)
        return logits


class ThreeDimensions(WithMasks):
    def masks(self, source_mask: Tensor, target_mask: Tensor) -> tuple[Tensor, Tensor]:
        assert source_mask.shape[1] == 1
        return source_mask[:, 0] == 0, (target_mask == 0).repeat_interleave(4, 0)


class HiddenIsTrue(WithMasks):
    def masks(self, source_mask: Tensor, target_mask: Tensor) -> tuple[Tensor, Tensor]:
        assert source_mask.dim() == 2
        return source_mask.bool(), target_mask.bool()


class Additive(WithMasks):
    def masks(self, source_mask: Tensor, target_mask: Tensor) -> tuple[Tensor, Tensor]:
        assert source_mask.dim() == 2
        return source_mask + torch.zeros(source_mask.shape), target_mask + torch.zeros(target_mask.shape)


class OnlyPadding(WithMasks):
    """The caller passes padding masks, and the model makes the causal one."""

    def masks(self, source_mask: Tensor, target_mask: Tensor) -> tuple[Tensor, Tensor]:
        length = target_mask.shape[1]
        target_mask.view(-1, 1, 1, length).expand(len(source_mask), 1, length, length)  # fails for (target, target)
        return ~source_mask.view(len(source_mask), -1), torch.ones(length, length, dtype=torch.bool).triu(1)


class OptionalMasks(WithMasks):
    def forward(
        self, source: Tensor, target: Tensor, source_mask: Tensor | None = None, target_mask: Tensor | None = None
    ) -> Tensor:
        if source_mask is None or target_mask is None:
            source_mask = torch.ones(len(source), 1, 1, source.shape[1], dtype=torch.bool)
            target_mask = torch.ones(len(target), 1, target.shape[1], target.shape[1], dtype=torch.bool)
        return super().forward(source, target, source_mask, target_mask)


class IgnoresMasks(WithMasks):
    """The mask is computed and thrown away."""

    def masks(self, source_mask: Tensor, target_mask: Tensor) -> tuple[Tensor, Tensor]:
        padding, hidden = super().masks(source_mask, target_mask)
        return padding, torch.zeros_like(hidden)


class WithoutForward(nn.Module):
    """encode, decode and a projection that the caller applies."""

    def __init__(self, project: bool = False) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.inner = TorchModel()
        self.projection = self.inner.output
        self.project = project

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        memory: Tensor = self.inner.transformer.encoder(
            self.inner.embed(src, self.inner.source), src_key_padding_mask=~src_mask[:, 0, 0]
        )
        return memory

    def decode(self, memory: Tensor, src_mask: Tensor, tgt: Tensor, tgt_mask: Tensor) -> Tensor:
        hidden: Tensor = self.inner.transformer.decoder(
            self.inner.embed(tgt, self.inner.target),
            memory,
            tgt_mask=~tgt_mask[:, 0].repeat_interleave(4, 0),
            memory_key_padding_mask=~src_mask[:, 0, 0],
        )
        return self.projection(hidden) if self.project else hidden


class WithGenerator(WithoutForward):
    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
        return self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask)


def time_first(source: Tensor, target: Tensor) -> Tensor:
    if source.shape[1] != target.shape[1]:
        raise RuntimeError("the batch sizes differ")
    logits: Tensor = MODEL(source.T, target.T).transpose(0, 1)
    return logits


def equal_lengths(source: Tensor, target: Tensor) -> Tensor:
    if source.shape != target.shape:
        raise RuntimeError("the lengths differ")
    logits: Tensor = MODEL(source, target)
    return logits


WAYS: dict[str, tuple[Callable[..., Any], str]] = {
    "time first": (time_first, "model(source.T, target.T).transpose(0, 1)"),
    "time first with masks": (TimeFirstWithMasks().eval(), "model(source.T, target.T, src_mask"),
    "logits are time first": (lambda s, t: MODEL(s, t).transpose(0, 1), "model(source, target).transpose(0, 1)"),
    "flattened": (lambda s, t: MODEL(s, t).flatten(0, 1), ".view(*target.shape, -1)"),
    "vocabulary second": (lambda s, t: MODEL(s, t).transpose(1, 2), ".transpose(1, 2)"),
    "drops the last target id": (lambda s, t: MODEL(s, t[:, :-1]), "the model removes the last target id itself"),
    "equal lengths": (equal_lengths, "padded to the same length"),
    "attribute": (lambda s, t: SimpleNamespace(logits=MODEL(s, t)), ".logits"),
    "tuple": (lambda s, t: (None, MODEL(s, t)), "[1]"),
    "dictionary": (lambda s, t: {"loss": torch.zeros(()), "logits": MODEL(s, t)}, '["logits"]'),
    "array": (lambda s, t: MODEL(s, t).detach().numpy(), ""),
    "target first": (lambda s, t: MODEL(t, s), "model(target, source)"),
    "named target first": (lambda tgt, src: MODEL(src, tgt), "model(target, source)"),
    "masks": (WithMasks().eval(), "(batch, 1, 1, source) and (batch, 1, target, target), True = may attend"),
    "masks of three dimensions": (ThreeDimensions().eval(), "(batch, 1, source) and (batch, target, target)"),
    "masks are True where hidden": (HiddenIsTrue().eval(), "(batch, source) and (target, target), True = hidden"),
    "masks are added": (Additive().eval(), "added to the scores"),
    "padding masks": (OnlyPadding().eval(), "(batch, source) and (batch, target)"),
    "optional masks": (OptionalMasks().eval(), "True = may attend"),
    "no forward": (WithoutForward(project=True).eval(), "model.encode(source, src_mask); model.decode(memory, target"),
    "projection outside": (WithoutForward().eval(), "then model.projection(…)"),
    "generator outside": (WithGenerator().eval(), "then model.projection(…)"),
}


@pytest.mark.parametrize("form", WAYS)
def test_a_common_form_needs_no_glue_and_is_named(form: str) -> None:
    forward, line = WAYS[form]
    findings = examine(forward, **IDS)
    assert not errors(findings), findings
    assert "target-ignored" not in {finding.code for finding in findings}
    assert line in called_as(findings)


def test_usual_models_have_no_note_about_calls() -> None:
    assert not called_as(examine(MODEL, **IDS))


def test_no_meaning_of_masks_hides_a_mask_that_is_thrown_away() -> None:
    (leak,) = [each for each in examine(IgnoresMasks().eval(), **IDS) if each.severity == "error"]
    assert leak.code == "future-leak"
    assert leak.measured["reach"] == 9


class ShiftsItself(TorchModel):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source, pad(target[:, :-1], (1, 0), value=IDS["bos_id"]))


def test_a_model_that_shifts_the_target_itself_is_warned_about() -> None:
    (finding,) = [each for each in examine(ShiftsItself().eval(), **IDS) if each.severity != "note"]
    assert (finding.code, finding.severity) == ("target-ignored", "warning")
    assert "only if" in finding.cause


def needs_more(source: Tensor, target: Tensor, temperature: float) -> Tensor:
    return target / temperature


class TakesEmbeddings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(32, SIZE)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.output(target) + self.output(source).mean(dim=1, keepdim=True)
        return logits


def without_batch_first(forward: Callable[[Any, Tensor, Tensor], Tensor] = TorchModel.forward) -> TorchModel:
    """A model that has the batch first, with an nn.Transformer that expects the length first."""
    model: TorchModel = type("Forgetful", (TorchModel,), {"forward": forward})()
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64), 1, enable_nested_tensor=False)
    model.transformer = nn.Transformer(32, 4, 1, 1, 64, custom_encoder=encoder)
    return model.eval()


def without_masks(self: TorchModel, source: Tensor, target: Tensor) -> Tensor:
    logits: Tensor = self.output(self.transformer(self.embed(source, self.source), self.embed(target, self.target)))
    return logits


def test_a_forgotten_batch_first_that_does_not_fail_is_a_batch_leak() -> None:
    model = without_batch_first(without_masks)
    assert "batch-leak" in errors(examine(model, **IDS))
    assert model.transformer.batch_first is False


UNKNOWN: dict[str, tuple[Callable[..., Any], str]] = {
    "more arguments": (needs_more, "forward=lambda source, target: model(source, target, temperature=…)"),
    "one argument": (lambda ids: MODEL(ids, ids), "model(torch.cat([source, target], dim=1))[:, source.shape[1]:]"),
    "length first inside": (without_batch_first(), "it works with batch_first=True"),
    "embeddings": (TakesEmbeddings(), "model(embed(source), embed(target))"),
    "hidden states": (lambda s, t: torch.zeros(*t.shape, 32), "hidden states"),
    "padded vocabulary": (lambda s, t: pad(MODEL(s, t), (0, 13)), "model(source, target)[..., :50]"),
    "fewer ids": (lambda s, t: MODEL(s + SIZE, t), "check vocabulary_size and source_vocabulary_size"),
    "ids": (lambda s, t: torch.zeros(*t.shape, SIZE, dtype=torch.long), "not logits"),
}


@pytest.mark.parametrize("form", UNKNOWN)
def test_other_forms_lead_to_the_line_to_write(form: str) -> None:
    forward, line = UNKNOWN[form]
    with pytest.raises(UserError, match=re.escape(line)):
        examine(forward, **IDS)


def test_an_error_of_the_model_is_located() -> None:
    with pytest.raises(UserError, match=r"RuntimeError in test_calling\.py, line \d+: broken"):
        examine(_fail, **IDS)


def _fail(source: Tensor, target: Tensor) -> Tensor:
    raise RuntimeError("broken")


class InvertedMask(TorchModel):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory = self.transformer.encoder(self.embed(source, self.source), src_key_padding_mask=source != PAD)
        logits: Tensor = self.output(self.transformer.decoder(self.embed(target, self.target), memory))
        return logits


def test_an_inverted_padding_mask_leads_to_a_hint() -> None:
    with pytest.raises(UserError, match="src_key_padding_mask is inverted"):
        examine(InvertedMask().eval(), **IDS)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("vocabulary_size", "many", "vocabulary_size = 'many': expected an integer"),
        ("bos_id", None, "bos_id = None: expected an integer"),
        ("eos_id", -1, "eos_id = -1: not an id"),
        ("pad_id", 500, "pad_id = 500: not an id of the vocabulary; vocabulary_size = 50, so ids are 0 to 49"),
        ("source_vocabulary_size", 3, "eos_id = 3: not an id of the vocabulary; source_vocabulary_size = 3"),
        ("max_length", 0, "max_length = 0: at least 10 ids"),
        ("forward", "model", "forward: expected a model"),
    ],
)
def test_wrong_arguments_are_named(name: str, value: Any, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        examine(**{"forward": MODEL, **IDS, name: value})


@pytest.mark.parametrize("name", ["marian", "bart", "t5"])
def test_models_of_hugging_face_are_called_by_the_names_of_their_arguments(name: str) -> None:
    pytest.importorskip("transformers")
    from correct_models import hugging_face

    findings = examine(hugging_face(name).model, **IDS)  # type: ignore[arg-type]
    assert not errors(findings)
    assert "input_ids=source, decoder_input_ids=target" in called_as(findings)


def test_scores_of_a_wrong_width_are_not_taken_for_logits() -> None:
    with pytest.raises(UserError, match=r"size of the target vocabulary, is 30"):
        examine(lambda s, t: MODEL(s, t)[..., :30] * math.sqrt(2), **IDS)
