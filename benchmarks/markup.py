"""Measure whether tags in HTML are kept, and whether they are around the right words of the translation.

python benchmarks/markup.py runs/quickstart
python benchmarks/markup.py runs/de-en --corpus data/test.{lang}.gz --training-text data/train.{lang}.gz

Tags are put around random words and groups of words of test sentences, which stay on disk. A tag around a single word
can be judged if the translation contains, once, the same word or its translation in a dictionary that is learned from
the training text. Of these, the share whose tag is around exactly this word is printed for each attention that could
show the alignment.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import escape, unescape
from html.parser import HTMLParser
from itertools import islice, pairwise, product
from pathlib import Path

from dragoman.bundle import AttentionRows, Bundle, find_bundle
from dragoman.corpus.corpus import read_corpus
from dragoman.documents.formats.html import HtmlText
from dragoman.documents.translate import TextTranslator
from dragoman.engines import EngineRequest, open_engine
from dragoman.explanation.alignment import align
from dragoman.lexicon.dictionary import learn_dictionary
from dragoman.text.translation import Translation
from dragoman.translator import Translator

WORD = re.compile(r"[\w]+(?:['’-]\w+)*")
TAG = re.compile(r"<[^>]*>")
NAMES = ("a", "b", "em", "i", "span", "strong", "u")
MOST_TAGS = 3  # around single words of a sentence


def insert_tags(sentence: str, generator: random.Random) -> str:
    """The sentence as HTML, with up to three words in tags, and mostly a group of words around one of them."""
    words = [match.span() for match in WORD.finditer(sentence)]
    counts = Counter(sentence[start:end].lower() for start, end in words)
    single = [span for span in words if counts[sentence[slice(*span)].lower()] == 1]
    chosen = generator.sample(single, min(len(single), generator.randint(1, MOST_TAGS)))
    edges: dict[int, list[str]] = {}
    if chosen and generator.random() < 0.6:
        first = words.index(chosen[0])
        start, end = words[max(0, first - generator.randint(0, 2))][0], words[min(len(words) - 1, first + 1)][1]
        edges[start], edges[end] = ["<q class='group'>"], ["</q>"]
    for number, (start, end) in enumerate(chosen):
        name = generator.choice(NAMES)
        edges.setdefault(start, []).append(f'<{name} id="{number}">')
        edges.setdefault(end, []).insert(0, f"</{name}>")
    parts = []
    for start, end in pairwise([*sorted({0, *edges, len(sentence)}), len(sentence)]):
        parts += [*edges.get(start, []), escape(sentence[start:end], quote=False)]
    return "".join(parts)


class WellFormed(HTMLParser):
    """Whether each element is closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.correct = True
        self.feed(html)
        self.close()
        self.correct &= not self.opened

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.correct &= bool(self.opened) and self.opened.pop() == tag


def tagged_words(html: str) -> dict[str, str]:
    """The text in each tag with an id, without punctuation around it."""
    found = {}
    for match in re.finditer(r'<(\w+) id="(\d+)">(.*?)</\1>', html, re.DOTALL):
        found[match[2]] = unescape(TAG.sub("", match[3])).strip(" .,;:!?\"'()")
    return found


def expected_words(html: str, translation: str, dictionary: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The id of each tag that can be judged, and the word of the translation that it should be around."""
    counts = Counter(word.lower() for word in WORD.findall(translation))
    for number, word in tagged_words(html).items():
        candidates = {word.lower(), dictionary.get(word.lower(), "")} & counts.keys()
        if len(candidates) == 1 and counts[expected := candidates.pop()] == 1:
            yield number, expected


def report(name: str, documents: Sequence[str], results: Sequence[str], expected: Sequence[dict[str, str]]) -> None:
    kept = sum(
        Counter(TAG.findall(one)) == Counter(TAG.findall(other)) for one, other in zip(documents, results, strict=True)
    )
    formed = sum(WellFormed(result).correct for result in results)
    total = right = around = 0
    for result, wanted in zip(results, expected, strict=True):
        words = tagged_words(result)
        for number, word in wanted.items():
            found = words.get(number, "").lower()
            total += 1
            right += found == word
            around += word in WORD.findall(found)
    print(
        f"{name}: all tags kept in {kept} of {len(results)}, well-formed {formed} of {len(results)}; of {total} tags "
        f"{right / max(1, total):.1%} around exactly the right word, {around / max(1, total):.1%} around it and others"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, nargs="?", default=Path("runs/quickstart"), help="or a run directory")
    parser.add_argument("--corpus", default="captions:test", help="pairs to translate, as recipes name them")
    parser.add_argument("--training-text", default="captions:train", help="pairs to learn the dictionary from")
    parser.add_argument("--sentences", type=int, default=300, help="number of pairs")
    parser.add_argument("--engine", default=None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="number of documents to print")
    arguments = parser.parse_args()
    directory = find_bundle(arguments.bundle)
    bundle = Bundle.load(directory)
    data, generator = bundle.recipe.data, random.Random(arguments.seed)
    read = partial(read_corpus, source_language=data.source_language, target_language=data.target_language)
    pairs = [pair for pair in read(arguments.corpus) if len(WORD.findall(pair.source)) > 2]
    sentences = [pair.source for pair in generator.sample(pairs, min(len(pairs), arguments.sentences))]
    learned = learn_dictionary(islice(read(arguments.training_text), 100_000))
    dictionary = {source.lower(): target.lower() for source, target in learned}
    html = [insert_tags(sentence, generator) for sentence in sentences]
    assert all(WellFormed(each).correct for each in html)
    documents = [HtmlText(each, data.source_language) for each in html]
    engine = open_engine(EngineRequest(bundle, bundle.recipe.decoding, path=directory), arguments.engine)
    texts = TextTranslator(Translator(bundle, device="cpu", engine=engine))
    segments = [segment for document in documents for segment in document.segments]
    translated = texts.translate_segments(segments)

    def assemble(translations: Sequence[Translation]) -> list[str]:
        rest = iter(translations)
        return [document.assemble(list(islice(rest, len(document.segments)))) for document in documents]

    plain = [unescape(TAG.sub("", result)) for result in assemble(translated)]
    expected = [dict(expected_words(*each, dictionary)) for each in zip(html, plain, strict=True)]
    print(f"{engine.name}: {len(html)} sentences, {len(segments)} segments; the bundle uses {bundle.attention_rows()}")
    for layer, shifted in product(range(bundle.recipe.model.decoder_layers), (False, True)):
        changed = replace(bundle, alignment=AttentionRows(layer, shifted)._asdict())
        recorder = open_engine(EngineRequest(changed, bundle.recipe.decoding), "torch")
        links = align(changed, recorder, [each.text for each in segments], [each.text for each in translated])
        results = assemble([Translation(each.text, links=link) for each, link in zip(translated, links, strict=True)])
        report(f"layer {layer}, {'shifted' if shifted else 'predicting'} rows", html, results, expected)
    report("as stored", html, assemble(translated), expected)
    report("without alignment", html, assemble([Translation(each.text) for each in translated]), expected)
    for source, result in list(zip(html, assemble(translated), strict=True))[: arguments.show]:
        print(f"{source}\n  {result}")


if __name__ == "__main__":
    main()
