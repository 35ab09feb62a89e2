"""The page's modules for text, in Chromium: the same tokens, texts and spans as in Python."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from random_bundles import make_bundle
from strange_texts import strange_texts
from tokenizers import Tokenizer
from tokenizers.models import BPE
from web_pages import run_module, serve_directory

from dragoman.documents.sentences import find_text_spans, join_translations
from dragoman.export.web.exporter import write_modules
from dragoman.text.known_characters import CharacterCounts
from dragoman.text.masking import RESERVED, Masking
from dragoman.text.normalization import remove_invisible
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.tag_spaces import place_tag_spaces
from dragoman.text.usual_case import UsualCase

TEXTS = [
    *strange_texts(3000),
    "SEE HTTPS://A.DE/X, WWW.A.DE OR Mailto:A@B.DE!",
    "",
    " ",
    "<unk>",
    "Ein <b>sehr</b> <i> großer </i>Hund: <b>un</b>glaublich, <br/>5<u>%</u>!",
    "</u>Das \"<b><i>Auto</i></b>\" <u>fährt</u>: <a href='x'>ja</a>(<1>nein</1>)<file>.",
    "a<unk>b",
    "<</s>",
    "a" * 3000,
]
TOKENIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "BPE": ("pre-norm, tied", {}),
    "BPE without bytes": ("pre-norm, tied", {"text__byte_fallback": False}),
    "BPE, lowercase, NFKC": ("pre-norm, tied", {"text__lowercase": True, "text__normalization": "nfkc"}),
    "BPE with placeholders": ("placeholders", {}),
    "unigram": ("unigram, silu", {}),
    "unigram without bytes": ("unigram, silu", {"text__byte_fallback": False}),
}


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page that can load the modules."""
    directory = tmp_path_factory.mktemp("page")
    write_modules(directory)
    with serve_directory(directory) as address:
        opened = browser.new_page()
        opened.goto(f"{address}/tokenizer.js")
        yield opened
        opened.close()


def tokenizer(variant: str, **options: Any) -> SubwordTokenizer:
    found = make_bundle(variant, **options).source
    assert isinstance(found, SubwordTokenizer)
    return found


@pytest.mark.parametrize("name", TOKENIZERS)
def test_tokens_and_texts_are_those_of_python(name: str, page: Any) -> None:
    ours = tokenizer(TOKENIZERS[name][0], **TOKENIZERS[name][1])
    body = """
      const tokenizer = new module.Tokenizer(argument.data);
      return argument.texts.map((text) => {
        const ids = tokenizer.encode(text);
        return [ids, tokenizer.decode(ids)];
      });
    """
    found = run_module(page, "tokenizer.js", body, {"data": ours.to_json(), "texts": TEXTS})
    for text, ids, theirs in zip(TEXTS, ours.encode_masked(TEXTS), found, strict=True):
        assert theirs == [ids, ours.decode_masked(ids) if ours.masking else ours.decode(ids)], repr(text)


def test_invisible_characters_are_removed_as_in_python(page: Any) -> None:
    texts = [*TEXTS, "ta\u00adbles \u200eOpen \ufefffi\u200cle\u2066", "漢\u200b字 a\u200bb क\u200cष \u202ex"]
    found = run_module(page, "invisible.js", "return argument.map(module.removeInvisible);", texts)
    assert found == list(map(remove_invisible, texts))
    assert sum(map(str.__ne__, texts, found)) > 2


def test_an_unknown_character_is_no_subword(page: Any) -> None:
    """In a vocabulary with the German word null, the unknown value of JavaScript must not be merged."""
    tokens = ["<unk>", "e", "n", "u", "l", "nu", "ll", "null", "nulle"]
    merges = [("n", "u"), ("l", "l"), ("nu", "ll"), ("null", "e")]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    ours = Tokenizer(BPE(vocabulary, merges, unk_token="<unk>"))
    body = "return argument.words.map(module.makeBpe(argument.model, 0));"
    words = ["\u0416e", "nulle", "nul\u0416\u0416le"]
    argument = {"model": json.loads(ours.to_str())["model"], "words": words}
    assert run_module(page, "bpe.js", body, argument) == [ours.encode(word).ids for word in words]


@pytest.mark.parametrize("knows_characters", [False, True])
def test_masked_texts_are_those_of_python(knows_characters: bool, page: Any) -> None:
    ours, counts = tokenizer("placeholders"), CharacterCounts()
    for _ in range(20):
        counts.add("Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. 'Gut' – „ja“ (a, b)!")
    known = counts.known(ours.normalize) if knows_characters else None
    masking = Masking(frozenset({"0:0", "00"}), known, frozenset({"0.0", "0,0", "0,000"}))
    body = """
      const { Tokenizer } = await import(new URL("tokenizer.js", location.href));
      const mask = module.makeMasking(new Tokenizer(argument.data));
      return argument.texts.map((text) => {
        const { spans, text: masked, ...made } = mask(text);
        const spaced = masked.replaceAll(/[\ufdd8-\ufddf]/g, " $& ");
        const restored = [argument.output + masked, spaced].map((each) => mask(text).restore(each));
        return [masked, Object.fromEntries(spans), ...restored];
      });
    """
    output = "Ja.\ufdd0 \ufde4x \ufdee."
    argument = {"data": ours.with_masking(masking).to_json(), "texts": TEXTS, "output": output}
    for text, theirs in zip(TEXTS, run_module(page, "masking.js", body, argument), strict=True):
        mask = masking.mask(text)
        spaced = re.sub(f"[{RESERVED['tag']}]", r" \g<0> ", mask.text)
        assert theirs == [mask.text, mask.spans, mask.restore(output + mask.text), mask.restore(spaced)], repr(text)


def test_spaces_at_tags_are_moved_as_in_python(page: Any) -> None:
    generator, tags = random.Random(1), "\ufdd8\ufdd9\ufdda\ufddb"
    named = ["<b> </b> <i> </i>", "<b> </b> <b> </b>", "<a_href='x/'> </a_> <br/> <file>", "<ä:1> </ä:1> %s <ä>"]
    spans = [[span.replace("_", " ") for span in each.split()] for each in named]
    signs = list(",.?()„“»«‚‘’‹›¿\"'5ab\t\u0301😀-")

    def text(spaces: str) -> str:
        kinds = generator.choices([*map(list, (tags, spaces)), signs], [2, 1, 1], k=14)
        return "".join(map(generator.choice, kinds))

    cases = [(text("a"), text(" "), dict(zip(tags, generator.choice(spans), strict=True))) for _ in range(5000)]
    body = """
      return argument.map(([source, translation, spans]) =>
        module.placeTagSpaces(source, translation, new Map(Object.entries(spans))));
    """
    changed = 0
    for case, theirs in zip(cases, run_module(page, "tag_spaces.js", body, cases), strict=True):
        assert theirs == place_tag_spaces(*case), case
        changed += theirs != case[1]
    assert changed > 1000


@pytest.mark.parametrize("has_titles", [False, True])
def test_the_case_of_masked_texts_is_that_of_python(has_titles: bool, page: Any) -> None:
    case = UsualCase("Deich Strasse USA gehen grüßt der die läuft weiter in ist ich ﬁx ΟΔΟΣ öde", has_titles)
    masking = Masking(case=case)
    body = """
      const { Tokenizer } = await import(new URL("tokenizer.js", location.href));
      const mask = module.makeMasking(new Tokenizer(argument.data));
      return argument.texts.map((text) => [mask(text).text, mask(text).restore(`x ß ${mask(text).text} ¿öde? 1a`)]);
    """
    written = ["Der %s läuft in die USA. Ich grüßt {der} Deich.", "»die« läuft! (In) der öde-weiter strasse ist ich"]
    shouted = [change(text) for text in [*written, *TEXTS] for change in (str.upper, str.title)]
    texts = [*shouted, *map(" ".join, zip(shouted, shouted[5:], strict=False))]
    argument = {"data": tokenizer("placeholders").with_masking(masking).to_json(), "texts": texts}
    cases = set()
    for text, theirs in zip(texts, run_module(page, "masking.js", body, argument), strict=True):
        mask = masking.mask(text)
        assert theirs == [mask.text, mask.restore(f"x ß {mask.text} ¿öde? 1a")], repr(text)
        cases.add(mask.case)
    assert cases == {"usual", "upper"} | ({"title"} if not has_titles else set())


def test_problems_are_those_of_python(page: Any) -> None:
    ours = tokenizer("placeholders")
    masks = [mask for mask in map(Masking().mask, TEXTS[:500]) if mask.spans]
    body = """
      const { Tokenizer } = await import(new URL("tokenizer.js", location.href));
      const mask = module.makeMasking(new Tokenizer(argument.data));
      return argument.texts.map((text) => mask(text).problems([...mask(text).text], [...argument.output]));
    """
    output = "\ufdd0 \ufdd0 \ufdec \ufde4 x"
    texts = [mask.source for mask in masks]
    found = run_module(page, "masking.js", body, {"data": ours.to_json(), "texts": texts, "output": output})
    assert found == [replace(mask).problems(mask.text, output) for mask in masks]
    assert len({problem.split(":")[0] for problems in found for problem in problems}) == 3


def test_sentences_are_parts_of_the_text_and_not_too_long(page: Any) -> None:
    body = """
      const isTooLong = (text) => text.length > argument.limit;
      return argument.texts.map((text) => module.splitText(text, "de", isTooLong));
    """
    texts = [*TEXTS, "Ein Hund, der läuft. Er bellt!\n\nDr. Weiß liest z. B. Bücher; sie lacht."]
    found = run_module(page, "sentences.js", body, {"texts": texts, "limit": 30})
    for text, parts in zip(texts, found, strict=True):
        assert "".join(part["before"] + part["sentence"] + part["after"] for part in parts) == text
        assert all(len(part["sentence"]) <= 30 for part in parts)
    expected = ["Ein Hund, der läuft.", "Er bellt!", "Dr. Weiß liest z. B. Bücher;", "sie lacht."]
    assert [part["sentence"] for part in found[-1] if part["sentence"]] == expected


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("de", ["Es ist fünf Uhr.", "Ich sah Tom.", "Ja.", "Nr. Fünf, vgl. Abb. Drei.", "Am 5. Mai kam J. K. Weiß."]),
        ("de", ["Das ist der %d. Hund.", "Ein #. Hund kam.", "Nein! – sagte Tom."]),
        ("ru", ["Я иду! — сказала Анна.", "Да."]),
        ("en", ["I saw Tom in May.", "He is 12.", "The U.S. Army and Mrs. Lee met Dr. Ray.", "No."]),
    ],
)
def test_only_abbreviations_and_ordinal_numbers_do_not_end_a_sentence(
    language: str, sentences: list[str], page: Any
) -> None:
    body = "return module.splitText(argument.text, argument.language, () => false);"
    for space in (" ", "\n"):
        argument = {"text": space.join(sentences), "language": language}
        found = run_module(page, "sentences.js", body, argument)
        assert [part["sentence"] for part in found] == sentences


def test_no_sentence_ends_within_an_address(page: Any) -> None:
    sentences = ["See https://example.org/a?b=1 or /?q=x!yes.", 'Use "Open..."!', "今日は。", "Bye."]
    body = "return module.splitText(argument.text, 'en', () => false);"
    text = f"{sentences[0]} {sentences[1]} {sentences[2]}{sentences[3]}"
    assert [part["sentence"] for part in run_module(page, "sentences.js", body, {"text": text})] == sentences


def test_the_texts_between_tabs_are_translated_separately(page: Any) -> None:
    text = "- Ein Hund\tder läuft\t\t5\nEin Kind.\t Ein Ball. Ja.\n\tEin Park\t😀"
    body = "return module.splitText(argument.text, 'de', () => false);"
    found = run_module(page, "sentences.js", body, {"text": text})
    assert "".join(part["before"] + part["sentence"] + part["after"] for part in found) == text
    spans = find_text_spans(text, "de", whole_lines=False)
    assert [part["sentence"] for part in found if part["sentence"]] == [text[start:end] for start, end in spans]


def test_bullets_and_parts_without_words_are_not_translated(page: Any) -> None:
    text = "\x85- Ein Hund läuft. 😀\x85* * *\n1. FC Köln. Ja.\x1c\n  ## > Am 2. Mai.\nEs:\n1. ein Hund\n2. ein Kind"
    body = "return module.splitText(argument.text, 'de', () => false);"
    found = run_module(page, "sentences.js", body, {"text": text})
    assert "".join(part["before"] + part["sentence"] + part["after"] for part in found) == text
    sentences = [part["sentence"] for part in found if part["sentence"]]
    assert sentences == [text[start:end] for start, end in find_text_spans(text, "de", whole_lines=False)]
    assert sentences == ["Ein Hund läuft.", "1. FC Köln.", "Ja.", "Am 2. Mai.", "Es:", "ein Hund", "ein Kind"]


def test_translations_are_joined_as_in_python(page: Any) -> None:
    """Without the separator, English sentences from Chinese run together; without the point, also those from German."""
    body = """
      const parts = module.splitText(argument.text, "de", () => false), left = [...argument.translations];
      return [parts, module.joinTranslations(parts, () => left.shift())];
    """
    texts = ["你好。我很好。再见！", "Hallo. Ja! Gut?", "Ja. 😀 Nein.\nGut. - Ja", "Es.\n\nEr.", "今日は。Ja. 元気？"]
    outputs = [
        ["Hello.", "I", "you", "?"],
        ["你好。", "hi", "5", "好"],
        ["Yes", "", "No.", ""],
        ["Ça va", "x²", "𐐨", "a"],
    ]
    for text in texts:
        for translations in outputs:
            argument = {"text": text, "translations": translations}
            parts, joined = run_module(page, "sentences.js", body, argument)
            spans, end = [], 0
            for part in parts:
                start = end + len(part["before"])
                spans += [(start, start + len(part["sentence"]))] * bool(part["sentence"])
                end = start + len(part["sentence"] + part["after"])
            assert len(spans) > 1
            assert joined == join_translations(text, spans, translations[: len(spans)]), (text, translations)


@pytest.mark.parametrize(
    "text",
    [f"a{' ' * 100_000}b", "A. " * 20_000, "a " * 50_000, "5. " * 20_000],
    ids=["white space", "initials", "no end", "numbers"],
)
def test_odd_texts_are_split_in_linear_time(text: str, page: Any) -> None:
    body = """
      const started = performance.now();
      const parts = module.splitText(argument, "de", () => false);
      const milliseconds = performance.now() - started;
      return [parts.map(({ before, sentence, after }) => before + sentence + after).join(""), milliseconds];
    """
    found, milliseconds = run_module(page, "sentences.js", body, text)
    assert found == text
    assert milliseconds < 2000


@pytest.mark.parametrize("language", ["de", "en"])
@pytest.mark.parametrize(
    "text",
    [
        "1. Ein Hund\n2. Eine Katze",
        "1. Ein Hund\n\n3. Eine Katze\n\n\n1.2. Haus",
        "a) Ein Hund\n (ii) Eine Katze\n- 12) Haus\n* 3. Baum\r\n4. Auto",
        "3. Ein Hund\n" + "Haus\n" * 9 + "4. Eine Katze",
    ],
)
def test_numbers_of_lists_are_kept_as_by_the_service(text: str, language: str, page: Any) -> None:
    body = "return module.splitText(argument.text, argument.language, () => false);"
    found = run_module(page, "sentences.js", body, {"text": text, "language": language})
    spans = find_text_spans(text, language, whole_lines=False)
    assert [part["sentence"] for part in found if part["sentence"]] == [text[start:end] for start, end in spans]
