"""What must hold in each chapter of the course.

The checks compare behavior: with the equations in NumPy, with the library's model, with the doctor's findings, and with
the same function for other inputs. Each message names the cause that the behavior shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.doctor import Finding, examine, examine_loss, examine_search
from dragoman.errors import UserError, counted
from dragoman.learn.exercises import load_solution, wrong_definitions
from dragoman.learn.results import Result
from dragoman.model.transformer import Transformer
from dragoman.reference.attention import scaled_dot_product_attention
from dragoman.settings import Model
from dragoman.system.user_code import describe_exception, place_of

PAD, BOS, EOS = range(3)
SIZES = {"d_model": 32, "heads": 4, "d_ff": 64, "layers": 2}
VOCABULARY = 40
TOLERANCE = 1e-5

Module = Any
"""The learner's file, imported."""


class CheckError(Exception):
    """A relation that does not hold, with its cause."""


@dataclass(frozen=True)
class Check:
    """A relation that must hold from a chapter on."""

    chapter: int
    name: str
    function: Callable[[Module], None]


CHECKS: list[Check] = []


def _check(chapter: int, name: str) -> Callable[[Callable[[Module], None]], Callable[[Module], None]]:
    def add(function: Callable[[Module], None]) -> Callable[[Module], None]:
        CHECKS.append(Check(chapter, name, function))
        return function

    return add


def check_module(module: Module, chapter: int | None = None) -> Iterator[Result]:
    """The results of the checks of one chapter, or of all."""
    for check in _checks_of(chapter):
        yield _run(check, module)


def check_file(path: str, chapter: int | None, skipped: int) -> Iterator[tuple[bool, tuple[int, str, str, bool]]]:
    """Check a learner's file, which is loaded; `results` calls this in a separate process.

    Args:
        path: The file.
        chapter: The chapter; None for all.
        skipped: How many checks to leave out.

    Yields:
        For each check that begins, and again when it is done: whether it is done, and a `Result` as a tuple.

    Raises:
        UserError: The file cannot be imported.
    """
    module = load_solution(Path(path))
    for check in _checks_of(chapter)[skipped:]:
        yield False, astuple(Result(check.chapter, check.name))
        yield True, astuple(_run(check, module))


def _checks_of(chapter: int | None) -> list[Check]:
    return [check for check in CHECKS if chapter in (None, check.chapter)]


def _run(check: Check, module: Module) -> Result:
    torch.manual_seed(1)
    result = Result(check.chapter, check.name)
    try:
        check.function(module)
    except CheckError as error:
        return replace(result, message=str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # what a learner's code may raise is a result, not a fault of the check
        own = error.__cause__ if isinstance(error, UserError) else error  # the doctor keeps the exception as the cause
        if own is None:
            return replace(result, message=str(error))
        if isinstance(own, NotImplementedError):
            return replace(result, message=str(own), written=False)
        definitions = "" if place_of(own) else wrong_definitions(module)
        return replace(result, message=f"{describe_exception(own)}{definitions}")
    return result


def _require(holds: bool | Tensor, message: str) -> None:
    if not bool(holds):
        raise CheckError(message)


def _close(one: Tensor, other: Tensor, tolerance: float = TOLERANCE) -> bool:
    """Whether two results are equal up to rounding; one without values is wrong in any comparison."""
    _require(not (one.isnan().any() or other.isnan().any()), "the result contains NaN, which is not a number")
    return one.shape == other.shape and bool(torch.allclose(one, other, rtol=0, atol=tolerance))


def _queries_keys_values() -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 8)


@_check(1, "weights are probabilities")
def _check_weights(module: Module) -> None:
    q, k, v = _queries_keys_values()
    found = module.attention(q, k, v)
    _require(isinstance(found, tuple), "attention must return two tensors: the output and the weights")
    output, weights = found
    exchanged = output.shape == (2, 3, 5) and weights.shape == (2, 3, 8)
    _require(not exchanged, "the weights are returned first; return the output, then the weights")
    _require(output.shape == (2, 3, 8), f"the output has the shape {tuple(output.shape)}, not that of q: (2, 3, 8)")
    _require(weights.shape == (2, 3, 5), f"the weights have the shape {tuple(weights.shape)}, not (2, 3, 5)")
    over_queries = _close(weights.sum(dim=-2), torch.ones(2, 5))
    _require(not over_queries, "the softmax goes over the queries; it belongs over the keys, dim=-1")
    _require(_close(weights.sum(dim=-1), torch.ones(2, 3)), "the weights of a query do not sum to 1")


@_check(1, "attention is the paper's")
def _check_attention(module: Module) -> None:
    q, k, v = _queries_keys_values()
    output, _ = module.attention(q, k, v)
    causes = {
        "the scores are not divided by √d, the width of a query (8 here)": _reference(q * math.sqrt(8), k, v),
        "the scores are divided by d; the divisor is √d": _reference(q / math.sqrt(8), k, v),
        "the scores are divided by √ of the number of keys, not of the width of a query": _reference(
            q * math.sqrt(8 / 5), k, v
        ),
        "the weights multiply the keys; the output is the weighted mean of the values, v": _reference(q, k, k),
    }
    for cause, value in causes.items():
        _require(not _close(output, value), cause)
    _require(_close(output, _reference(q, k, v)), "softmax(q kᵀ / √d) v has other values (section 3.2.1)")


def _reference(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    arrays = (tensor.double().numpy() for tensor in (q, k, v))
    return torch.from_numpy(scaled_dot_product_attention(*arrays)[0]).float()


@_check(1, "attention obeys the mask")
def _check_mask(module: Module) -> None:
    q, k, v = _queries_keys_values()
    mask = torch.tensor([True, True, True, False, False]).expand(3, 5)
    allowed, hidden = module.attention(q, k[:, :3], v[:, :3])[0], module.attention(q, k[:, 3:], v[:, 3:])[0]
    output, weights = module.attention(q, k, v, mask)
    if _close(output, module.attention(q, k, v)[0]):
        raise CheckError("the mask has no effect: masked_fill returns a new tensor, and does not change the old one")
    _require(not _close(output, hidden), "the mask is inverted: True means that attention is allowed")
    _require(
        _close(weights[..., 3:], torch.zeros(2, 3, 2)),
        "keys that the mask forbids have a weight that is not 0: their scores become -1e9, before the softmax",
    )
    _require(
        _close(weights.sum(dim=-1), torch.ones(2, 3)),
        "with a mask, the weights do not sum to 1: the mask belongs before the softmax, not after it",
    )
    _require(_close(output, allowed), "the output with a mask differs from that without the masked keys")


@_check(2, "the padding mask hides padding")
def _check_padding_mask(module: Module) -> None:
    ids = torch.tensor([[5, 6, EOS], [7, EOS, PAD]])
    mask = module.padding_mask(ids)
    _require(mask.dtype == torch.bool, f"the mask has the type {mask.dtype}, not torch.bool")
    _require(mask.shape == (2, 1, 1, 3), f"the shape is {tuple(mask.shape)}, not (batch, 1, 1, length) = (2, 1, 1, 3)")
    _require(not torch.equal(mask[:, 0, 0], ids == PAD), "the mask is inverted: True means that there is a token")
    _require(torch.equal(mask[:, 0, 0], ids != PAD), "True must stand where the id is not PAD, and only there")


@_check(2, "the causal mask hides the future")
def _check_causal_mask(module: Module) -> None:
    mask, expected = module.causal_mask(4), torch.ones(4, 4).tril().bool()
    _require(mask.shape == (4, 4), f"the shape is {tuple(mask.shape)}, not (length, length)")
    _require(not torch.equal(mask, expected.T), "rows and columns are exchanged: row i is what position i may see")
    _require(
        not torch.equal(mask, torch.ones(4, 4).tril(1).bool()),
        "each position sees one position too many: the next token, which it has to predict",
    )
    _require(mask.diagonal().all(), "a position does not see itself; the first one would see nothing at all")
    _require(torch.equal(mask, expected), "position i may see the positions 0 to i, and no others")


@_check(2, "positions are waves")
def _check_positions(module: Module) -> None:
    table, length, width = module.positions(50, 16), 50, 16
    _require(table.shape == (length, width), f"the shape is {tuple(table.shape)}, not (length, d_model)")
    steps = torch.arange(length, dtype=torch.float32)
    _require(not _close(table[:, 1], steps.sin()), "each pair of columns is a sine and a cosine, in this order")
    _require(
        not _close(table[:, width // 2], steps.cos()),
        "the columns alternate: the even ones are sines, the odd ones cosines",
    )
    _require(
        bool(table[:, 0].any()),
        "the rates are wrong: the first is 0, not 1; the exp is missing in exp(-log(10000) · 2i / d_model)",
    )
    _require(
        _close(table[:, 0], steps.sin()) and _close(table[:, 1], steps.cos()),
        "the first pair of columns is sin(position) and cos(position): check the rates and the order",
    )
    slowest = 10000 ** -((width - 2) / width)
    _require(
        _close(table[:, -2], (steps * slowest).sin()),
        "the rates are wrong: they fall from 1 to nearly 1/10000, as exp(-log(10000) · 2i / d_model)",
    )
    similarities = table @ table.T  # the same for all pairs at the same distance
    _require(
        _close(similarities[:-7, :-7], similarities[7:, 7:], 1e-3),
        "the product of two rows must depend on their distance",
    )


@_check(2, "heads are parts of the vectors")
def _check_split(module: Module) -> None:
    layer, x = module.MultiHeadAttention(32, 4), torch.randn(2, 5, 32)
    heads = layer.split(x)
    _require(
        heads.shape == (2, 4, 5, 8), f"the shape is {tuple(heads.shape)}, not (batch, heads, length, d) = (2, 4, 5, 8)"
    )
    mixed = not _close(heads[:, 1, 3], x[:, 3, 8:16])
    _require(not mixed, "head 1 of position 3 is not x[:, 3, 8:16]: view without transpose mixes positions")


@_check(2, "attention does not depend on the order of the memory")
def _check_multi_head(module: Module) -> None:
    layer, x, memory = module.MultiHeadAttention(32, 4).eval(), torch.randn(2, 5, 32), torch.randn(2, 5, 32)
    order = torch.randperm(5)
    _require(
        _close(layer(x, memory, None), layer(x, memory[:, order], None)),
        "another order of the memory gives another output; keys and values both come from memory",
    )
    memory = torch.randn(2, 7, 32)
    output, weights = layer(x, memory, None), layer.weights
    _require(output.shape == x.shape, f"the output has the shape {tuple(output.shape)}, not that of x: (2, 5, 32)")
    changed = x.clone()
    changed[:, 4] += 1.0
    alone = _close(output[:, :4], layer(changed, memory, None)[:, :4])
    if not alone and weights is not None and _close(weights[:, :, :4], layer.weights[:, :, :4]):
        raise CheckError("merging the heads mixes positions: transpose(1, 2) first, then flatten(2)")
    _require(
        alone,
        "a position's output depends on other positions of x; keys and values come from memory, only queries from x",
    )


@_check(2, "multi-head attention uses all of its parts")
def _check_parts(module: Module) -> None:
    layer, x, memory = module.MultiHeadAttention(32, 4).eval(), torch.randn(2, 5, 32), torch.randn(2, 7, 32)
    mask = torch.tensor([True] * 4 + [False] * 3).expand(5, 7)
    output = layer(x, memory, mask)
    _require(_close(output, layer(x, memory[:, :4], None)), "the mask is not passed on to attention")
    kept = layer.weights is not None and layer.weights.shape == (2, 4, 5, 4)
    _require(kept, "the weights of the last call are not kept in self.weights, (batch, heads, target, source)")
    for part in ("query", "key", "value", "output"):
        layer = module.MultiHeadAttention(32, 4).eval()
        before = layer(x, memory, None)
        torch.nn.init.zeros_(getattr(layer, part).weight)
        _require(not _close(before, layer(x, memory, None)), f"the map `{part}` is not used")


@_check(3, "feed-forward treats positions alike")
def _check_feed_forward(module: Module) -> None:
    layer, x = module.FeedForward(32, 64).eval(), torch.randn(2, 5, 32)
    output = layer(x)
    _require(_close(output, layer(x.flip(1)).flip(1)), "the output of a position depends on the other positions")
    linear = _close(layer(x) + layer(-x), 2 * layer(torch.zeros_like(x)))
    _require(not linear, "it is a linear map: the ReLU between the two maps is missing")


@_check(3, "layers add to their input")
def _check_residuals(module: Module) -> None:
    x, memory = torch.randn(2, 5, 32), torch.randn(2, 7, 32)
    source, target = torch.ones(2, 1, 1, 7, dtype=torch.bool), torch.ones(5, 5, dtype=torch.bool).tril()
    arguments = {"EncoderLayer": (torch.ones(2, 1, 1, 5, dtype=torch.bool),), "DecoderLayer": (memory, target, source)}
    for name, more in arguments.items():
        layer = getattr(module, name)(32, 4, 64, 0.0).eval()
        for part, parameter in layer.named_parameters():
            if ".output." in part or ".outer." in part:
                torch.nn.init.zeros_(parameter)
        output = layer(x, *more)
        normalized = _close(output, F.layer_norm(x, (32,)), 1e-3)
        _require(
            not normalized,
            f"{name}: the output is normalized; add to x itself, x + sublayer(norm(x)), not norm(x) + … or norm(x + …)",
        )
        same = _close(output, x)
        _require(
            same, f"{name}: sublayers that return zero change their input; a residual connection, x + …, is missing"
        )


def _tiny(module: Module) -> Any:
    return module.Transformer(VOCABULARY, VOCABULARY, **SIZES).eval()


@_check(3, "the doctor finds no errors")
def _check_doctor(module: Module) -> None:
    model = _tiny(module)
    _require_healthy(examine(model, vocabulary_size=VOCABULARY, pad_id=PAD, bos_id=BOS, eos_id=EOS))


def _require_healthy(findings: Iterable[Finding]) -> None:
    """The doctor must find no errors and give no warnings; its findings are the message."""
    problems = [finding for finding in findings if finding.severity != "note"]
    _require(not problems, "\n".join(map(str, problems)))


@_check(3, "the model is the library's")
def _check_library(module: Module) -> None:
    ours = _tiny(module)
    settings = Model(
        d_model=32,
        heads=4,
        d_ff=64,
        encoder_layers=2,
        decoder_layers=2,
        positions="sinusoidal",
        tie="none",
        norm="pre",
        final_norm=True,
        activation="relu",
        qkv_bias=True,
        output_bias=True,
        dropout=0.0,
    )
    library = Transformer(settings, VOCABULARY, VOCABULARY, PAD).eval()
    for name, parameter in ours.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(parameter)  # so that no norm is like another one
    copy_weights(ours, library)
    source, target = torch.randint(3, VOCABULARY, (3, 7)), torch.randint(3, VOCABULARY, (3, 6))
    source[1, 5:] = PAD
    ours(source, target).logsumexp(dim=-1).sum().backward()
    unused = [name for name, each in ours.named_parameters() if each.grad is None or not each.grad.any()]
    unused = [
        name for name in unused if "key.bias" not in name
    ]  # which changes nothing: all scores of a query move alike
    more = f" and {len(unused) - 4} more" if len(unused) > 4 else ""
    _require(not unused, f"these parameters are not used: {', '.join(unused[:4])}{more}")
    embedded = ours.source_embedding(source)
    _require(
        not _close(ours.embed(source, ours.source_embedding), embedded + ours.table[:7]),
        "embed: the embeddings are not multiplied by √d_model",
    )
    _require(
        _close(ours.embed(source, ours.source_embedding), embedded * math.sqrt(32) + ours.table[:7]),
        "embed: the result is not embedding(ids) · √d_model + the first rows of the table",
    )
    memory = library.memory(source)
    kept = (source != PAD)[..., None]  # what stands at padding changes nothing
    _require(
        _close(ours.encode(source) * kept, memory * kept),
        "embed is right, but encode returns another memory: in EncoderLayer, queries, keys and values all come from "
        "attention_norm(x), and the feed-forward part reads feed_forward_norm(x); encoder_norm comes last",
    )
    difference = (ours(source, target) - library(source, target)).abs().max().item()
    _require(
        difference < TOLERANCE,
        f"the memory is right, but with the same weights the logits differ by up to {difference:.2g}: in DecoderLayer, "
        "each sublayer reads its own norm of x; the memory is not normalized again; decoder_norm comes last",
    )


def copy_weights(ours: Any, library: Transformer) -> None:
    """Copy the weights of the course's model into the library's, which keeps those of q, k and v as one matrix."""
    weights = ours.state_dict()
    copied = {}
    for name in library.state_dict():
        theirs = name.replace("memory_attention", "cross_attention").replace("_residual.norm", "_norm")
        if ".qkv." in theirs:
            parts = [theirs.replace(".qkv.", f".{part}.") for part in ("query", "key", "value")]
            copied[name] = torch.cat([weights[part] for part in parts])
        else:
            copied[name] = weights[theirs]
    library.load_state_dict(copied)


@_check(3, "dropout acts in training")
def _check_dropout(module: Module) -> None:
    model = module.Transformer(VOCABULARY, VOCABULARY, **SIZES, dropout=0.3).train()
    ids = torch.randint(3, VOCABULARY, (3, 7))
    _require(
        not _close(model(ids, ids), model(ids, ids)), "two passes in training mode are the same: no dropout is applied"
    )


@_check(4, "labels are the next tokens")
def _check_batch(module: Module) -> None:
    source, inputs, labels = module.make_batch([([5, 6, EOS], [7, 8, 9, EOS]), ([6, EOS], [9, EOS])])
    _require(source.tolist() == [[5, 6, EOS], [6, EOS, PAD]], "the source is not the ids, padded with PAD at the end")
    _require(labels.tolist() == [[7, 8, 9, EOS], [9, EOS, PAD, PAD]], "the labels are not the target ids, ended by EOS")
    _require(not torch.equal(inputs, labels), "the decoder input is the label itself, so there is nothing to predict")
    _require((inputs[:, 0] == BOS).all(), "the decoder input does not begin with BOS")
    _require(inputs[0].tolist() == [BOS, 7, 8, 9], "the decoder input is not BOS and the target without its last token")


@_check(4, "the doctor finds no errors in the loss")
def _check_doctor_of_loss(module: Module) -> None:
    _require_healthy(examine_loss(module.loss, vocabulary_size=VOCABULARY, pad_id=PAD))


@_check(4, "the loss is cross-entropy with label smoothing")
def _check_loss(module: Module) -> None:
    logits, labels = torch.randn(3, 4, 10), torch.randint(3, 10, (3, 4))
    even = module.loss(torch.zeros(3, 4, 10), labels)
    _require(
        _close(even, torch.tensor(math.log(10))), f"guessing among 10 tokens must cost log(10) = 2.303, not {even:.3f}"
    )
    for smoothing in (0.0, 0.1):
        expected = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing)
        value = module.loss(logits, labels, smoothing)
        others = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing * 10 / 9)
        plain = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        _require(not smoothing or not _close(value, plain), "smoothing has no effect")
        _require(
            not smoothing or not _close(value, others),
            "the rest of the probability is shared by the other tokens only; spread it over all, also the right one",
        )
        _require(_close(value, expected), f"with smoothing {smoothing}, the loss is {value:.4f}, not {expected:.4f}")


@_check(4, "the learning rate rises and falls")
def _check_learning_rate(module: Module) -> None:
    rate = [module.learning_rate(step, 1e-3, 100) for step in range(1, 401)]
    _require(abs(rate[99] - 1e-3) < 1e-9, "the rate at step `warmup` is not the peak")
    _require(abs(rate[49] - 5e-4) < 1e-9, "half-way through the warm-up, the rate is not half of the peak")
    _require(abs(rate[399] - 5e-4) < 1e-9, "at four times the warm-up, the rate is not half of the peak (1 / √step)")


@_check(5, "training learns")
def _check_training(module: Module) -> None:
    pairs = [([number, number + 1, EOS], [number + 1, number, EOS]) for number in range(4, 20)]
    model = _tiny(module)
    losses = module.train(model, pairs, steps=80, batch_size=16, peak=5e-3, warmup=20, log_every=1000)
    _require(len(losses) == 80, f"train returned {len(losses)} losses for 80 steps")
    falls = losses[-1] < 0.6 * losses[0]
    _require(falls, f"after 80 steps on 16 pairs, the loss is {losses[-1]:.2f}; it was {losses[0]:.2f} at the start")
    _require(not model.training, "after training, the model is in training mode; call model.eval()")


@_check(5, "each step has its gradient and its learning rate")
def _check_steps(module: Module) -> None:
    pairs = [([number, number + 1, EOS], [number + 1, number, EOS]) for number in range(4, 20)]
    model = module.Transformer(VOCABULARY, VOCABULARY, **SIZES, dropout=0.0).eval()
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    steps, begun_right, modes, sizes = [], [], [], []
    written = module.learning_rate
    bias = model.output.bias

    def no_movement(step: int, peak: float, warmup: int) -> float:
        steps.append(step)
        return 0.0

    def look(embedding: Any, arguments: tuple[Tensor]) -> None:
        begun_right.append(bool((arguments[0][:, 0] == BOS).all()))
        modes.append(model.training)

    model.target_embedding.register_forward_pre_hook(look)
    bias.register_post_accumulate_grad_hook(lambda parameter: sizes.append(parameter.grad.norm().item()))
    module.learning_rate = no_movement
    try:
        losses = module.train(model, pairs, steps=4, batch_size=16, peak=5e-3, warmup=20, log_every=1000)
    finally:
        module.learning_rate = written
    _require(all(begun_right), "the decoder does not read the inputs of the batch, which begin with BOS")
    _require(all(modes), "dropout is off while training: call model.train() first")
    moved = any(not torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())
    _require(not moved, "the learning rate of `learning_rate` is not used: with 0, weights must not move")
    _require(steps == [1, 2, 3, 4], f"learning_rate was called for the steps {steps}, not 1, 2, 3, 4")
    grows = any(abs(size - sizes[0]) > 1e-3 * sizes[0] for size in sizes)
    _require(not grows, "gradients of earlier steps are added to those of a step: call optimizer.zero_grad()")
    _require(all(isinstance(each, float) for each in losses), "the losses are not numbers: keep value.item()")


def _talkative(module: Module, bonus: float = 6.0) -> Any:
    """A model with random weights, whose translations end early: EOS has a bonus."""
    model = module.Transformer(VOCABULARY, VOCABULARY, **SIZES, dropout=0.3)
    with torch.no_grad():
        model.output.weight *= 3
        model.output.bias[EOS] += bonus
        model.output.bias[[PAD, BOS]] -= 100.0
    return model.train()


@_check(6, "the doctor finds no errors in greedy search")
def _check_doctor_of_search(module: Module) -> None:
    model = module.Transformer(VOCABULARY, VOCABULARY, **SIZES, dropout=0.3)
    ids = {"vocabulary_size": VOCABULARY, "pad_id": PAD, "bos_id": BOS, "eos_id": EOS}
    _require_healthy(examine_search(lambda source: module.greedy_search(model.train(), source, 12), model, **ids))


@_check(6, "a beam of 1 is greedy search")
def _check_beam_of_one(module: Module) -> None:
    model = module.Transformer(VOCABULARY, VOCABULARY, **SIZES, dropout=0.3)
    ids = {"vocabulary_size": VOCABULARY, "pad_id": PAD, "bos_id": BOS, "eos_id": EOS}

    def beam_of_one(source: Tensor) -> list[list[int]]:
        found = (module.beam_search(model.train(), row[None], beam=1, max_length=12) for row in source)
        return [hypotheses[0][1] for hypotheses in found]

    _require_healthy(examine_search(beam_of_one, model, **ids))


@_check(6, "scores are divided once")
def _check_scores(module: Module) -> None:
    for bonus in (6.0, 6.0, 6.0, -100.0):  # with the last one, no sentence ends
        model, source = _talkative(module, bonus), torch.randint(3, VOCABULARY, (1, 7))
        found = module.beam_search(model, source, beam=3, length_penalty=0.6, max_length=12)
        _require(bool(found), "there is no hypothesis; if none has ended, return the running ones")
        _require([score for score, _ in found] == sorted((score for score, _ in found), reverse=True), "not best first")
        for score, ids in sorted(found, key=lambda each: len(each[1]), reverse=True):  # long ones show causes better
            _require(BOS not in ids, "a hypothesis contains BOS")
            _require(EOS not in ids[:-1], "a hypothesis continues after EOS")
            parts = _log_probabilities(model, source, ids)
            total, length = float(parts.sum()), counted(len(ids), "token")
            right = total / len(ids) ** 0.6
            _require(
                abs(score - right) < 1e-3,
                f"a hypothesis of {length} with log-probability {total:.3f} has the score {score:.3f}, not "
                f"{right:.3f} (length penalty 0.6): {_cause_of_score(score, parts)}",
            )


def _cause_of_score(score: float, log_probabilities: Tensor) -> str:
    total, length = float(log_probabilities.sum()), len(log_probabilities)
    causes = {
        "the length counts BOS": total / (length + 1) ** 0.6,
        "the length does not count EOS": total / max(length - 1, 1) ** 0.6,
        "the length is multiplied by the penalty; it is raised to its power": total / (length * 0.6),
        "the sum is not divided": total,
        "probabilities are added; add their logarithms": float(log_probabilities.exp().sum()) / length**0.6,
    }
    for cause, value in causes.items():
        if abs(score - value) < 1e-3:
            return cause
    return "divide the sum by the length once, when the hypothesis ends, not at every step"


def _log_probabilities(model: Any, source: Tensor, ids: list[int]) -> Tensor:
    """The log-probability of each token, (length,)."""
    target = torch.tensor([[BOS, *ids[:-1]]])
    with torch.no_grad():
        log_probabilities: Tensor = model.eval()(source, target).log_softmax(dim=-1)[0]
    return log_probabilities.gather(1, torch.tensor(ids)[:, None])[:, 0]
