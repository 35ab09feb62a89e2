"""Severity, cause and fix of each finding of `dragoman doctor output`."""

from __future__ import annotations

from dragoman.doctor.findings.finding import FindingType

OUTPUT_FINDINGS: dict[str, FindingType] = {
    "collapsed": FindingType(
        "error",
        "the model has learned only one likely sentence: training has just started or has diverged (learning rate too "
        "high, warm-up too short), or the source does not reach the decoder",
        "check the training loss: if it stays above 4 nats, use a third of the learning rate and a longer warm-up; "
        "dragoman doctor model detects a source that does not reach the decoder",
    ),
    "text-form": FindingType(
        "error",
        "the targets of the training data have this form, or a step after the translation is missing; BLEU was "
        "measured again after it was undone, or done to the references",
        "train on text in the form that translations should have, or undo it afterwards",
    ),
    "reference-form": FindingType(
        "error",
        "the references were prepared for another program; BLEU was measured again after it was undone, or done to the "
        "translations",
        "use references in the form of usual text; the scores mean nothing before",
    ),
    "empty-output": FindingType(
        "error",
        "the end of sentence is the most likely first token: the training data contain empty targets, the search "
        "prefers short hypotheses because the length penalty is too low, or eos and bos are swapped",
        "find empty targets with dragoman doctor data, start each target with bos, and raise decoding.length_penalty",
    ),
    "repetition": FindingType(
        "error",
        "the decoder has not learned to continue its own output: a future leak during training (the model learned to "
        "copy the next word), too little training, or too little text",
        "train longer; if that does not help, look for leaks with dragoman doctor model",
    ),
    "copying": FindingType(
        "warning",
        "the training text contains untranslated pairs, which teach the model to copy",
        "remove these pairs with dragoman doctor data --write DIR",
    ),
    "output-length": FindingType(
        "warning",
        "hypotheses end too early: the length penalty is too low, training pairs are truncated, or "
        "decoding.max_length is too small",
        "raise decoding.length_penalty; check decoding.max_length and decoding.max_length_ratio",
    ),
    "exposure-gap": FindingType(
        "error",
        "during training the model saw the word to predict (a future leak), or targets were not shifted by one (the "
        "input must start with bos, the labels must end with eos); otherwise, the model has only seen correct "
        "prefixes",
        "look for a leak with dragoman doctor model and check that targets are shifted; if both are right, try "
        "training.scheduled_sampling",
    ),
    "unknown-tokens": FindingType(
        "warning",
        "the text contains words or characters that the training text does not: another subject, another "
        "normalization, word tokens, or a vocabulary that is too small",
        "use subwords with text.byte_fallback, or train on similar text",
    ),
    "translations-ignore-source": FindingType(
        "error",
        "the decoder works as a language model: its cross-attention is disconnected or has learned nothing, or the "
        "training pairs are not translations of each other",
        "look for a disconnected source with dragoman doctor model and for misaligned lines with dragoman doctor data",
    ),
    "shuffled-references": FindingType(
        "error",
        "the references belong to other sources: one of the files was shuffled or sorted, or lines are missing; the "
        "translations do depend on their sources",
        "use files in the same order, and find missing lines with dragoman doctor data SOURCE REFERENCE",
    ),
    "shifted-references": FindingType(
        "error",
        "lines are missing or were added in one of the two files; the translations resemble references in other lines "
        "much more than their own",
        "find the missing lines with dragoman doctor data SOURCE REFERENCE, and restore them; scores and the other "
        "checks of references mean nothing before",
    ),
    "exchanged-sides": FindingType(
        "error",
        "source and reference were exchanged, or the model translates in the other direction",
        "exchange --source and --reference, or use a model of the other direction",
    ),
    "unexpected-language": FindingType(
        "error",
        "the file is in another language or script than the training text of that side",
        "use a file in the right language, or a model that was trained with this language",
    ),
    "unusual-sources": FindingType(
        "warning",
        "the sources have another form than the training text, such as capital letters or several sentences per line, "
        "or the file is damaged, truncated or in the wrong language",
        "correct the sources, or train on text of this form; the other checks use the remaining lines",
    ),
    "empty-lines": FindingType(
        "warning",
        "lines were lost or not translated; the model was trained without empty sentences, and empty references lower "
        "the scores",
        "remove these lines from both files",
    ),
    "few-sentences": FindingType(
        "note",
        "averages of a few sentences depend on chance",
        "check at least a hundred sentences",
    ),
}
