"""R-Drop: a loss that makes the predictions of two passes with different dropout agree (Liang et al. 2021)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from dragoman.settings import Training


def r_drop_loss(
    logits: tuple[Tensor, Tensor], targets: Tensor, settings: Training, ignore: int | None
) -> tuple[Tensor, Tensor]:
    """Summed loss of two predictions of the same tokens (eq. 3), halved.

    Halved, so that a token counts once, and a weight of 0 leaves the mean of the two cross-entropies.

    Args:
        logits: Logits of two passes with different dropout, (tokens, vocabulary) each.
        targets: Ids to predict, (tokens,), int64.
        settings: Label smoothing, and the weight of the Kullback-Leibler divergences (`r_drop`, the paper's alpha).
        ignore: Targets with this id, such as padding, do not count; None: all targets count.

    Returns:
        The loss to minimize, and the negative log-likelihood of the first pass (not differentiable), each summed over
        tokens, in nats.
    """
    if ignore is not None:
        real = targets != ignore
        targets, logits = targets[real], (logits[0][real], logits[1][real])
    first, second = (each.float().log_softmax(-1) for each in logits)  # (tokens, vocabulary) each
    smoothing = settings.label_smoothing
    nlls = [F.nll_loss(each, targets, reduction="sum") for each in (first, second)]
    uniform = [-each.sum() / each.shape[1] for each in (first, second)]  # the cross-entropies of a uniform distribution
    both_ways = ((first.exp() - second.exp()) * (first - second)).sum()  # KL(first || second) + KL(second || first)
    cross_entropy = (1 - smoothing) * sum(nlls) / 2 + smoothing * sum(uniform) / 2
    return cross_entropy + settings.r_drop / 4 * both_ways, nlls[0].detach()
