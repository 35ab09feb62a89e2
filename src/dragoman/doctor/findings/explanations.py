"""Of every code of a finding: how bad it is, what usually causes it and how to mend it."""

from __future__ import annotations

from typing import Any

from dragoman.doctor.findings.finding import Explanation, Finding, Severity

MODEL: dict[str, Explanation] = {
    "future-leak": Explanation(
        "error",
        "the causal mask is missing, thrown away (scores.masked_fill(...) returns a new tensor and changes nothing "
        "in place), off by one, or means the opposite of what the attention takes it for",
        "give the decoder's self-attention a mask under which position i sees 0 to i only, and use what masked_fill "
        "returns; torch.nn.MultiheadAttention wants True = may not attend, scaled_dot_product_attention the opposite",
    ),
    "source-padding-leak": Explanation(
        "error",
        "padding of the source is attended to: the encoder's self-attention or, more often, the decoder's attention to "
        "the source has no padding mask, or padding counts in a mean or a norm",
        "mask source == pad_id in both places (torch.nn.Transformer: src_key_padding_mask and "
        "memory_key_padding_mask), in training and in translation alike",
    ),
    "target-padding-leak": Explanation(
        "error",
        "padding after the end of a target changes what is predicted before it: padding and causal mask are joined "
        "with the wrong one of 'and' and 'or', or something counts the width of the batch",
        "may attend = causal and not padding; compute nothing from target.shape[1] but the causal mask",
    ),
    "batch-leak": Explanation(
        "error",
        "sentences of a batch see each other: batch and time axis are exchanged (torch's modules take time first "
        "unless batch_first=True), batch normalisation is used, or one row's mask is used for all",
        "attend within a sentence only; use layer norm; give every row a mask of its own",
    ),
    "source-ignored": Explanation(
        "error",
        "the decoder's attention to the source is missing, gets the target as its memory, or is masked where there "
        "is text; or what the encoder returns is not passed on",
        "pass the encoder's output to every decoder layer as keys and values, and see that the mask of the source is "
        "not turned round",
    ),
    "position-blind": Explanation(
        "error",
        "positions are never added, are the same everywhere, or are computed and not used, so a sentence is a bag of "
        "words",
        "add the position encoding to the embeddings (x = x + positions[:length], over the time axis, not the batch), "
        "or rotate queries and keys in every layer",
    ),
    "not-deterministic": Explanation(
        "error",
        "dropout is on while translating: model.eval() was not called, or dropout is applied as a function without "
        "training=self.training",
        "call model.eval() before validating and translating; F.dropout(x, p, self.training)",
    ),
    "not-logits": Explanation(
        "error",
        "the model ends with a softmax, but cross-entropy applies one itself; with two of them the loss cannot fall "
        "far and gradients are tiny",
        "return the last projection as it is, and let torch.nn.functional.cross_entropy do the softmax",
    ),
    "bad-initial-loss": Explanation(
        "warning",
        "the initial logits are too large: embeddings drawn with deviation 1 (the default of nn.Embedding) are used "
        "as the output projection, a deep pre-norm stack has no final norm, or a matrix was initialised for another "
        "width",
        "draw embeddings that are also the output with deviation d_model ** -0.5, other matrices Xavier-uniform; an "
        "untrained model should be about as wrong as guessing, a loss of log(vocabulary size)",
    ),
    "no-gradient": Explanation(
        "error",
        "these parameters do not take part in the output (a layer that is built but not called), or the way back to "
        "them is cut by detach(), .data, no_grad() or an argmax",
        "call what is built, or do not build it; take detach() and no_grad() out of the forward pass",
    ),
    "cannot-overfit": Explanation(
        "error",
        "the model cannot learn even two short sentences by heart: its output is squeezed (tanh, sigmoid, "
        "normalised), the way from target to logits is broken, or what it is fed is not what it is scored on",
        "feed bos + target and score target + eos; look at what happens to the logits after the last projection",
    ),
    "overflow": Explanation(
        "error",
        "a number is too large for its type, or a softmax has nothing left to attend to: masks of -1e9 in half "
        "precision, -inf in a whole row, a norm without epsilon, exp() without subtracting the maximum",
        "mask with torch.finfo(scores.dtype).min or scaled_dot_product_attention; keep softmax and norms in float32",
    ),
    "length-limit": Explanation(
        "warning",
        "the table of positions has no more rows, or a mask has a fixed size",
        "make the table as long as the longest sentence you will meet, or cut sentences with a warning first",
    ),
}
"""Codes of `examine`."""

DATA: dict[str, Explanation] = {
    "line-counts-differ": Explanation(
        "error",
        "a line was lost, or broken in two, on one side: often a line break inside a sentence, or an export cut short",
        "find where the sides part (a misaligned stretch that reaches to the end begins there), mend it, export again",
    ),
    "misaligned": Explanation(
        "error",
        "a line is missing on one side and another one further on, so that what is between is paired wrongly; or the "
        "lines were sorted or shuffled on one side only",
        "compare both sides around the first and the last line told; take the missing line in, or leave the stretch "
        "out with --write",
    ),
    "swapped-sides": Explanation(
        "error",
        "source and target were exchanged, in the recipe or in a part of the corpus that came from elsewhere",
        "exchange data.source_language and data.target_language, or the two files, or the columns of that part",
    ),
    "test-overlap": Explanation(
        "error",
        "sentences to test with are also trained on, so that scores are too good",
        "leave them out of training (--write does), or hold out whole documents",
    ),
    "duplicates": Explanation(
        "warning",
        "the same pairs came from several places, or a text repeats itself, as menus and headers do",
        "keep one of each (--write does), unless what is frequent should count more",
    ),
    "wrong-script": Explanation(
        "warning",
        "a side was not translated, is transliterated, or is in another language",
        "look at the examples; names and commands may stay, sentences should go",
    ),
    "copied-source": Explanation(
        "warning",
        "these were not translated; the model learns from them to copy",
        "leave them out (--write does)",
    ),
    "length-ratio": Explanation(
        "warning",
        "one side holds more, or less, than the other says: sentences joined, cut or not translated",
        "leave them out (--write does); if there are many, the sentences were split wrongly",
    ),
    "encoding-damage": Explanation(
        "warning",
        "UTF-8 was read as Windows-1252 or Latin-1 and saved again ('Ã¤' for 'ä'), or replaced by U+FFFD",
        "go back to the undamaged file; ftfy mends what holds no U+FFFD",
    ),
    "invalid-utf8": Explanation(
        "error",
        "the file, or a part that was appended to it, is in another encoding",
        "convert it: iconv -f latin1 -t utf-8",
    ),
    "control-characters": Explanation(
        "error",
        "binary data, UTF-16, or remains of another program's formatting",
        "convert the file, or replace these characters by spaces",
    ),
    "over-long": Explanation(
        "warning",
        "whole paragraphs, or a table without line breaks; training leaves out what is longer than data.max_tokens",
        "split them into sentences, on both sides alike",
    ),
    "empty-side": Explanation(
        "warning",
        "nothing was translated there; training skips such pairs",
        "none is needed",
    ),
}
"""Codes of `dragoman.doctor.data.diagnose`."""

OUTPUT: dict[str, Explanation] = {
    "collapsed": Explanation(
        "error",
        "the model has learnt one likely sentence and no more: training has only begun or has diverged (a learning "
        "rate too high, a warm-up too short), or the source does not reach the decoder",
        "look at the training loss: if it stands still above 4 nats, take a third of the learning rate and a longer "
        "warm-up; dragoman doctor model finds a source that is cut off",
    ),
    "empty-output": Explanation(
        "error",
        "the end of the sentence is the likeliest first token: empty targets were trained on, short hypotheses win "
        "without a length penalty, or eos and bos are exchanged",
        "dragoman doctor data finds empty targets; set decoding.length_penalty to 1; begin targets with bos",
    ),
    "repetition": Explanation(
        "error",
        "the decoder has not learnt to go on by itself: a leak of the future while training (it learnt to copy the "
        "next word), too little training, or too little text",
        "dragoman doctor model finds leaks; else train longer",
    ),
    "copying": Explanation(
        "warning",
        "untranslated pairs in the training text teach to copy",
        "dragoman doctor data --write leaves them out",
    ),
    "output-length": Explanation(
        "warning",
        "hypotheses end too early: no length penalty, training pairs cut short, or decoding.max_length too small",
        "raise decoding.length_penalty for longer translations; check decoding.max_length and max_length_ratio",
    ),
    "exposure-gap": Explanation(
        "error",
        "while training, the model saw the word that it was to predict, or targets were not shifted by one (the input "
        "must begin with bos, the output end with eos); if not so, it has only ever seen right beginnings",
        "dragoman doctor model finds a leak; shift targets; else try training.scheduled_sampling",
    ),
    "unknown-tokens": Explanation(
        "warning",
        "the text has words or characters that the training text lacks: another subject, other normalisation, words "
        "as tokens, or a vocabulary too small",
        "use subwords with text.byte_fallback, or train on text like this",
    ),
    "translations-ignore-source": Explanation(
        "error",
        "the decoder has become a language model: its attention to the source is cut off or never learnt, or the "
        "training pairs are not translations of each other",
        "dragoman doctor model finds a source that is cut off, dragoman doctor data lines that came apart",
    ),
}
"""Codes of `dragoman.doctor.output.checks`."""


def found(
    code: str, message: str, *, severity: Severity | None = None, cause: str | None = None, **measured: Any
) -> Finding:
    """A finding of this code.

    Args:
        code: A key of the tables.
        message: What was found, in a sentence.
        severity: Instead of the code's usual one.
        cause: Instead of the code's usual one.
        measured: The numbers that show it.
    """
    known = ALL[code]
    return Finding(code, severity or known.severity, message, measured, cause or known.cause, known.fix)


ALL: dict[str, Explanation] = MODEL | DATA | OUTPUT
