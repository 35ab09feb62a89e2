"""Fifteen mistakes of people who write a Transformer, each planted in the course's solution.

Most are from the five write-ups with which this project began, and from public repositories of beginners.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from dragoman.errors import UserError
from dragoman.learn.exercises import SOLUTION
from dragoman.system.user_code import module_from_text


@dataclass(frozen=True)
class Mistake:
    """A change of the solution that makes it wrong.

    Attributes:
        right: Text of the solution, which occurs once.
        wrong: What stands there instead.
        check: The check of the course that fails.
        cause: A part of the message that names the cause.
        effect: What the learner sees.
    """

    right: str
    wrong: str
    check: str
    cause: str
    effect: str


MISTAKES = {
    "mask-thrown-away": Mistake(
        "scores = scores.masked_fill(~mask, -1e9)",
        "scores.masked_fill(~mask, -1e9)",
        "attention obeys the mask",
        "no effect",
        "the decoder sees the future: the training loss falls to zero, and translations are 'pool pool pool …'",
    ),
    "not-scaled": Mistake(
        "/ math.sqrt(q.shape[-1])",
        "",
        "attention is the paper's",
        "not divided by √d",
        "with wide heads the softmax saturates, and training is slow",
    ),
    "softmax-over-queries": Mistake(
        "weights = scores.softmax(dim=-1)",
        "weights = scores.softmax(dim=-2)",
        "weights are probabilities",
        "over the queries",
        "each position takes part of the others' attention; what comes later changes what came before",
    ),
    "next-token-visible": Mistake(
        "dtype=torch.bool).tril()",
        "dtype=torch.bool).tril(1)",
        "the causal mask hides the future",
        "one position too many",
        "the decoder copies the next token, which it does not have when it translates",
    ),
    "padding-visible": Mistake(
        "x = layer(x, padding_mask(source))",
        "x = layer(x, torch.ones_like(padding_mask(source)))",
        "the doctor finds no errors",
        "source-padding-leak",
        "the translation of a sentence depends on the other sentences in its batch",
    ),
    "positions-without-exp": Mistake(
        "torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))",
        "torch.arange(0, d_model, 2) * (-math.log(1000.0) / d_model)",
        "positions are waves",
        "the rates",
        "distant positions look alike; word order is learned late or not at all",
    ),
    "positions-forgotten": Mistake(
        "return self.dropout(x + self.table[: ids.shape[1]])",
        "return self.dropout(x)",
        "the doctor finds no errors",
        "position-blind",
        "'a dog bites a man' and 'a man bites a dog' have the same translation",
    ),
    "heads-without-transpose": Mistake(
        "return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)",
        "return x.view(x.shape[0], self.heads, x.shape[1], -1)",
        "heads are parts of the vectors",
        "mixes positions",
        "a head gets parts of several words: the shape is right and the content is not",
    ),
    "cross-attention-to-itself": Mistake(
        "self.cross_attention(self.cross_attention_norm(x), memory, memory_mask)",
        "self.cross_attention(self.cross_attention_norm(x), self.cross_attention_norm(x), mask)",
        "the doctor finds no errors",
        "source-ignored",
        "every source has the same fluent translation",
    ),
    "residual-lost": Mistake(
        "x = x + self.dropout(self.attention(y, y, mask))\n        x = x + self.dropout(self.cross",
        "x = self.dropout(self.attention(y, y, mask))\n        x = x + self.dropout(self.cross",
        "layers add to their input",
        "residual connection",
        "the word itself is lost where attention looks elsewhere; deep models do not train",
    ),
    "probabilities-not-logits": Mistake(
        "return self.output(self.decoder_norm(x))",
        "return self.output(self.decoder_norm(x)).softmax(dim=-1)",
        "the doctor finds no errors",
        "not-logits",
        "the loss applies a second softmax and hardly falls",
    ),
    "padding-in-the-loss": Mistake(
        "real = labels != PAD",
        "real = torch.ones_like(labels, dtype=torch.bool)",
        "the doctor finds no errors in the loss",
        "padding",
        "the loss looks better than it is, because padding is easy, and short sentences count more",
    ),
    "labels-not-shifted": Mistake(
        "inputs = torch.cat((torch.full((len(pairs), 1), BOS), labels[:, :-1]), dim=1)",
        "inputs = labels",
        "labels are the next tokens",
        "the label itself",
        "the loss falls to zero, and translations are useless",
    ),
    "dropout-in-the-search": Mistake(
        '    """Chapter 6: the most probable next token, again and again; source (batch, source) -> ids that end with '
        'EOS."""\n    model.eval()\n',
        '    """Chapter 6: the most probable next token, again and again; source (batch, source) -> ids that end with '
        'EOS."""\n',
        "the doctor finds no errors in greedy search",
        "dropout",
        "the same sentence has another translation each time",
    ),
    "penalty-at-every-step": Mistake(
        "running = [each for each in extended if each[1][-1] != EOS][:beam]",
        "running = [(value / length, ids) for value, ids in extended if ids[-1] != EOS][:beam]",
        "scores are divided once",
        "at every step",
        "the beginning of a hypothesis counts less and less, and long ones win",
    ),
}


def broken(name: str) -> ModuleType:
    """The course's Transformer with one mistake, as a module.

    Raises:
        UserError: There is no mistake of that name.
    """
    if name not in MISTAKES:
        raise UserError(f"{name}: no such mistake; there are {', '.join(MISTAKES)}")
    return module_from_text(plant(MISTAKES[name], SOLUTION.read_text(encoding="utf-8")), f"{name}.py")


def plant(mistake: Mistake, solution: str) -> str:
    """The solution with the mistake."""
    assert solution.count(mistake.right) == 1, mistake.right
    return solution.replace(mistake.right, mistake.wrong)
