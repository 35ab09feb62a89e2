"""Settings of the training, and of the augmentation: changes to training pairs that make a translator robust."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.settings.base import Probability, Rule, Seed, Settings, advanced

Share = Annotated[float, Field(ge=0.0, le=1.0)]


def _shares_fit(augmentation: Augmentation) -> str | None:
    shares = {name: getattr(augmentation, name) for name in Augmentation.model_fields}
    if (total := sum(shares.values())) <= 1 + 1e-9:
        return None
    listed = ", ".join(f"{name} = {share:g}" for name, share in shares.items() if share)
    return f"the shares add up to {total:g}, which is more than 1: {listed}; lower some of them"


class Augmentation(Settings):
    """Shares of the training pairs that are changed, each in one way; they are drawn again in each epoch."""

    rules = (_shares_fit,)
    upper_case: Share = Field(0.0, description="Share in capital letters, on both sides.")
    title_case: Share = Field(0.0, description="Share in which every word starts with a capital letter, on both sides.")
    no_end_punctuation: Share = Field(
        0.0,
        description="Share from which the punctuation at the end is removed. Pairs that do not have it on both sides "
        "remain unchanged.",
    )
    typos: Share = Field(
        0.0, description="Share with typing errors in a few words of the source: letters swapped, lost, doubled, wrong."
    )
    terms: Share = Field(
        0.0,
        description="Share in which some source terms are followed by the dictionary form of their translation, so "
        "that the translator learns to follow a glossary. Some of these translations are wrong, so that it learns to "
        "ignore terms that do not fit. Needs text.terms; has no effect on languages without spaces between words.",
    )
    fuzzy_matches: Share = Field(
        0.0,
        description="Share whose source is followed by the translation of a similar training pair, so that the "
        "translator can use a translation memory. Pairs without a similar one remain unchanged.",
    )
    single_words: Share = Field(
        0.0,
        description="Share that is replaced by a word and its translation, from a dictionary that is learned from the "
        "training text; there is none for languages without spaces between words.",
    )


NOAM_FACTOR = 1.0


class Training(Settings):
    """Budget, batches, optimizer and validation. Exactly one of epochs, steps and minutes must be given."""

    rules = (
        Rule(
            lambda training: (training.epochs, training.steps, training.minutes).count(None) != 2,
            "give exactly one of epochs, steps and minutes",
        ),
        Rule(
            lambda training: (
                training.shard
                and (
                    training.ema_decay is not None
                    or training.scheduled_sampling == "stepwise"
                    or training.optimizer == "muon"
                )
            ),
            "shard does not support ema_decay, scheduled_sampling = 'stepwise' or optimizer = 'muon'",
        ),
        Rule(
            lambda training: training.new_vocabulary and training.start_from is None, "new_vocabulary needs start_from"
        ),
        Rule(lambda training: training.start_share and training.start_from is None, "start_share needs start_from"),
        Rule(
            lambda training: training.schedule_part[0] >= training.schedule_part[1],
            "schedule_part: its end must be greater than its start",
        ),
    )

    @model_validator(mode="after")
    def _choose_factor(self) -> Self:
        """The factor of the paper's formula is no learning rate, so it has another default."""
        if self.schedule == "noam" and "learning_rate" not in self.model_fields_set:
            object.__setattr__(self, "learning_rate", NOAM_FACTOR)
        return self

    epochs: float | None = Field(None, gt=0, le=1_000_000, description="Budget in passes over the training pairs.")
    steps: int | None = Field(None, ge=1, le=1_000_000_000, description="Budget in optimizer steps.")
    minutes: float | None = Field(
        None,
        gt=0,
        le=1_000_000,
        description="Budget in minutes, validation included; the learning rate follows the time.",
    )
    start_from: str | None = Field(
        None,
        min_length=1,
        description="A bundle or run directory: training starts with its weights and its vocabulary instead of random "
        "weights. The sections text and model must agree with it, but the model may have fewer layers.",
    )
    batch_tokens: int = Field(
        4096,
        ge=1,
        le=100_000_000,
        description="Maximum number of source tokens and of target tokens in a batch, padding included. A batch that "
        "becomes more than half longer through BPE-dropout is computed in parts.",
    )
    optimizer: Literal["adam", "adamw", "muon"] = Field(
        "adam",
        description="Adam, Adam with decoupled weight decay, or Muon for the matrices of the layers and adamw for the "
        "rest, which learns faster.",
    )
    learning_rate: float = Field(
        1e-3,
        gt=0,
        le=1000,
        description="Peak learning rate; for noam, a factor of the formula in the paper, by default 1.",
    )
    schedule: Literal["constant", "noam", "inverse_sqrt", "cosine", "linear"] = Field(
        "inverse_sqrt", description="The learning rate after the warm-up; cosine and linear end at zero."
    )
    warmup_steps: int = Field(
        4000, ge=0, le=1_000_000_000, description="Number of steps in which the learning rate rises linearly."
    )
    weight_decay: float = Field(
        0.0,
        ge=0,
        le=10,
        description="Weight decay of matrices. With adamw and muon it shrinks the weights directly; with adam it is L2 "
        "regularization, added to the gradient, which has another effect (Loshchilov and Hutter 2019).",
    )
    label_smoothing: Probability = Field(0.1, description="Probability spread evenly over the vocabulary.")
    clip_norm: float | None = Field(
        None, gt=0, le=1_000_000, description="Maximum norm of the gradient; larger gradients are scaled down."
    )
    validations: int = Field(
        10,
        ge=1,
        le=1_000_000,
        description="Number of validations, evenly spaced over the budget; the last one is at the end. With a budget "
        "in minutes, one that would not be finished before the last one is left out.",
    )
    early_stopping: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Stop after this many validations in a row without a better score.",
    )
    early_stopping_by: Literal["score", "score_and_loss"] = advanced(
        "score",
        description="What early_stopping counts as an improvement: a better score (score), or a better score, a lower "
        "loss, or any validation during the warm-up (score_and_loss).",
    )
    best_by: Literal["bleu", "chrf", "loss"] = Field(
        "bleu",
        description="Which validation score decides which checkpoint is best; of equal scores, the one with the lower "
        "loss. A BLEU below 1 counts as zero.",
    )
    average: int = Field(
        1,
        ge=1,
        le=1000,
        description="Number of last validations whose weights are averaged. Validations score the average, and the "
        "bundle gets that of the best one.",
    )
    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto",
        description="Arithmetic of the forward and backward pass; auto is bfloat16 if that is fast on the device. With "
        "float16 the loss is scaled; on a CPU, bfloat16 is used instead.",
    )
    seed: Seed = Field(1, description="Seed of initial weights, order of the data, and dropout.")
    augmentation: Augmentation = Field(Augmentation(), description="Changes to training pairs.")
    start_share: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="With start_from: the share of the bundle's weights in the final ones, a weighted mean of both "
        "(Wortsman et al. 2022), so that less is forgotten.",
    )
    device: str = Field("auto", description="'cpu', 'cuda', 'cuda:1', …; auto is a GPU if there is one.")
    new_vocabulary: bool = advanced(
        False,
        description="With start_from: learn another vocabulary, as the section text says. Tokens that both have keep "
        "their embeddings; others start with the mean of the tokens into which the bundle splits them.",
    )
    batch_sentences: int | None = advanced(
        None,
        ge=1,
        le=10_000_000,
        description="Maximum number of sentences in a batch; by default only batch_tokens limits it.",
    )
    length_groups: int = advanced(
        4,
        ge=1,
        le=10_000,
        description="Number of groups of sentences of similar length in a batch; with more groups, a step contains "
        "more different lengths, with little padding.",
    )
    schedule_part: tuple[Share, Share] = advanced(
        (0.0, 1.0),
        description="The part of the schedule that this training covers. Stages that train the same weights divide one "
        "schedule among them; the rate falls only once. Has an effect on cosine and linear.",
    )
    accumulation: int = advanced(
        1, ge=1, le=100_000, description="Number of batches whose gradients are accumulated in one step."
    )
    betas: tuple[Probability, Probability] = advanced((0.9, 0.98), description="Adam's decay rates of the two moments.")
    epsilon: float = advanced(1e-9, gt=0, le=1, description="Adam's epsilon.")
    r_drop: float = advanced(
        0.0,
        ge=0,
        le=1000,
        description="Weight of the divergence between two passes with different dropout (Liang et al. 2021, eq. 3); "
        "2 to 5 helps small corpora; each step then takes 1.8 times as long.",
    )
    ema_decay: float | None = advanced(
        None,
        gt=0,
        lt=1,
        description="Validate and deploy an exponential moving average of the weights with this decay per step; in the "
        "first steps, the decay is at most (1 + step) / (10 + step).",
    )
    scheduled_sampling: Literal["none", "stepwise", "two_pass"] = advanced(
        "none",
        description="Also train on the model's own predictions (Bengio et al. 2015): token by token (stepwise), or, "
        "which is faster, on the predictions of a first teacher-forced pass (two_pass).",
    )
    teacher_forcing_decay: float = advanced(
        0.95,
        gt=0,
        le=1,
        description="Scheduled sampling: in epoch e, counted from 0, a batch is teacher-forced with probability "
        "teacher_forcing_decay^e. In the other batches, each input token is taken from the reference with this "
        "probability.",
    )
    teacher_forcing_minimum: float = advanced(
        0.3, ge=0, le=1, description="Scheduled sampling: lower limit of this probability."
    )
    validation_sentences: int = advanced(
        1000,
        ge=1,
        le=1_000_000,
        description="Number of sentences translated for BLEU and chrF at each validation; the loss uses all sentences.",
    )
    validation_share: float | None = advanced(
        None,
        gt=0,
        le=1,
        description="Maximum share of training.minutes for validations: one that would exceed it is postponed, except "
        "the first and the last one. Has no effect on a budget in steps or epochs.",
    )
    teacher_forced_bleu: bool = advanced(
        False,
        description="Also compute the BLEU of the most probable next tokens, given the reference up to each. Some "
        "publications report it as BLEU, although it does not score translations.",
    )
    checkpoint_minutes: float = advanced(
        10.0, gt=0, le=1_000_000, description="Maximum time between checkpoints, in minutes."
    )
    log_every: int = advanced(
        50, ge=1, le=1_000_000_000, description="Number of steps between training lines in metrics.jsonl."
    )
    kernels: bool = advanced(
        True,
        description="Use faster versions of the model's parts (see docs/performance.md); false computes everything in "
        "plain PyTorch, to check them.",
    )
    threads: int | None = advanced(
        None,
        ge=1,
        le=4096,
        description="Number of CPU threads, and of processes that prepare a large corpus; by default one per core, or "
        "OMP_NUM_THREADS threads if that environment variable is set. Fewer are faster if other programs are busy.",
    )
    shard: bool = advanced(
        False,
        description="With several processes: each stores only its share of weights, gradients and moments (FSDP), for "
        "models that are too large for one GPU.",
    )
