"""Every setting of a recipe, declared once: its default, its bounds and its help.

A recipe is a TOML file with the sections of `Recipe`; `dragoman.recipe` reads it. Unknown keys, wrong types and
values out of bounds are refused, all of them together. What must hold between keys is a rule: a function from the
settings to a problem or None, listed in its section's `rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Probability = Annotated[float, Field(ge=0.0, lt=1.0)]


class Settings(BaseModel):
    """The base of every section: frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    rules: ClassVar[tuple[Callable[[Any], str | None], ...]] = ()

    @model_validator(mode="after")
    def _obey_rules(self) -> Self:
        problems = [problem for rule in self.rules if (problem := rule(self))]
        if problems:
            raise ValueError("; ".join(problems))
        return self


class FilePair(Settings):
    """Two line-aligned text files whose names follow no common pattern."""

    source: str = Field(description="File with one source sentence a line, plain or .gz.")
    target: str = Field(description="File with its translations, line by line.")


CorpusReference = str | FilePair
"""Where pairs come from: a catalog split such as ``multi30k:train``, ``captions:train`` or
``hf:NAME:SPLIT``; a pattern such as ``my/train.{lang}.gz``; a ``.tsv`` or ``.jsonl`` file; or two files."""


class Data(Settings):
    """Which sentence pairs to train, validate and test on."""

    source_language: str = Field(description="Code of the language to translate from, such as 'de'.")
    target_language: str = Field(description="Code of the language to translate into, such as 'en'.")
    train: tuple[CorpusReference, ...] = Field(
        min_length=1,
        description="Corpora to train on: 'multi30k:train' (catalog), 'my/train.{lang}' (line-aligned files, {lang} "
        "becomes the code), 'pairs.tsv', 'pairs.jsonl', 'hf:NAME:SPLIT', or {source = FILE, target = FILE}.",
    )
    validation: tuple[CorpusReference, ...] = Field(
        (), description="Corpora to validate on; if none, validation_pairs are held out of the training corpora."
    )
    test: tuple[CorpusReference, ...] = Field((), description="Corpora to score the finished model on.")
    validation_pairs: int = Field(
        1000, ge=1, description="Pairs to hold out of training (at most a tenth of them) when validation is not given."
    )
    max_characters: int | None = Field(
        None, ge=1, description="Drop training pairs with this many characters or more on either side."
    )
    max_tokens: int = Field(128, ge=1, description="Drop training pairs with more tokens than this on either side.")


def _specials_differ(specials: Specials) -> str | None:
    spellings = {specials.unk, specials.pad, specials.bos, specials.eos}
    return "the four specials must be spelled differently" if len(spellings) < 4 else None


class Specials(Settings):
    """Spellings of the four special tokens."""

    rules = (_specials_differ,)
    unk: str = Field("<unk>", min_length=1, description="Stands for what the vocabulary lacks.")
    pad: str = Field("<pad>", min_length=1, description="Fills short sentences of a batch.")
    bos: str = Field("<s>", min_length=1, description="Starts every target sentence.")
    eos: str = Field("</s>", min_length=1, description="Ends every source and target sentence.")


def _only_bpe_has_merges(text: Text) -> str | None:
    lacks = text.bpe_dropout > 0 and text.tokenizer != "bpe"
    return f"bpe_dropout needs tokenizer = 'bpe', not {text.tokenizer!r}" if lacks else None


class Text(Settings):
    """How strings become tokens."""

    rules = (_only_bpe_has_merges,)
    tokenizer: Literal["bpe", "unigram", "whitespace", "spacy"] = Field(
        "bpe", description="Subwords learnt from the data (bpe, unigram) or words (whitespace, spacy's rules)."
    )
    vocabulary_size: int = Field(
        8000, ge=16, description="Entries of each subword vocabulary, specials included (bpe, unigram)."
    )
    subword_pairs: int = Field(
        1_000_000,
        ge=1,
        description="Most pairs that subwords are learnt from, spread evenly over the training text (bpe, unigram); "
        "words are counted in all pairs.",
    )
    joint: bool = Field(True, description="One vocabulary for both languages instead of one each.")
    minimum_frequency: int = Field(
        1, ge=1, description="Words (or BPE merges) seen less often in training are left out of the vocabulary."
    )
    lowercase: bool = Field(False, description="Lowercase everything before tokenizing.")
    normalization: Literal["none", "nfc", "nfkc"] = Field(
        "nfc", description="Unicode normal form applied before tokenizing."
    )
    pre_tokenizer: Literal["metaspace", "whitespace"] = Field(
        "metaspace",
        description="How subword tokenizers first split text: at spaces, kept as a mark, so that the text can be "
        "restored exactly (metaspace), or at spaces and punctuation, spaces dropped (whitespace).",
    )
    byte_fallback: bool = Field(
        True, description="Spell characters outside a subword vocabulary as UTF-8 bytes (256 entries) instead of unk."
    )
    specials: Specials = Field(default=Specials(), description="Spellings of the special tokens.")
    bpe_dropout: Probability = Field(
        0.0,
        description="Leave merges of BPE out with this probability in training, so that words are seen in many "
        "segmentations (Provilkov et al. 2020); 0.1 helps small corpora.",
    )


def _heads_divide_d_model(model: Model) -> str | None:
    uneven = model.d_model % model.heads
    return f"d_model = {model.d_model} is not divisible by heads = {model.heads}" if uneven else None


def _rotary_turns_pairs(model: Model) -> str | None:
    odd = model.positions == "rotary" and model.d_model // model.heads % 2
    return "rotary positions need an even number of dimensions a head (d_model / heads)" if odd else None


def _sinusoids_come_in_pairs(model: Model) -> str | None:
    odd = model.positions == "sinusoidal" and model.d_model % 2
    return f"sinusoidal positions need an even d_model, not {model.d_model}" if odd else None


def _torch_can_be_it(model: Model) -> str | None:
    if model.implementation != "torch":
        return None
    reasons = {
        "qkv_bias = true": model.qkv_bias,
        "final_norm = true": model.final_norm,
        "activation = 'relu' or 'gelu'": model.activation in ("relu", "gelu"),
        "positions = 'sinusoidal' or 'learned'": model.positions != "rotary",
        "equal dropout, attention_dropout and activation_dropout": (
            model.dropout == model.attention_dropout == model.activation_dropout
        ),
    }
    needed = [reason for reason, met in reasons.items() if not met]
    return f"implementation = 'torch' needs {', '.join(needed)}" if needed else None


class Model(Settings):
    """The Transformer (Vaswani et al. 2017) and its variants."""

    rules = (_heads_divide_d_model, _rotary_turns_pairs, _sinusoids_come_in_pairs, _torch_can_be_it)
    implementation: Literal["dragoman", "torch"] = Field(
        "dragoman", description="Our own modules, or torch.nn.Transformer on the same weights."
    )
    d_model: int = Field(512, ge=2, description="Width of the residual stream.")
    heads: int = Field(8, ge=1, description="Attention heads; must divide d_model.")
    d_ff: int = Field(2048, ge=1, description="Hidden width of the feed-forward layers.")
    encoder_layers: int = Field(6, ge=1, description="Layers of the encoder.")
    decoder_layers: int = Field(6, ge=1, description="Layers of the decoder.")
    norm: Literal["pre", "post"] = Field(
        "pre", description="Layer norm before each sublayer, x + f(norm(x)), or after it, norm(x + f(x))."
    )
    final_norm: bool = Field(True, description="One more layer norm at the end of each stack.")
    norm_epsilon: float = Field(1e-5, gt=0, description="Added to the variance in layer norms.")
    qkv_bias: bool = Field(True, description="Biases on the query, key and value projections.")
    output_bias: bool = Field(False, description="A bias on the projection to the target vocabulary.")
    tie: Literal["all", "target", "none"] = Field(
        "all",
        description="Share one matrix among both embeddings and the output (all; needs text.joint), between target "
        "embedding and output (target), or not at all (none).",
    )
    embedding_init: Literal["normal", "xavier"] = Field(
        "normal", description="Initial embeddings: normal with deviation d_model^-0.5, or Xavier-uniform like the rest."
    )
    qkv_init: Literal["separate", "joint"] = Field(
        "separate",
        description="Initial query, key and value projections: three Xavier-uniform matrices, or parts of one, smaller "
        "by the square root of 2, as torch.nn.MultiheadAttention has them.",
    )
    activation: Literal["relu", "gelu", "silu", "swiglu"] = Field(
        "relu", description="Activation of the feed-forward layers."
    )
    positions: Literal["sinusoidal", "learned", "rotary"] = Field(
        "sinusoidal", description="How positions enter: added to the embeddings, or rotating queries and keys."
    )
    max_length: int = Field(
        512,
        ge=2,
        description="Most tokens of a sentence, end of sentence included; longer sources are cut with a warning.",
    )
    dropout: Probability = Field(0.1, description="Dropout on embeddings and sublayer outputs.")
    attention_dropout: Probability = Field(0.0, description="Dropout on attention weights.")
    activation_dropout: Probability = Field(0.0, description="Dropout inside the feed-forward layers.")
    attention: Literal["auto", "fused", "explicit"] = Field(
        "auto",
        description="torch's fused attention, softmax(QK^T)V step by step, or what is faster on the device (auto).",
    )


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
    device: str = Field("auto", description="'cpu', 'cuda', 'cuda:1', …; auto takes a GPU if there is one.")
    threads: int | None = Field(
        None, ge=1, description="CPU threads, and processes that prepare a large corpus; by default one for each core."
    )
    shard: bool = Field(
        False,
        description="With several processes: each keeps its share of weights, gradients and moments (FSDP), for models "
        "too large for one GPU.",
    )


def _beam_holds_n_best(decoding: Decoding) -> str | None:
    if decoding.mbr_samples:
        few = decoding.n_best > decoding.mbr_samples
        return f"n_best = {decoding.n_best} is more than mbr_samples = {decoding.mbr_samples}" if few else None
    short = not decoding.sampling and decoding.n_best > decoding.beam_size
    return f"n_best = {decoding.n_best} is more than beam_size = {decoding.beam_size}" if short else None


def _only_sampling_filters(decoding: Decoding) -> str | None:
    filtered = decoding.top_k is not None or decoding.top_p is not None
    drawn = decoding.sampling or decoding.mbr_samples
    return "top_k and top_p need sampling = true or mbr_samples" if filtered and not drawn else None


def _lengths_leave_room(decoding: Decoding) -> str | None:
    short = decoding.min_length > decoding.max_length
    return f"min_length = {decoding.min_length} is more than max_length = {decoding.max_length}" if short else None


class Decoding(Settings):
    """How translations are searched for."""

    rules = (_beam_holds_n_best, _only_sampling_filters, _lengths_leave_room)
    beam_size: int = Field(5, ge=1, description="Hypotheses kept at each step; 1 is greedy.")
    length_penalty: float = Field(
        1.0, ge=0, description="Exponent alpha of ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14)."
    )
    n_best: int = Field(1, ge=1, description="Translations to return for each sentence; at most beam_size.")
    max_length: int = Field(256, ge=1, description="Most tokens of a translation.")
    min_length: int = Field(0, ge=0, description="Fewest tokens of a translation.")
    no_repeat_ngram: int = Field(
        0, ge=0, description="No so many tokens in a row come twice in a translation; 0 allows it."
    )
    max_length_ratio: float = Field(2.0, gt=0, description="Most target tokens for each source token …")
    max_length_offset: int = Field(10, ge=0, description="… plus this many.")
    sampling: bool = Field(False, description="Draw tokens at random instead of searching for the best.")
    temperature: float = Field(1.0, gt=0, description="Divides the logits before the softmax.")
    top_k: int | None = Field(None, ge=1, description="Sample among the k likeliest tokens only.")
    top_p: float | None = Field(
        None, gt=0, le=1, description="Sample among the likeliest tokens of this total probability."
    )
    seed: int = Field(1, ge=0, description="Seed of sampling.")
    mbr_samples: int = Field(
        0,
        ge=0,
        description="Minimum Bayes risk: draw so many samples of each translation, and take the one that is most like "
        "the others by chrF (Eikema and Aziz 2020); 0 searches instead.",
    )
    batch_tokens: int | None = Field(
        None,
        ge=1,
        description="Source tokens of a decoding batch, padding included, times the hypotheses of each sentence; by "
        "default 4,096 on a CPU, where larger ones were slower, and 32,768 on a GPU.",
    )
    cache: bool = Field(
        True, description="Keep keys and values of earlier positions; false reads the whole prefix anew at each step."
    )


def _shared_matrix_needs_joint(recipe: Recipe) -> str | None:
    apart = recipe.model.tie == "all" and not recipe.text.joint
    return "model.tie = 'all' needs text.joint = true" if apart else None


def _model_holds_training_pairs(recipe: Recipe) -> str | None:
    tokens, limit = recipe.data.max_tokens, recipe.model.max_length
    if tokens < limit:
        return None
    return f"data.max_tokens = {tokens} must be less than model.max_length = {limit}, which counts the end of sentence"


class Recipe(Settings):
    """All that defines a translator, except its weights."""

    rules = (_shared_matrix_needs_joint, _model_holds_training_pairs)
    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="Name of the run; its directory is runs/NAME unless --output says else.",
    )
    data: Data
    text: Text = Text()
    model: Model = Model()
    training: Training
    decoding: Decoding = Decoding()

    def to_dict(self) -> dict[str, Any]:
        """Every resolved value, as plain data without the unset (None) ones, for TOML and JSON."""
        return self.model_dump(mode="json", exclude_none=True)
