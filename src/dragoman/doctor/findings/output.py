"""What is known about each finding of `dragoman doctor output`."""

from __future__ import annotations

from dragoman.doctor.findings.finding import FindingType

OUTPUT_FINDINGS: dict[str, FindingType] = {
    "collapsed": FindingType(
        "error",
        "the model has learned only one likely sentence: training has just started or has diverged (learning rate too "
        "high, warm-up too short), or the source does not reach the decoder",
        "check the training loss: if it stays above 4 nats, use a third of the learning rate and a longer warm-up; "
        "dragoman doctor model detects a source that does not reach the decoder",
        example="40 of 100 different sources (40%) have the same translation: 'A man is sitting on a green bench in "
        "front of a house.'",
    ),
    "text-form": FindingType(
        "error",
        "the targets of the training data have this form, or a step after the translation is missing; BLEU was "
        "measured again after it was undone, or done to the references",
        "train on text in the form that translations should have, or undo it afterwards",
        example="the translations, but not the references, have HTML entities, such as &quot;: without this form, "
        'BLEU is 43.0 in place of 28.0: "I&apos;m here."',
        details="Forms are a wrong encoding (Ã¤ for ä), HTML entities, escapes, percent codes, tags, invisible "
        "characters, separate accents, subwords that were not joined, punctuation separated by spaces or "
        "missing, lower case or capitals only, and letters that were replaced: ae for ä, a for ä, question "
        "marks, or nothing. A form is named only if BLEU changes when it is undone. The other checks then use "
        "the texts without it. The message states the fix for the form.",
    ),
    "reference-form": FindingType(
        "error",
        "the references were prepared for another program; BLEU was measured again after it was undone, or done to the "
        "translations",
        "use references in the form of usual text; the scores mean nothing before",
        example="the references, but not the translations, have subwords that were not joined (@@, ▁ or ##): without "
        'this form, BLEU is 43.0 in place of 31.2: "the cap@@ tain"',
    ),
    "empty-output": FindingType(
        "error",
        "the end of sentence is the most likely first token: the training data contain empty targets, the search "
        "prefers short hypotheses because the length penalty is too low, or eos and bos are swapped",
        "find empty targets with dragoman doctor data, start each target with bos, and raise decoding.length_penalty",
        example="5 of 100 translations (5%) are empty: the model ends the sentence immediately",
    ),
    "repetition": FindingType(
        "error",
        "the decoder has not learned to continue its own output: a future leak during training (the model learned to "
        "copy the next word), too little training, or too little text",
        "train longer; if that does not help, look for leaks with dragoman doctor model",
        example="5 of 100 translations (5%) repeat the same words over and over: 'A pool pool pool pool pool pool "
        "pool'",
    ),
    "copying": FindingType(
        "warning",
        "the training text contains untranslated pairs, which teach the model to copy",
        "remove these pairs with dragoman doctor data --write DIR",
        example="20 of 100 translations (20%) are copies of the source: 'Vier freundliche Köche halten an einem Zaun "
        "schwarze Blumen.'",
    ),
    "output-length": FindingType(
        "warning",
        "hypotheses end too early: the length penalty is too low, training pairs are truncated, or "
        "decoding.max_length is too small",
        "raise decoding.length_penalty; check decoding.max_length and decoding.max_length_ratio",
        example="the translations have 0.66 times as many characters as the references",
        details="The fix names the current length penalty. A higher one leads to longer hypotheses, and without beam "
        "search it has no effect.",
    ),
    "exposure-gap": FindingType(
        "error",
        "during training the model saw the word to predict (a future leak), or targets were not shifted by one (the "
        "input must start with bos, the labels must end with eos); otherwise, the model has only seen correct "
        "prefixes",
        "look for a leak with dragoman doctor model and check that targets are shifted; if both are right, try "
        "training.scheduled_sampling",
        example="given the correct prefix, the model predicts 94.7% of the next tokens, but its own translations have "
        "a BLEU of only 2.1",
    ),
    "unpredicted-references": FindingType(
        "error",
        "the weights and the tokenizers do not belong together, or the weights are damaged, or the model was hardly "
        "trained",
        "use the tokenizers of the training run; export or import the model again; if it is a run, train longer",
        example="given the correct prefix, the model predicts 4.6% of the next tokens, with a loss of 8.35 nats; the "
        "most frequent token alone is 7.8% of them, and a guess by frequency has a loss of 4.87; 100% of the words are "
        "in the training text",
        details="The model is worse than a guess by the frequencies of the tokens in the references, by at least 1 nat "
        "per token. A trained model with a low BLEU is not. If the training text has less than half of the words, the "
        "finding says that the references are of another kind. Of the other checks, only that of unknown tokens is "
        "reported.",
    ),
    "unknown-tokens": FindingType(
        "warning",
        "the text contains words or characters that the training text does not: another subject, another "
        "normalization, word tokens, or a vocabulary that is too small",
        "use subwords with text.byte_fallback, or train on similar text",
        example="412 of 5,310 source tokens (7.8%) are not in the vocabulary",
    ),
    "translations-ignore-source": FindingType(
        "error",
        "the decoder works as a language model: its cross-attention is disconnected or has learned nothing, or the "
        "training pairs are not translations of each other",
        "look for a disconnected source with dragoman doctor model and for misaligned lines with dragoman doctor data",
        example="the references have a loss of 3.214 nats per token with their own sources and 3.217 with the sources "
        "of other sentences",
    ),
    "shuffled-references": FindingType(
        "error",
        "the references belong to other sources: one of the files was shuffled or sorted, or lines are missing; the "
        "translations do depend on their sources",
        "use files in the same order, and find missing lines with dragoman doctor data SOURCE REFERENCE",
        example="the references have a loss of 5.812 nats per token with their own sources and 5.790 with the sources "
        "of other sentences; the translations have 0.911 and 6.204",
        details="If only a part of the references belongs to other sources, its lines are reported. Stretches of at "
        "least 15 lines are found if the model translates the text well: most references must be far more probable "
        "with their own sources.",
    ),
    "shifted-references": FindingType(
        "error",
        "lines are missing or were added in one of the two files; the translations resemble references in other lines "
        "much more than their own",
        "find the missing lines with dragoman doctor data SOURCE REFERENCE, and restore them; scores and the other "
        "checks of references mean nothing before",
        example="in about lines 301 to 1,000, the reference of each source is 1 line above it",
        details="Distances of up to 20 lines are found, also with weak models: the translations of each hundred lines "
        "are compared with the references at each distance. Of the other checks, only that of repetition runs.",
    ),
    "exchanged-sides": FindingType(
        "error",
        "source and reference were exchanged, or the model translates in the other direction",
        "exchange --source and --reference, or use a model of the other direction",
        example="the sources are in the target language (en) and the references in the source language (de)",
    ),
    "unexpected-language": FindingType(
        "error",
        "the file is in another language or script than the training text of that side",
        "use a file in the right language, or a model that was trained with this language; if it was, state the "
        "language with --source-language or --target-language",
        example="the sources look like fr, but the translation is from de",
    ),
    "unusual-sources": FindingType(
        "warning",
        "the sources have another form than the training text, such as capital letters or several sentences per line, "
        "or the file is damaged, truncated or in the wrong language",
        "correct the sources, or train on text of this form; the other checks use the remaining lines",
        example="20 of 200 sources (10%) do not resemble the training text: 20 in capital letters; lines 1, 2, 3, 4, "
        "5, …",
        details="A form is reported if at least 5% of the sources have it and hardly any training line does. Lengths "
        "that do not fit the references are reported only if at least 50% of the sources are too short, or too long, "
        "and look cut off or doubled; otherwise, see `unusual-references`. If at least 50% of the sources are unusual, "
        "this is an error. If fewer than 20 other sources remain, nothing else is checked.",
    ),
    "unusual-references": FindingType(
        "error",
        "the references were cut off, joined with other text, or filled with one text; if they are complete, the "
        "sources were cut off or joined",
        "correct the references; scores mean nothing before",
        example="158 of 160 references (99%) do not fit their sources: 158 much shorter or longer than their sources "
        "suggest; lines 1, 2, 3, 4, 5, …",
        details="Lengths are compared with the usual ratio in the training text. They are reported if at least 50% of "
        "the references are a third too short, or half too long; these lines are left out of the other checks. One "
        "reference of at least 30% of the different sources is reported unless the translations are equal, too.",
    ),
    "empty-lines": FindingType(
        "warning",
        "lines were lost or not translated; the model was trained without empty sentences, and empty references lower "
        "the scores",
        "remove these lines from both files",
        example="3 of 1,000 sources are empty: lines 61, 62, 63",
    ),
    "few-sentences": FindingType(
        "note",
        "averages of a few sentences depend on chance",
        "check at least a hundred sentences",
        example="only 5 sentences: average lengths, losses and BLEU were not checked",
    ),
}
