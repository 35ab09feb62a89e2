"""Whether batch normalization leaks in training, which does not show in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.attributes import modules_of
from dragoman.doctor.model.differences import SAME_SHAPE, PredictionDifference, measure_difference
from dragoman.doctor.model.leaks import measure_batch_leak
from dragoman.doctor.model.parameters import list_names
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Forward, Probe
from dragoman.errors import UserError

CUT = TARGET_LENGTH // 2  # the first target position that is changed


def check_batch_statistics(probe: Probe) -> Iterator[Finding]:
    """Repeat the checks of leaks with batch normalization as in training: it then uses the statistics of the batch.

    It is an error if predictions depend on later target tokens. Only in an encoder, it is a warning.
    """
    norms = _norms_in_training(probe.model.forward)
    if not norms:
        return
    try:
        with _in_training_mode([norm for _, norm in norms]):
            batch, future = measure_batch_leak(probe), _measure_future_leak(probe)
    except UserError:  # the model fails in training mode, so that it cannot be trained with a leak
        return
    if not SAME_SHAPE.exceeded_by(batch):
        return
    leaks = SAME_SHAPE.exceeded_by(future)
    later = f" and on later target tokens (by up to {future.probability:.2g})" if leaks else ""
    classes = sorted({type(norm).__name__ for _, norm in norms})
    names = [name for name, _ in norms]
    yield make_finding(
        "batch-leak",
        f"in training, {' and '.join(classes)} uses statistics over all positions of the batch, so that predictions "
        f"depend on other sentences (by up to {batch.probability:.2g} in probability){later}: {list_names(names)}",
        {"probability": batch.probability, "relative": batch.relative, "modules": names, "future": leaks},
        severity="error" if leaks else "warning",
        cause="batch normalization computes its mean and variance over all positions of all sentences in training; in "
        "evaluation mode it uses stored averages, so that the leak disappears and translation differs from training",
        fix="use layer normalization (nn.LayerNorm), whose statistics are those of one position",
    )


def _norms_in_training(forward: Forward) -> list[tuple[str, nn.Module]]:
    """Batch normalization that train() switches from stored statistics to those of the batch, with names.

    It stays as it is in models that override train(), and usually if its parameters are frozen.
    """
    found: list[tuple[str, nn.Module]] = []
    for model in modules_of(forward):
        norms = [
            (name, module)
            for name, module in model.named_modules()
            if isinstance(module, _BatchNorm) and module.track_running_stats and not _is_frozen(module)
        ]
        if norms and not model.training:
            switched = _switched_by_train(model)
            found += [(name, module) for name, module in norms if module in switched]
    return found


def _is_frozen(module: nn.Module) -> bool:
    parameters = list(module.parameters())
    return bool(parameters) and not any(tensor.requires_grad for tensor in parameters)


def _switched_by_train(model: nn.Module) -> set[nn.Module]:
    """The modules of a model in evaluation mode that are in training mode after train(); the modes are restored."""
    modes = [(module, module.training) for module in model.modules()]
    model.train()
    switched = {module for module, training in modes if module.training and not training}
    model.eval()  # models that override train() may do more than set the modes
    for module, training in modes:
        module.training = training
    return switched


@contextmanager
def _in_training_mode(norms: Sequence[nn.Module]) -> Iterator[None]:
    """A context in which normalization is in training mode; its stored statistics are restored afterwards."""
    buffers = [(buffer, buffer.clone()) for norm in norms for buffer in norm.buffers()]
    for norm in norms:
        norm.training = True
    try:
        yield
    finally:
        for norm in norms:
            norm.training = False
        for buffer, value in buffers:
            buffer.copy_(value)


def _measure_future_leak(probe: Probe) -> PredictionDifference:
    """The effect of other target tokens in all sentences on the predictions before them."""
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH)
    changed: Tensor = torch.cat([target[:, :CUT], probe.replace_words(target, probe.words)[:, CUT:]], dim=1)
    before, after = probe.predict(source, target), probe.predict(source, changed)
    return measure_difference(before[:, :CUT], after[:, :CUT])
