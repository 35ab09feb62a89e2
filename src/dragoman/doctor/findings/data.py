"""What is known about each finding of `dragoman doctor data`."""

from __future__ import annotations

from dragoman.corpus.lines import REPLACE_CONTROLS, REPLACE_LINE_ENDS
from dragoman.doctor.findings.finding import FindingType

DATA_FINDINGS: dict[str, FindingType] = {
    "line-counts-differ": FindingType(
        "error",
        "a line was lost or split in two on one side, often because a sentence contains a line break or an export was "
        "interrupted",
        "find the line where the files diverge (if a misaligned stretch reaches the end of the file, it starts there), "
        "correct it, and export again",
        example="3,000 source lines and 2,999 target lines; only the first 2,999 were paired",
    ),
    "misaligned": FindingType(
        "error",
        "one side lacks a line and, further on, the other side lacks one, so the lines in between are paired wrongly; "
        "or only one side was sorted or shuffled",
        "compare both sides around the first and last line of each stretch and insert the missing lines, or remove "
        "the stretch (dragoman doctor data --write DIR does this)",
        example="997 pairs in stretches where source and target are misaligned (33.24% of 2,999): lines 2,001 to "
        "2,997 (the translations are 1 line further up)",
    ),
    "swapped-sides": FindingType(
        "error",
        "source and target are swapped, in the recipe or in a part of the corpus that came from elsewhere",
        "swap the two languages (data.source_language and data.target_language, or --languages), the two files, or the "
        "columns of the affected part",
    ),
    "test-overlap": FindingType(
        "error",
        "the training corpora contain pairs of a validation or test corpus, so the scores on that corpus are too high",
        "remove these pairs from the training corpora "
        "(dragoman doctor data --write DIR does this), or hold out whole documents",
    ),
    "test-similar": FindingType(
        "warning",
        "the same sentence was translated twice, or edited, and the split did not keep the versions together; the "
        "scores on that corpus are too high",
        "remove these pairs from the training corpora "
        "(dragoman doctor data --write DIR does this), or hold out whole documents",
        details="Sentences of fewer than four words may be equal by chance and are not reported.",
    ),
    "duplicates": FindingType(
        "warning",
        "the same pairs come from several places, or a text repeats itself, as menus and page headers do",
        "keep one copy of each pair "
        "(dragoman doctor data --write DIR does this), unless frequent pairs should have more weight",
    ),
    "wrong-script": FindingType(
        "warning",
        "one side is untranslated, transliterated or in another language",
        "look at the examples and remove whole sentences "
        "(dragoman doctor data --write DIR does this); names and commands may stay",
    ),
    "wrong-language": FindingType(
        "warning",
        "one side is in the language of the other side or in a third language: it was not translated, or it is a "
        "quotation",
        "look at the examples and remove whole sentences "
        "(dragoman doctor data --write DIR does this); titles and quotations may stay",
        example="1,981 pairs with a side in a different language from the rest (19.81% of 10,000): lines 8,001 to "
        "10,000 (the source looks like de)",
        details="If a whole side is in another language than its file name or the recipe states, this is an error "
        "with another cause. A block of lines in another language, such as a part of another file, is reported with "
        "its first and last line, its side and its language. At 5% of pairs or more, this is an error. When dragoman "
        "learns which words and letters are usual on each side, it ignores lines with more function words of another "
        "known language; otherwise, a large block would change what counts as usual.\n\n"
        "Four things show that a side is in a third language: its words are rare on this side of the corpus, its "
        "letter sequences are unusual, some of its words are function words of another language, and it does not "
        "translate the other side. Their evidence is combined. No single one is enough, because a rare topic also has "
        "rare words. Numbers, identifiers, and words with a capital letter within a sentence do not count, because "
        "they may be names. The function words of 15 languages are known: Czech, Danish, Dutch, English, Finnish, "
        "French, German, Hungarian, Italian, Polish, Portuguese, Romanian, Spanish, Swedish and Turkish. Texts in "
        "other languages are found, too, but need more evidence.\n\n"
        'The language of one or two words cannot be known: "Paris" may be a word of any language. Such texts in a '
        "third language are not reported, and of those with three or four words, some are missed ([recall by "
        "length](../benchmarks/history/measurements.md#texts-in-another-language)).",
    ),
    "second-language": FindingType(
        "warning",
        "one side contains text in a related language or in another way of writing, with other words for the same "
        "functions; a model that trains on both mixes them",
        "look at the examples; remove these pairs (dragoman doctor data --write DIR does this), or train on both as "
        "two languages",
        example="400 pairs with a side in a second language (5.00% of 8,000): lines 12, 40, 61, 77, 98, … (in the "
        'target, instead of "jo, se, až, su", they have "je, so, zo, při")',
    ),
    "copied-source": FindingType(
        "warning",
        "these sentences were not translated; a model that trains on them learns to copy",
        "remove these pairs (dragoman doctor data --write DIR does this); if copying is the task, give both sides the "
        "same language code",
        details="Copies also count if they differ only in spaces or in most kinds of punctuation, or if they are "
        "entirely in capitals or in lower case. If only some words differ in capitalization, the pair does not count "
        'as a copy, because somebody edited it: in German, "DDE link" is "DDE Link". Names and other texts whose '
        "words occur on both sides of the corpus may be equal. If most pairs of a corpus are copies, this is an error.",
    ),
    "length-ratio": FindingType(
        "warning",
        "one side contains more or less text than the other: sentences were joined, truncated or not translated",
        "remove these pairs "
        "(dragoman doctor data --write DIR does this); if there are many, correct the sentence splitting",
    ),
    "cut-off": FindingType(
        "warning",
        "a program cut long texts, or a line break divided the sentence; a model that trains on these pairs leaves out "
        "the ends of sentences",
        "restore the second halves, or remove these pairs (dragoman doctor data --write DIR does this)",
    ),
    "repeated-side": FindingType(
        "warning",
        "a text was pasted or joined twice; a model that trains on these pairs repeats itself",
        "keep one of the two copies, or remove these pairs (dragoman doctor data --write DIR does this)",
    ),
    "encoding-damage": FindingType(
        "warning",
        "UTF-8 was read as Windows-1252 or Latin-1 and saved again ('Ã¤' instead of 'ä'); or characters were dropped "
        "('Mdchen'), replaced by question marks or U+FFFD ('M?dchen'), or written as escapes (backslash and u, %C3)",
        "use the undamaged original file; ftfy repairs text that was read with the wrong encoding, but not what was "
        "dropped or replaced",
        details="Text that was decoded with the wrong encoding often contains control characters. Such pairs are also "
        "reported as `control-characters`, because training rejects them.",
    ),
    "markup": FindingType(
        "warning",
        "the text comes from web pages or from the messages of a program, and its HTML was not removed or not decoded",
        "remove the tags and decode the entities in the same way on both sides, for example with html.unescape",
    ),
    "invalid-utf8": FindingType(
        "error",
        "the file, or a part that was appended to it, has another encoding",
        "convert the file, for example with iconv -f latin1 -t utf-8; if only some lines are invalid, convert only "
        "these, because a second conversion would damage the others",
    ),
    "control-characters": FindingType(
        "error",
        "the file contains binary data, UTF-16 text, formatting codes of another program, or the line ends of old Macs",
        f"convert the file (line ends: {REPLACE_LINE_ENDS} < FILE > NEW), or replace these characters with spaces "
        f"({REPLACE_CONTROLS} < FILE > NEW)",
    ),
    "over-long": FindingType(
        "warning",
        "a line contains whole paragraphs, or a table without line breaks; training skips pairs that are longer than "
        "data.max_tokens",
        "split the text into sentences, in the same way on both sides",
    ),
    "empty-side": FindingType(
        "warning",
        "one side was not translated; training skips such pairs",
        "nothing needs to be done",
    ),
}
