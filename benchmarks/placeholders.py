"""Measure how many placeholders, tags, URLs, names, numbers, emoji and escapes a translator copies exactly.

python benchmarks/placeholders.py runs/quickstart
python benchmarks/placeholders.py runs/multi30k-de-en --corpus multi30k:test_2016_flickr --engines torch ctranslate2

Random spans, which no training text contains, are inserted between the words of test sentences. A span counts as copied
if the translation contains it as often as the source. The scores are those of the translations without the spans, so
the difference from the scores of the sentences themselves shows what the spans do to the rest of the translation.
Translators that do not mask spans find them by alignment, as `dragoman translate` and the server do.
"""

from __future__ import annotations

import argparse
import random
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from dragoman import TextTranslator
from dragoman.bundle import Bundle, find_bundle
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.engines import EngineRequest, open_engine
from dragoman.evaluation.metrics import corpus_scores
from dragoman.translator import TextSearch, Translator

Spans = list[tuple[str, str]]
"""The kind and the text of each."""


def word(generator: random.Random, least: int = 3, most: int = 9) -> str:
    return "".join(generator.choices(string.ascii_lowercase, k=generator.randint(least, most)))


def digits(generator: random.Random, count: int) -> str:
    return str(generator.randint(10 ** (count - 1), 10**count - 1))


def placeholder(generator: random.Random) -> str:
    name, number = word(generator), generator.randint(1, 99)
    forms = (f"{{{name}}}", f"{{{{{name}.{word(generator)}}}}}", f"%{number}$s", f"%({name})s", f"${name.upper()}")
    return generator.choice((*forms, f"${{{name}}}", f"[X{number}X]", "%s", "%d", "{0}"))


def tag(generator: random.Random) -> str:
    name = word(generator, 1, 5)
    return generator.choice((f"<{name}>", f"</{name}>", f"<{name} />", f'<{name} id="{word(generator)}">'))


def url(generator: random.Random) -> str:
    site, path = f"{word(generator)}.{word(generator, 2, 3)}", "/".join(word(generator) for _ in range(2))
    return generator.choice((f"https://{site}/{path}?q={digits(generator, 4)}", f"http://{site}", f"www.{site}/{path}"))


def email(generator: random.Random) -> str:
    return f"{word(generator)}.{word(generator)}@{word(generator)}.{word(generator, 2, 3)}"


def mention(generator: random.Random) -> str:
    return generator.choice("@#") + word(generator)


def separated(generator: random.Random) -> str:
    one, two, three = (digits(generator, count) for count in (1, 2, 3))
    return generator.choice((f"{one}.{two}.{three}", f"{two}:{digits(generator, 2)}", f"{three}-{two}-{two}"))


def emoji(generator: random.Random) -> str:
    picture = chr(generator.choice((*range(0x1F600, 0x1F640), *range(0x1F680, 0x1F6A0))))
    return generator.choice((picture, f":{word(generator)}:"))


KINDS: dict[str, Callable[[random.Random], str]] = {
    "placeholder": placeholder,
    "tag": tag,
    "URL": url,
    "e-mail": email,
    "mention": mention,
    "number, 1 digit": lambda generator: digits(generator, 1),
    "number, 2 digits": lambda generator: digits(generator, 2),
    "number, 3 to 7": lambda generator: digits(generator, generator.randint(3, 7)),
    "number, separated": separated,
    "decimal": lambda generator: f"{digits(generator, 2)}{generator.choice('.,')}{digits(generator, 2)}",
    "emoji": emoji,
    "escape": lambda generator: rf"\{generator.choice('nt')}",
}


def insert(sentence: str, kinds: Sequence[str], generator: random.Random) -> tuple[str, Spans]:
    """The sentence with one to three spans between its words, and these spans."""
    words, spans = sentence.split(" "), []
    for _ in range(generator.choice((1, 1, 2, 3))):
        kind = generator.choice(kinds)
        spans.append((kind, KINDS[kind](generator)))
        words.insert(generator.randint(0, len(words) - 1), spans[-1][1])
    return " ".join(words), spans


def occurrences(span: str, text: str) -> int:
    return len(re.findall(rf"(?<!\d){re.escape(span)}(?!\d)" if span[0].isdigit() else re.escape(span), text))


def without(spans: Spans, text: str) -> str:
    for _, span in spans:
        text = text.replace(span, " ")
    return " ".join(text.split())


def measure(translator: Translator, pairs: Sequence[Pair], kinds: Sequence[str], seed: int, shown: int) -> None:
    """Insert spans into the sources of pairs, translate them with and without, and print what is copied.

    Args:
        translator: What translates.
        pairs: Sentences and their translations.
        kinds: Kinds of spans, equally frequent.
        seed: That of the random spans.
        shown: How many failures are printed at most.
    """
    generator = random.Random(seed)
    texts, inserted = zip(*(insert(pair.source, kinds, generator) for pair in pairs), strict=True)
    translate = TextTranslator(translator).stream
    found, plain = list(map(str, translate(texts))), list(map(str, translate(pair.source for pair in pairs)))
    total, copied = Counter[str](), Counter[str]()
    for text, spans, translation in zip(texts, inserted, found, strict=True):
        for kind, span in spans:
            total[kind] += 1
            success = occurrences(span, text) == occurrences(span, translation)
            copied[kind] += success
            if not success and total.total() - copied.total() <= shown:
                print(f"not copied: {kind} {span}\n  {text}\n  {translation}")
    for kind in kinds:
        print(f"{kind:<18} {copied[kind]:>4} of {total[kind]:>4} copied  {copied[kind] / max(1, total[kind]):.1%}")
    print(f"{'all':<18} {copied.total():>4} of {total.total():>4} copied  {copied.total() / total.total():.1%}")
    search = TextSearch(translator.bundle, translator.engine, translator.decoding)
    sources = search.encode(texts)
    first = map(search.translation, sources, translator.engine.translate([source.ids for source in sources]))
    again = sum(all(each.problems for each in (best, *best.alternatives)) for best in first)
    print(f"searched again: {again} of {len(texts)} sentences ({again / len(texts):.1%})")
    references = [pair.target for pair in pairs]
    stripped = [without(spans, each) for spans, each in zip(inserted, found, strict=True)]
    for name, translations in {"without spans": plain, "with spans, which are then removed": stripped}.items():
        scores = corpus_scores(translations, references)
        print(f"{name}: BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, nargs="?", default=Path("runs/quickstart"), help="or a run directory")
    parser.add_argument("--corpus", default="captions:test", help="pairs to translate, as recipes name them")
    parser.add_argument("--sentences", type=int, default=500, help="number of pairs")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="kinds of spans to insert")
    parser.add_argument("--engines", nargs="+", default=["torch"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="number of failures to print")
    arguments = parser.parse_args()
    directory = find_bundle(arguments.bundle)
    bundle = Bundle.load(directory)
    data = bundle.recipe.data
    corpus = read_corpus(arguments.corpus, source_language=data.source_language, target_language=data.target_language)
    pairs = list(islice(corpus, arguments.sentences))
    for name in arguments.engines:
        engine = open_engine(EngineRequest(bundle, bundle.recipe.decoding, path=directory), name)
        print(f"\n{name}: {len(pairs)} sentences")
        measure(Translator(bundle, device="cpu", engine=engine), pairs, arguments.kinds, arguments.seed, arguments.show)


if __name__ == "__main__":
    main()
