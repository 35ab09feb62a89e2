"""Models with one fault each, and the code of the finding."""

from __future__ import annotations

import math

import torch
from correct_models import BOS, EOS, PAD, SIZE, MixtureOfExperts, TorchModel
from torch import Tensor, nn
from torch.nn import functional as F


class Broken(TorchModel):
    """A correct model whose logits a subclass changes."""

    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.change_logits(super().forward(source, target), source, target)


class NoCausalMask(TorchModel):
    """A published mistake: the mask is computed, but the result of masked_fill is discarded."""

    offset: int | None = None

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length, padding = target.shape[1], source == PAD
        future = torch.ones(length, length, dtype=torch.bool)
        future = torch.zeros_like(future) if self.offset is None else future.triu(self.offset)
        hidden = self.transformer(
            self.embed(source, self.source),
            self.embed(target, self.target),
            tgt_mask=future,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        logits: Tensor = self.output(hidden)
        return logits


class OffByOne(NoCausalMask):
    offset = 2


class SmallFutureLeak(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        probabilities = logits.softmax(-1)
        leak = F.one_hot(F.pad(target[:, 1:], (0, 1), value=BOS), SIZE)
        return (probabilities * 0.999 + 0.001 * leak).log()


class NoPaddingMask(TorchModel):
    """Padding of the source is masked neither in the encoder nor in the cross-attention."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        memory = self.transformer.encoder(self.embed(source, self.source))
        logits: Tensor = self.output(self.transformer.decoder(self.embed(target, self.target), memory, tgt_mask=future))
        return logits


class SmallPaddingLeak(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        share = (source == PAD).float().mean(dim=1)[:, None, None]
        wanted = F.one_hot(torch.tensor(7), SIZE)
        return (logits.softmax(-1) * (1 - 0.002 * share) + 0.002 * share * wanted).log()


class FixedWidth(NoPaddingMask):
    """Sources are always padded to the same width, without a mask, so that more padding changes nothing."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(F.pad(source, (0, 130 - source.shape[1]), value=PAD), target)


class CountsTargetWidth(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits * (1 + 0.01 * target.shape[1])


class CountsTargetPadding(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits * (1 + 0.01 * (target == PAD).sum(dim=1)[:, None, None])


class MixesBatch(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits + 0.1 * logits.mean(dim=0)


class FirstRowsMask(TorchModel):
    """The padding mask of the first sentence is used for all sentences of the batch."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        padding = (source == PAD)[:1].expand_as(source)
        memory = self.transformer.encoder(self.embed(source, self.source), src_key_padding_mask=padding)
        hidden = self.transformer.decoder(
            self.embed(target, self.target), memory, tgt_mask=future, memory_key_padding_mask=padding
        )
        logits: Tensor = self.output(hidden)
        return logits


class IgnoresSource(TorchModel):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source.masked_fill(source != PAD, EOS), target)


class TruncatesSource(TorchModel):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source[:, :4], target)


class ShiftsTwice(TorchModel):
    """The model prepends bos to targets that already start with bos."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source, F.pad(target[:, :-1], (1, 0), value=BOS))


class IgnoresTarget(TorchModel):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source, torch.full_like(target, BOS))


class NoPositions(TorchModel):
    """Positions are missing on one side, or are added along the batch dimension."""

    side, along_batch = "source", False

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        if embedding is not getattr(self, self.side):
            return super().embed(ids, embedding)
        x: Tensor = embedding(ids) * math.sqrt(32)
        return x + torch.arange(len(ids))[:, None, None].sin() if self.along_batch else x


class NoTargetPositions(NoPositions):
    side = "target"


class PositionsAlongBatch(NoPositions):
    along_batch = True


class SeesLastTokenOnly(TorchModel):
    """The cache keeps only the last key, so that each position attends only to itself."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        others = ~torch.eye(target.shape[1], dtype=torch.bool)
        padding = source == PAD
        hidden = self.transformer(
            self.embed(source, self.source),
            self.embed(target, self.target),
            tgt_mask=others,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        logits: Tensor = self.output(hidden)
        return logits


class ReturnsProbabilities(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits.softmax(dim=-1)


class LargeSharedEmbeddings(Broken):
    def __init__(self) -> None:
        super().__init__()
        self.output.weight = self.target.weight


class UnusedLayer(Broken):
    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Linear(32, 32)


class DetachedMemory(Broken):
    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        embedded = super().embed(ids, embedding)
        return embedded.detach() if embedding is self.source else embedded


class DetachedSharedOutput(TorchModel):
    """The embeddings are also the output projection, but without a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Identity()  # type: ignore[assignment]

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        hidden = super().forward(source, target)
        return F.linear(hidden, self.target.weight.data) / 8


class WeightDividedByItself(MixtureOfExperts):
    """The router chooses one expert, whose weight is always 1, so that its gradient consists of rounding."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logits = TorchModel.forward(self, source, target)
        weights, chosen = self.router(logits).softmax(dim=-1).topk(1)  # (batch, target, 1)
        outputs = torch.stack([expert(logits) for expert in self.experts], dim=-2)  # (batch, target, experts, size)
        one_hot = F.one_hot(chosen[..., 0], 8) * (weights / weights.sum(dim=-1, keepdim=True))
        mixed: Tensor = logits + (one_hot[..., None] * outputs).sum(dim=-2)
        return mixed


class ExpertsChooseTokens(MixtureOfExperts):
    """Each expert chooses the four tokens of a sentence with the highest weights."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logits = TorchModel.forward(self, source, target)
        weights = self.router(logits).softmax(dim=-1)  # (batch, target, experts)
        chosen = weights >= weights.topk(4, dim=1).values[:, -1:]
        outputs = torch.stack([expert(logits) for expert in self.experts], dim=-2)  # (batch, target, experts, size)
        mixed: Tensor = logits + ((weights * chosen)[..., None] * outputs).sum(dim=-2)
        return mixed


class SkippedLayers(Broken):
    """Each layer of a stack gets the input of the stack, so that only the last layer has an effect."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(SIZE, SIZE) for _ in range(3)])

    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        for layer in self.layers:
            changed: Tensor = layer(logits.relu())
        return changed


class UnusedActivation(Broken):
    """The result of the activation function is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(SIZE, 2 * SIZE), nn.Linear(2 * SIZE, SIZE)

    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        hidden = self.first(logits)
        hidden.relu()
        changed: Tensor = self.second(hidden)
        return changed


class ReplacesUnknownWords(TorchModel):
    """A word is replaced by another one in the ids that the caller has passed."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        source[source == SIZE - 1] = SIZE - 2
        return super().forward(source, target)


class HidesUnknownWords(TorchModel):
    """The padding mask also hides the unknown word."""

    def is_hidden(self, source: Tensor) -> Tensor:
        return (source == PAD) | (source == SIZE - 1)


class HidesTargetPadding(TorchModel):
    """Padding of the target becomes eos in the ids that the caller has passed."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source, target.masked_fill_(target == PAD, EOS))


class NormsInForward(Broken):
    """Each call creates a norm, which no optimizer knows."""

    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        normed: Tensor = nn.LayerNorm(SIZE)(logits)
        return normed


class RandomLayerInForward(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        changed: Tensor = nn.Linear(SIZE, SIZE)(logits)
        return changed


class CausalCrossAttention(TorchModel):
    """The causal mask of the decoder's self-attention also masks the cross-attention, and possibly the encoder."""

    in_encoder = False

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        padding, width, length = source == PAD, source.shape[1], target.shape[1]
        future = torch.ones(256, 256, dtype=torch.bool).triu(1)
        hidden = self.transformer(
            self.embed(source, self.source),
            self.embed(target, self.target),
            src_mask=future[:width, :width] if self.in_encoder else None,
            tgt_mask=future[:length, :length],
            memory_mask=future[:length, :width],
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        logits: Tensor = self.output(hidden)
        return logits


class CausalCrossAttentionPreNorm(CausalCrossAttention):
    def __init__(self) -> None:
        super().__init__(norm_first=True)


class ExchangedMasks(TorchModel):
    """The cross-attention has the causal mask of the self-attention, which has none."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        padding = source == PAD
        hidden = self.transformer(
            self.embed(source, self.source),
            self.embed(target, self.target),
            memory_mask=torch.ones(target.shape[1], source.shape[1], dtype=torch.bool).triu(1),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        logits: Tensor = self.output(hidden)
        return logits


class CausalEverywhere(CausalCrossAttention):
    in_encoder = True


class CarriesState(Broken):
    """The last hidden state of a call is added in the next call."""

    state: Tensor | None = None

    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        state = self.state if self.state is not None and self.state.shape == logits.shape else 0.0
        self.state = logits.detach()
        return logits + state


class KeepsFirstMemory(TorchModel):
    """The source of the first call is used in all later calls with as many sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[tuple[int, ...], Tensor] = {}

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(self.sources.setdefault(tuple(source.shape), source), target)


class LayersInList(Broken):
    """Layers in a list, which eval() does not reach."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Sequential(nn.Linear(SIZE, SIZE), nn.Dropout(0.1)) for _ in range(2)]

    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        for layer in self.layers:
            logits = logits + layer(logits)
        return logits


class BoundedLogits(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits.tanh()


class NotANumber(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits / 0.0 - logits / 0.0


class OverflowsWhenLong(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits + 0 * torch.tensor(float(source.shape[1])).exp()


class OverflowsInHalf(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits.masked_fill(F.one_hot(torch.tensor(PAD), SIZE).bool(), -1e9)


class AllPaddingSpoilsBatch(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        lengths = (source != PAD).sum(dim=1)
        return logits + 0 * (1 / lengths).sum() * logits


class FewPositions(Broken):
    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        if target.shape[1] > 50:
            raise IndexError("index out of range in self")
        return logits


BROKEN: list[tuple[type[nn.Module], str]] = [
    (NoCausalMask, "future-leak"),
    (OffByOne, "future-leak"),
    (SmallFutureLeak, "future-leak"),
    (NoPaddingMask, "source-padding-leak"),
    (SmallPaddingLeak, "source-padding-leak"),
    (FixedWidth, "source-padding-leak"),
    (CountsTargetWidth, "target-padding-leak"),
    (CountsTargetPadding, "target-padding-leak"),
    (MixesBatch, "batch-leak"),
    (FirstRowsMask, "batch-leak"),
    (IgnoresSource, "source-ignored"),
    (TruncatesSource, "source-ignored"),
    (CausalCrossAttention, "source-ignored"),
    (CausalCrossAttentionPreNorm, "source-ignored"),
    (CausalEverywhere, "source-ignored"),
    (ShiftsTwice, "target-ignored"),
    (IgnoresTarget, "target-ignored"),
    (SeesLastTokenOnly, "target-ignored"),
    (NoPositions, "position-blind"),
    (PositionsAlongBatch, "position-blind"),
    (ReturnsProbabilities, "not-logits"),
    (LargeSharedEmbeddings, "bad-initial-loss"),
    (UnusedLayer, "no-gradient"),
    (SkippedLayers, "no-gradient"),
    (DetachedMemory, "no-gradient"),
    (DetachedSharedOutput, "no-gradient"),
    (WeightDividedByItself, "no-gradient"),
    (UnusedActivation, "missing-activation"),
    (HidesUnknownWords, "masked-ids"),
    (ReplacesUnknownWords, "changed-ids"),
    (HidesTargetPadding, "changed-ids"),
    (NormsInForward, "created-in-forward"),
    (RandomLayerInForward, "created-in-forward"),
    (CarriesState, "kept-state"),
    (KeepsFirstMemory, "kept-state"),
    (LayersInList, "unregistered-layers"),
    (NotANumber, "overflow"),
    (OverflowsWhenLong, "overflow"),
    (AllPaddingSpoilsBatch, "overflow"),
    (FewPositions, "length-limit"),
]


def make_broken(model_class: type[nn.Module]) -> nn.Module:
    torch.manual_seed(2)
    return model_class().eval()
