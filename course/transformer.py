"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017) in one file: model, loss, training, search.

Shapes are (batch, length, d_model) unless a comment gives others. Masks are True where attention is allowed.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor, nn

PAD, BOS, EOS, UNK = range(4)  # the first four ids of every vocabulary


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Chapter 1: softmax(q kᵀ / √d) v. q: (..., target, d), k and v: (..., source, d), mask: (..., target, source).

    Returns the output, (..., target, d), and the weights, (..., target, source).
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., target, source)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ v, weights


def padding_mask(ids: Tensor) -> Tensor:
    """Chapter 2: True where there is a token, for ids (batch, length) -> (batch, 1, 1, length)."""
    return (ids != PAD)[:, None, None, :]


def causal_mask(length: int) -> Tensor:
    """Chapter 2: True where the key is not later than the query, (length, length)."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def positions(length: int, d_model: int) -> Tensor:
    """Chapter 2: the table of sines and cosines, interleaved, (length, d_model); section 3.5 of the paper."""
    rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))  # (d_model / 2,)
    angles = torch.arange(length)[:, None] * rates  # (length, d_model / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


class MultiHeadAttention(nn.Module):
    """Several attentions at once, each on its own part of the vectors."""

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)
        self.weights: Tensor | None = None  # of the last call, to look at: (batch, heads, target, source)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """Chapter 2: attend from x, (batch, target, d_model), to memory, (batch, source, d_model)."""
        q, k, v = self.split(self.query(x)), self.split(self.key(memory)), self.split(self.value(memory))
        mixed, self.weights = attention(q, k, v, mask)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def split(self, x: Tensor) -> Tensor:
        """Chapter 2: (batch, length, d_model) -> (batch, heads, length, d_model / heads)."""
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between them, the same at every position."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Chapter 3: widen, ReLU, narrow."""
        return self.outer(self.inner(x).relu())


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward; each is added to its input, which a norm prepares (pre-norm)."""

    def __init__(self, d_model: int, heads: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Chapter 3: x + attention(norm(x)), then x + feed_forward(norm(x))."""
        y = self.attention_norm(x)
        x = x + self.dropout(self.attention(y, y, mask))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output, then feed-forward."""

    def __init__(self, d_model: int, heads: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads)
        self.cross_attention = MultiHeadAttention(d_model, heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.attention_norm = nn.LayerNorm(d_model)
        self.cross_attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor) -> Tensor:
        """Chapter 3: attend to the target so far, then to the memory, then feed forward."""
        y = self.attention_norm(x)
        x = x + self.dropout(self.attention(y, y, mask))
        x = x + self.dropout(self.cross_attention(self.cross_attention_norm(x), memory, memory_mask))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


class Transformer(nn.Module):
    """An encoder for the source, and a decoder that predicts each next target token."""

    table: Tensor  # of positions

    def __init__(
        self, source_size: int, target_size: int, d_model: int = 128, heads: int = 4, d_ff: int = 512,
        layers: int = 2, dropout: float = 0.1, max_length: int = 256,
    ) -> None:  # fmt: skip
        super().__init__()
        self.source_embedding = nn.Embedding(source_size, d_model)
        self.target_embedding = nn.Embedding(target_size, d_model)
        self.encoder = nn.ModuleList(EncoderLayer(d_model, heads, d_ff, dropout) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderLayer(d_model, heads, d_ff, dropout) for _ in range(layers))
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder_norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, target_size)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", positions(max_length, d_model), persistent=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        """Chapter 3: embeddings times √d_model, plus positions; ids (batch, length) -> (batch, length, d_model)."""
        x = embedding(ids) * math.sqrt(embedding.embedding_dim)
        return self.dropout(x + self.table[: ids.shape[1]])

    def encode(self, source: Tensor) -> Tensor:
        """Chapter 3: source ids (batch, source) -> memory (batch, source, d_model)."""
        x = self.embed(source, self.source_embedding)
        for layer in self.encoder:
            x = layer(x, padding_mask(source))
        return self.encoder_norm(x)

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """Chapter 3: target ids (batch, target) and memory -> logits (batch, target, target_size)."""
        x = self.embed(target, self.target_embedding)
        mask = causal_mask(target.shape[1])
        for layer in self.decoder:
            x = layer(x, memory, mask, padding_mask(source))
        return self.output(self.decoder_norm(x))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of each next token, teacher-forced: the decoder reads the correct target, which starts with BOS."""
        return self.decode(target, self.encode(source), source)


class Vocabulary:
    """Words and ids; the first four ids are PAD, BOS, EOS and UNK."""

    def __init__(self, texts: list[str]) -> None:
        counts = Counter(word for text in texts for word in words(text))
        self.words = ["<pad>", "<s>", "</s>", "<unk>", *(word for word, _ in counts.most_common())]
        self.ids = {word: number for number, word in enumerate(self.words)}

    def encode(self, text: str) -> list[int]:
        """The ids of a text, followed by EOS."""
        return [*(self.ids.get(word, UNK) for word in words(text)), EOS]

    def decode(self, ids: list[int]) -> str:
        """The text of ids up to EOS."""
        end = ids.index(EOS) if EOS in ids else len(ids)
        return " ".join(self.words[number] for number in ids[:end] if number not in (PAD, BOS)).replace(" .", ".")


def words(text: str) -> list[str]:
    """A text as words; the full stop is a word."""
    return text.replace(".", " .").split()


def make_batch(pairs: list[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor, Tensor]:
    """Chapter 4: pairs of ids, ended by EOS -> source, decoder input (BOS first) and labels, each (batch, length)."""
    source = nn.utils.rnn.pad_sequence([torch.tensor(s) for s, _ in pairs], batch_first=True, padding_value=PAD)
    labels = nn.utils.rnn.pad_sequence([torch.tensor(t) for _, t in pairs], batch_first=True, padding_value=PAD)
    inputs = torch.cat((torch.full((len(pairs), 1), BOS), labels[:, :-1]), dim=1)
    return source, inputs, labels


def loss(logits: Tensor, labels: Tensor, smoothing: float = 0.1) -> Tensor:
    """Chapter 4: mean cross-entropy per real token; logits (batch, length, size), labels (batch, length).

    With label smoothing, the right token has the probability 1 - smoothing, and the rest is shared by all tokens.
    """
    log_probabilities = logits.log_softmax(dim=-1)
    right = log_probabilities.gather(-1, labels[..., None])[..., 0]  # (batch, length)
    uniform = log_probabilities.mean(dim=-1)
    losses = -(1 - smoothing) * right - smoothing * uniform
    real = labels != PAD
    return losses[real].sum() / real.sum()


def learning_rate(step: int, peak: float, warmup: int) -> float:
    """Chapter 4: rises in a straight line to the peak at step `warmup`, then falls with 1 / √step; steps from 1."""
    return peak * min(step / warmup, math.sqrt(warmup / step))


def shuffled_batches(pairs: list[tuple[list[int], list[int]]], size: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Batches without end, of sentences of similar length, so that there is little padding."""
    ordered = sorted(pairs, key=lambda pair: (len(pair[0]), len(pair[1])))
    starts = list(range(0, len(ordered), size))
    while True:
        random.shuffle(starts)
        for start in starts:
            yield make_batch(ordered[start : start + size])


def train(
    model: Transformer, pairs: list[tuple[list[int], list[int]]], steps: int, batch_size: int = 64,
    peak: float = 2e-3, warmup: int = 100, log_every: int = 50,
) -> list[float]:  # fmt: skip
    """Chapter 5: train in place with Adam; returns the loss of every step."""
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    model.train()
    losses, begin = [], time.perf_counter()
    for step, (source, inputs, labels) in enumerate(shuffled_batches(pairs, batch_size), start=1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, peak, warmup)
        value = loss(model(source, inputs), labels)
        optimizer.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(value.item())
        if step % log_every == 0:
            print(f"step {step}  loss {sum(losses[-log_every:]) / log_every:.3f}  {time.perf_counter() - begin:.0f} s")
        if step == steps:
            break
    model.eval()
    return losses


@torch.no_grad()
def greedy_search(model: Transformer, source: Tensor, max_length: int = 50) -> list[list[int]]:
    """Chapter 6: the most probable next token, again and again; source (batch, source) -> ids that end with EOS."""
    model.eval()
    memory = model.encode(source)
    target = torch.full((len(source), 1), BOS)
    ended = torch.zeros(len(source), dtype=torch.bool)
    for _ in range(max_length):
        best = model.decode(target, memory, source)[:, -1].argmax(dim=-1)  # (batch,)
        best = best.masked_fill(ended, PAD)
        target = torch.cat((target, best[:, None]), dim=1)
        ended |= best == EOS
        if ended.all():
            break
    return [[token for token in row if token != PAD] for row in target[:, 1:].tolist()]


@torch.no_grad()
def beam_search(
    model: Transformer, source: Tensor, beam: int = 4, length_penalty: float = 1.0, max_length: int = 50
) -> list[tuple[float, list[int]]]:
    """Chapter 6: finished hypotheses of one source, (1, source), best first: (score, ids that end with EOS).

    The score is the sum of log-probabilities divided once by length ** length_penalty.
    """
    model.eval()
    memory = model.encode(source)
    running: list[tuple[float, list[int]]] = [(0.0, [BOS])]  # sums of log-probabilities, not yet divided
    finished: list[tuple[float, list[int]]] = []
    for length in range(1, max_length + 1):
        target = torch.tensor([ids for _, ids in running])
        logits = model.decode(target, memory.expand(len(running), -1, -1), source.expand(len(running), -1))
        sums = logits[:, -1].log_softmax(dim=-1) + torch.tensor([total for total, _ in running])[:, None]
        best = sums.flatten().topk(2 * beam)  # enough: at most `beam` of them end
        extended = [
            (value, [*running[index // sums.shape[1]][1], index % sums.shape[1]])
            for value, index in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]
        finished += [(value / length**length_penalty, ids[1:]) for value, ids in extended[:beam] if ids[-1] == EOS]
        running = [each for each in extended if each[1][-1] != EOS][:beam]
        if len(finished) >= beam:
            break
    finished = finished or [(value / max_length**length_penalty, ids[1:]) for value, ids in running]
    return sorted(finished, reverse=True)[:beam]
