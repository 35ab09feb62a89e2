"""Settings: how the model learns."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.settings.base import Probability, Settings


def _one_budget(training: Training) -> str | None:
    given = sum(budget is not None for budget in (training.epochs, training.steps, training.minutes))
    return "give exactly one of epochs, steps and minutes" if given != 1 else None


def _shards_are_trained_whole(training: Training) -> str | None:
    if not training.shard or (training.ema_decay is None and training.scheduled_sampling != "stepwise"):
        return None
    return "shard does not go with ema_decay or scheduled_sampling = 'stepwise'"


class Training(Settings):
    """How the model learns. Exactly one of epochs, steps and minutes is the budget."""

    rules = (_one_budget, _shards_are_trained_whole)
    epochs: float | None = Field(None, gt=0, description="Budget in passes over the training pairs.")
    steps: int | None = Field(None, ge=1, description="Budget in optimizer steps.")
    minutes: float | None = Field(
        None,
        gt=0,
        description="Budget in minutes, validation included; the schedule anneals to what the machine manages.",
    )
    batch_tokens: int = Field(
        4096, ge=1, description="Most target tokens of a batch, padding included (and as many source tokens)."
    )
    batch_sentences: int | None = Field(
        None, ge=1, description="Most sentences of a batch, whatever their tokens; unset: as many as the tokens allow."
    )
    length_groups: int = Field(
        4,
        ge=1,
        description="Groups of like length that make up a batch: more of them mix lengths better, so that no step "
        "learns from one length alone, without padding.",
    )
    accumulation: int = Field(1, ge=1, description="Batches whose gradients add up to one step.")
    optimizer: Literal["adam", "adamw"] = Field("adam", description="Adam, or Adam with decoupled weight decay.")
    learning_rate: float = Field(1e-3, gt=0, description="Peak learning rate; for noam the factor before d_model^-0.5.")
    betas: tuple[Probability, Probability] = Field((0.9, 0.98), description="Adam's decay rates of the two moments.")
    epsilon: float = Field(1e-9, gt=0, description="Adam's epsilon.")
    weight_decay: float = Field(0.0, ge=0, description="Weight decay of matrices (adamw).")
    schedule: Literal["constant", "noam", "inverse_sqrt", "cosine", "linear"] = Field(
        "inverse_sqrt", description="Shape of the learning rate after the warm-up; cosine and linear end at zero."
    )
    warmup_steps: int = Field(4000, ge=0, description="Steps over which the learning rate rises linearly.")
    label_smoothing: Probability = Field(0.1, description="Share of the target probability spread over the vocabulary.")
    clip_norm: float | None = Field(
        None, gt=0, description="Largest norm of the gradient; longer ones are scaled down."
    )
    r_drop: float = Field(
        0.0,
        ge=0,
        description="Weight of the divergence between the predictions of two passes with different dropout (Liang et "
        "al. 2021, eq. 3); 5 helps small corpora, at twice the time.",
    )
    ema_decay: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Keep a moving average of the weights, of which this share stays at each step, to validate and "
        "deploy instead of them.",
    )
    scheduled_sampling: Literal["none", "stepwise", "two_pass"] = Field(
        "none",
        description="Train on the model's own predictions too (Bengio et al. 2015): token by token as it decodes, or "
        "faster, on those of a first teacher-forced pass.",
    )
    teacher_forcing_decay: float = Field(
        0.95,
        gt=0,
        le=1,
        description="Scheduled sampling: a batch of epoch e is teacher-forced with probability decay^e …",
    )
    teacher_forcing_minimum: float = Field(
        0.3, ge=0, le=1, description="… but at least this; in other batches each next input is, with that probability."
    )
    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto",
        description="Arithmetic of the forward and backward pass; auto takes bfloat16 where it is fast. float16 scales "
        "the loss, and is bfloat16 on a CPU.",
    )
    validations: int = Field(
        10, ge=1, description="How often to validate, evenly spread over the budget; the last time is at the end."
    )
    validation_sentences: int = Field(
        1000, ge=1, description="Sentences decoded for BLEU and chrF at each validation (the loss uses all)."
    )
    validation_beam_size: int = Field(1, ge=1, description="Beam of the translations of a validation; 1 is greedy.")
    early_stopping: int | None = Field(
        None, ge=1, description="Stop after this many validations in a row without a better score."
    )
    best_by: Literal["bleu", "chrf", "loss"] = Field(
        "bleu", description="Which validation score picks the best checkpoint."
    )
    average: int = Field(
        1, ge=1, description="Average the weights of this many last validation checkpoints into the bundle."
    )
    checkpoint_minutes: float = Field(10.0, gt=0, description="Save a checkpoint to resume from at least this often.")
    log_every: int = Field(50, ge=1, description="Steps between lines of metrics.jsonl.")
    seed: int = Field(1, ge=0, description="Seed of initial weights, order of the data, and dropout.")
    kernels: bool = Field(
        True,
        description="Use faster versions of the model's parts (see docs/performance.md); false: plain PyTorch only, to "
        "check them.",
    )
    device: str = Field("auto", description="'cpu', 'cuda', 'cuda:1', …; auto takes a GPU if there is one.")
    threads: int | None = Field(
        None, ge=1, description="CPU threads, and processes that prepare a large corpus; by default one for each core."
    )
    shard: bool = Field(
        False,
        description="With several processes: each keeps its share of weights, gradients and moments (FSDP), for models "
        "too large for one GPU.",
    )
