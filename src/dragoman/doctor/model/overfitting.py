"""Whether a model can memorize a small batch."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.gradients import assign, compute_gradients, next_token_loss
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe

ATTEMPTS = ((3e-3, 200), (5e-4, 200), (1e-2, 200))
"""Learning rates and their steps: deep models need a low one, and small ones with scaled logits a high one."""

WARMUP_STEPS = 20
MAX_GRADIENT_NORM = 1.0
GOAL = 0.33  # of the loss of guessing


def check_cannot_overfit(probe: Probe) -> Iterator[Finding]:
    """Train on two sentences with Adam; the parameters are restored afterwards."""
    guessing = math.log(probe.model.vocabulary_size)
    trial = _Trial(probe, goal=GOAL * guessing)
    lowest_loss, steps = math.inf, 0
    for learning_rate, max_steps in ATTEMPTS:
        loss, taken = trial.run(learning_rate, max_steps)
        lowest_loss, steps = min(lowest_loss, loss), steps + taken
        if lowest_loss <= trial.goal:
            return
    yield make_finding(
        "cannot-overfit",
        f"after {steps} training steps on two short sentences the loss is still {lowest_loss:.2f} nats; "
        f"uniform guessing gives {guessing:.2f}",
        {"loss": lowest_loss, "guessing": guessing, "steps": steps},
    )


class _Trial:
    """A short training on two sentences, until the loss reaches a goal."""

    def __init__(self, probe: Probe, goal: float) -> None:
        self.probe, self.goal = probe, goal
        self.parameters = [tensor for _, tensor in probe.model.parameters if tensor.requires_grad]
        self.source = probe.random_sources(2, SOURCE_LENGTH)
        self.target = probe.random_targets(2, TARGET_LENGTH)

    def run(self, learning_rate: float, max_steps: int) -> tuple[float, int]:
        """Train, then restore the parameters. Returns the lowest loss and the number of steps."""
        initial = [tensor.detach().clone() for tensor in self.parameters]
        try:
            return self._train(learning_rate, max_steps)
        finally:
            assign(self.parameters, initial)

    def _train(self, learning_rate: float, max_steps: int) -> tuple[float, int]:
        masters = [tensor.detach().float().clone() for tensor in self.parameters]  # updated in float32
        optimizer = torch.optim.Adam(masters, betas=(0.9, 0.98))
        lowest_loss = math.inf
        for step in range(max_steps):
            loss = next_token_loss(self.probe, self.source, self.target)
            lowest_loss = min(lowest_loss, float(loss.detach()))
            if lowest_loss <= self.goal or not loss.requires_grad:
                return lowest_loss, step
            for master, gradient in zip(masters, compute_gradients(loss, self.parameters), strict=True):
                master.grad = None if gradient is None else gradient.float()
            torch.nn.utils.clip_grad_norm_(masters, MAX_GRADIENT_NORM)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * min(1.0, (step + 1) / WARMUP_STEPS)
            optimizer.step()
            assign(self.parameters, masters)
        return lowest_loss, max_steps
