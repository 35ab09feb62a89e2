"""Grammatical checks of the captions, with grammar tables that are independent of the generator's."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest

from dragoman.corpus.synthetic.captions import captions
from dragoman.errors import UserError

NOUNS = {
    "m": "Mann Junge Großvater Vater Koch Clown Musiker Künstler Soldat Student Bauer Tourist Arbeiter Gärtner Hund "
    "Esel Vogel Affe Elefant Hut Schal Rucksack Mantel Pullover Anzug Rock Ball Drachen Ballon Stock Stein "
    "Regenschirm Korb Koffer Eimer Teller Brief Apfel Kuchen Kaffee Tee Besen Karren Zug Bus Schneemann Park Garten "
    "Wald Strand See Fluss Schnee Regen Spielplatz Platz Markt Turm Brunnen Bahnhof Laden Baum Zaun Stuhl Teppich "
    "Boden Tisch Bruder Freund Arzt Polizist Schuh Schlüssel Computer Berg Morgen Nachmittag Abend",
    "f": "Frau Großmutter Mutter Kellnerin Tänzerin Lehrerin Familie Katze Kuh Ziege Ente Mütze Jacke Schürze Uniform "
    "Puppe Fahne Kamera Blume Kiste Tasche Flasche Tasse Vase Lampe Zeitung Geschichte Gitarre Geige Flöte Birne "
    "Orange Tomate Pizza Suppe Wurst Schaufel Sandburg Wiese Straße Stadt Brücke Kirche Bühne Mauer Bank Decke Küche "
    "Bibliothek Tür Gruppe Schwester Uhr Banane Schule",
    "n": "Mädchen Kind Pferd Hemd Kleid Schild Handtuch Buch Bild Ei Bier Messer Loch Fahrrad Auto Motorrad Boot Zelt "
    "Wasser Gras Feld Gebäude Haus Dach Sofa Bett Regal Zimmer Restaurant Café Museum Büro Fenster Baby "
    "Schwein Huhn Telefon Brötchen Dorf",
}
WEAK_NOUNS = {"Junge", "Soldat", "Student", "Bauer", "Tourist", "Polizist", "Affe", "Elefant"}
PLURALS = (
    "Männer Frauen Jungen Mädchen Kinder Großväter Großmütter Väter Mütter Köche Clowns Musiker Künstler Soldaten "
    "Studenten Bauern Touristen Arbeiter Gärtner Kellnerinnen Tänzerinnen Lehrerinnen Familien Leute Hunde Katzen "
    "Pferde Kühe Ziegen Esel Enten Vögel Affen Elefanten Hüte Mützen Schals Rucksäcke Jacken Mäntel Hemden Pullover "
    "Schürzen Uniformen Anzüge Kleider Röcke Haare Bälle Drachen Puppen Ballons Stöcke Steine Fahnen Schilder "
    "Regenschirme Kameras Blumen Körbe Koffer Taschen Eimer Flaschen Tassen Teller Vasen Lampen Handtücher Bücher "
    "Zeitungen Briefe Bilder Geschichten Gitarren Geigen Flöten Äpfel Birnen Orangen Tomaten Kuchen Pizzas Suppen "
    "Eier Würste Löcher Fahrräder Autos Motorräder Karren Züge Busse Sandburgen Schneemänner Türme Häuser Bäume "
    "Decken Tische Türen Fenster Brüder Schwestern Babys Freunde Ärzte Polizisten Schweine Hühner Schuhe Telefone "
    "Schlüssel Computer Uhren Bananen Brötchen Berge"
)
STEMS = (
    "alt|bärtig|blau|blond|braun|bunt|elegant|freundlich|fröhlich|gelb|grau|groß|grün|hoh|hungrig|hölzern|jung|klein|"
    "lachend|lang|leer|lächelnd|müd|nass|neugierig|neu|rot|ruhig|schmutzig|schwarz|schön|warm|weiß"
)

# A slot is a gender (p: plural) and a case, numbered as in German grammars: 1 nominative, 3 dative, 4 accusative.
ALL = {gender + case for gender in "mfnp" for case in "134"}
ARTICLES = {
    "der": {"m1", "f3"},
    "den": {"m4", "p3"},
    "dem": {"m3", "n3"},
    "die": {"f1", "f4", "p1", "p4"},
    "das": {"n1", "n4"},
    "": {"m1", "n1", "n4"},  # ein, sein, ihr
    "e": {"f1", "f4"},
    "en": {"m4"},
    "em": {"m3", "n3"},
    "er": {"f3"},
}
CONTRACTIONS = {word: {"m3", "n3"} for word in ("im", "am", "beim", "vom", "zum")} | {"zur": {"f3"}, "ins": {"n4"}}
AFTER_THE = {"e": {"m1", "n1", "n4", "f1", "f4"}, "en": ALL - {"m1", "n1", "n4", "f1", "f4"}}
AFTER_A = {"er": {"m1"}, "es": {"n1", "n4"}, "e": {"f1", "f4"}, "en": {"m4", "m3", "n3", "f3"}}
SINGLE_PROCESS = {"e": {"p1", "p4"}, "en": {"p3"}}
PREPOSITIONS = {
    **dict.fromkeys(("mit", "von", "aus", "bei", "zu"), "3"),
    **dict.fromkeys(("durch", "um", "über"), "4"),
    **dict.fromkeys(("in", "an", "auf", "unter", "vor", "hinter", "neben"), "34"),
}
NUMERALS = "zwei|drei|vier|fünf"
PHRASE = re.compile(
    rf"\b(?:(?P<preposition>{'|'.join(PREPOSITIONS)}) )?"
    rf"(?:(?P<contraction>{'|'.join(CONTRACTIONS)}) |(?P<the>der|den|dem|die|das) (?:(?:{NUMERALS}) )?"
    rf"|(?:ein|sein|ihr)(?P<a>|e|en|em|er) |(?P<numeral>{NUMERALS}) |(?:viel|einig)(?P<some>e|en) )?"
    rf"(?P<adjectives>(?:(?:{STEMS})(?:e|en|er|es) )*)(?P<noun>[A-ZÄÖÜ]\w+)"
)

ENGLISH_NOUNS = (
    "man woman boy girl child grandfather grandmother father mother cook clown musician artist soldier student farmer "
    "tourist worker gardener waitress dancer teacher family people dog cat horse cow goat donkey duck bird monkey "
    "elephant hat cap scarf backpack jacket coat shirt sweater apron uniform suit dress skirt hair ball kite doll "
    "balloon stick stone flag sign umbrella camera flower basket suitcase box bag bucket bottle cup plate vase lamp "
    "towel book newspaper letter picture story guitar violin flute apple pear orange tomato cake pizza soup egg "
    "sausage beer coffee tea shovel knife broom hole bicycle car motorcycle cart boat train bus sandcastle snowman "
    "tent park garden meadow forest beach lake river water snow rain grass field playground street square market "
    "city bridge church building tower house fountain station shop stage tree fence wall roof bench chair sofa bed "
    "rug blanket floor table shelf kitchen room restaurant café museum library office door window "
    "brother sister baby friend doctor policeman pig chicken shoe phone key computer clock banana roll village "
    "school mountain"
)
IRREGULAR = {
    "men": "man",
    "women": "woman",
    "children": "child",
    "snowmen": "snowman",
    "policemen": "policeman",
    "scarves": "scarf",
} | {plural: plural.removesuffix("es") for plural in ("waitresses", "dresses", "boxes", "tomatoes", "buses")}
ADJECTIVES = (
    "young old tired cheerful friendly laughing smiling bearded hungry blond small curious dirty big wet white black "
    "brown gray red blue green yellow colorful new elegant long warm beautiful empty wooden quiet tall"
)
Combination = tuple[str, ...]


@cache
def splits() -> dict[str, list[tuple[str, str]]]:
    """The pairs of each split; generating them takes seconds, which every collection of the tests would take too."""
    return {split: captions(split) for split in ("train", "validation", "test")}


def all_pairs() -> list[tuple[str, str]]:
    return [pair for pairs in splits().values() for pair in pairs]


def held_out_pairs() -> list[tuple[str, str]]:
    return splits()["validation"] + splits()["test"]


def words(sentence: str) -> list[str]:
    return re.findall(r"\w+", sentence)


@cache
def noun_slots(noun: str) -> frozenset[str]:
    slots = set()
    for gender, nouns in NOUNS.items():
        for singular in nouns.split():
            oblique = singular + ("n" if singular.endswith(("e", "r")) else "en") * (singular in WEAK_NOUNS)
            slots |= {gender + "1"} if noun == singular else set()
            slots |= {gender + "3", gender + "4"} if noun == oblique else set()
    for plural in PLURALS.split():
        slots |= {"p1", "p4"} if noun == plural else set()
        slots |= {"p3"} if noun == plural + ("" if plural[-1] in "ns" else "n") else set()
    return frozenset(slots)


def phrase_slots(match: re.Match[str]) -> set[str]:
    """The genders and cases in which all parts of a noun phrase agree."""
    part = match.groupdict()
    slots, endings = set(noun_slots(part["noun"])), SINGLE_PROCESS
    if part["contraction"]:
        slots, endings = slots & CONTRACTIONS[part["contraction"]], AFTER_THE
    elif part["the"]:
        slots, endings = slots & ARTICLES[part["the"]], AFTER_THE
    elif part["a"] is not None:
        slots, endings = slots & ARTICLES[part["a"]], AFTER_A
    elif part["some"]:
        slots &= SINGLE_PROCESS[part["some"]]
    elif part["numeral"]:
        slots &= {"p1", "p3", "p4"}
    for adjective in part["adjectives"].split():
        slots &= endings.get(re.sub(rf"^(?:{STEMS})", "", adjective), set())
    cases = PREPOSITIONS.get(part["preposition"] or "", "134")
    return {slot for slot in slots if slot[1] in cases}


@cache
def english_noun(word: str) -> str | None:
    for lemma in (word, IRREGULAR.get(word, ""), word.removesuffix("s"), re.sub("ies$", "y", word)):
        if lemma in ENGLISH_NOUNS.split():
            return lemma
    return None


def combinations(english: str) -> set[Combination]:
    """Adjective-noun, subject-verb and verb-noun pairs of an English caption."""
    text = re.sub(r"^There (is|are) (.*) (lying|standing|driving) ", r"\2 \1 \3 ", english)
    text = re.sub(r"(is|are) trying to (\w+?)e? ", r"\1 \2ing ", text).rstrip(".").lower()
    clauses = text.removeprefix("while ").split(", ") if text.startswith("while ") else text.split(" while ")
    found: set[Combination] = set()
    for clause in clauses:
        front, _, rest = clause.rpartition(", ")
        parts = re.split(r" (?:is|are) (?=\w+ing\b)", rest)
        before = parts[0]
        subjects = [noun for word in words(before) if (noun := english_noun(word))]
        subjects = subjects if " and " in before else subjects[:1]
        for part in parts[1:]:
            verb, *after = words(part)
            found |= {("subject", noun, verb) for noun in subjects}
            complements = after + (words(front) if part is parts[-1] else [])
            found |= {("complement", verb, noun) for word in complements if (noun := english_noun(word))}
        found |= adjective_combinations(clause)
    return found


def adjective_combinations(clause: str) -> set[Combination]:
    found: set[Combination] = set()
    adjectives: list[str] = []
    for word in words(re.sub(r"^(.*) (?:is|are) (?!\w+ing$)(\w+)$", r"\2 \1", clause)):
        noun = english_noun(word)
        if noun:
            found |= {("adjective", adjective, noun) for adjective in adjectives}
            adjectives = []
        elif word in ADJECTIVES.split():
            adjectives.append(word)
    return found


def test_sizes() -> None:
    assert [len(splits()[split]) for split in ("train", "validation", "test")] == [24_000, 500, 1_000]


def test_no_sentence_occurs_twice_so_each_has_one_translation() -> None:
    for sentences in zip(*all_pairs(), strict=True):
        assert len(set(sentences)) == len(all_pairs())


def test_an_unknown_split_is_rejected_with_the_allowed_ones() -> None:
    with pytest.raises(UserError, match=r"'tests'.*train, validation, test.*did you mean 'test'"):
        captions("tests")


def test_callers_cannot_modify_the_corpus() -> None:
    captions("test").clear()
    assert captions("test") == splits()["test"]


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_every_interpreter_generates_the_same_corpus(hash_seed: str) -> None:
    program = """
from dragoman.corpus.synthetic.captions import captions
print([captions(split) for split in ("train", "validation", "test")])
"""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"}
    built = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True).stdout
    here = str(list(splits().values())).encode()
    assert hashlib.sha256(built.strip()).digest() == hashlib.sha256(here).digest()


def test_sentences_are_well_formed() -> None:
    for german, english in all_pairs():
        for text, letters in ((german, "A-Za-zäöüßÄÖÜé"), (english, "A-Za-zé")):
            assert re.fullmatch(rf"[A-ZÄÖÜ][{letters}]*(?:,? [{letters}]+)*\.", text), text
            assert 3 <= len(text.split()) <= 20, text


def test_lengths_vary() -> None:
    for sentences in zip(*splits()["train"], strict=True):
        lengths = Counter(len(text.split()) for text in sentences)
        assert sum(count > 200 for count in lengths.values()) >= 10


def test_every_held_out_sentence_has_a_combination_that_never_appears_in_training() -> None:
    training = {combination for _, english in splits()["train"] for combination in combinations(english)}
    for _, english in held_out_pairs():
        assert not combinations(english) <= training, english


def test_few_training_sentences_have_a_combination_that_appears_nowhere_else() -> None:
    """Otherwise the test above would pass for any split."""
    found = [combinations(english) for _, english in splits()["train"]]
    counts = Counter(combination for sentence in found for combination in sentence)
    alone = sum(any(counts[combination] == 1 for combination in sentence) for sentence in found)
    assert alone < 0.1 * len(found)


def test_every_held_out_word_is_frequent_in_training() -> None:
    for training, held_out in zip(
        zip(*splits()["train"], strict=True), zip(*held_out_pairs(), strict=True), strict=True
    ):
        counts = Counter(word for sentence in training for word in words(sentence))
        assert min(counts[word] for sentence in held_out for word in words(sentence)) >= 10
        assert 250 <= len(counts) <= 750


def test_german_noun_phrases_agree_in_gender_case_and_number() -> None:
    seen: Counter[str] = Counter()
    for german, _ in all_pairs():
        text = german[0].lower() + german[1:]
        if "versuch" not in text:
            text = re.sub(r", (der|die|das) ", ", ", text)  # relative pronouns
        for match in PHRASE.finditer(text):
            slots = phrase_slots(match)
            assert slots, f"{match[0]!r} in {german!r}"
            seen.update(slots)
    assert all(seen[slot] > 500 for slot in ALL)


def test_german_words_are_nouns_or_lower_case() -> None:
    for german, _ in all_pairs():
        for word in words(german)[1:]:
            assert word.islower() or noun_slots(word), german


def test_adjectives_are_always_part_of_a_phrase_that_is_checked() -> None:
    inflected = re.compile(rf"(?:{STEMS})(?:e|en|er|es)")
    for german, _ in all_pairs():
        phrases = " ".join(match["adjectives"] for match in PHRASE.finditer(german)).split()
        predicative = {"müde"} if re.search(r"(ist|sind) müde\.", german) else set()
        assert {word for word in words(german) if inflected.fullmatch(word)} <= {*phrases, *predicative}, german


def test_german_main_verbs_are_in_second_position() -> None:
    """After a fronted place or time, the verb comes before its subject. English has a comma there, German does not."""
    verbs = {words(german)[words(german).index(noun) + 1] for german, noun in _bare_subjects()}
    fronted = [
        (german, english)
        for german, english in splits()["train"]
        if "," in english and not english.startswith("While") and "," not in german
    ]
    assert len(fronted) > 3000
    for german, _ in fronted:
        first_phrase = PHRASE.match(german[0].lower() + german[1:])
        assert first_phrase
        assert words(german[first_phrase.end() :])[0] in verbs, german


def _bare_subjects() -> list[tuple[str, str]]:
    """Captions that begin with an article, a noun and the verb, each with that noun."""
    start = re.compile(r"(?:Der|Die|Das|Eine?|Zwei|Drei|Viele|Einige) ([A-ZÄÖÜ]\w+) [a-zäöü]")
    starts = [(german, start.match(german)) for german, _ in all_pairs()]
    return [(german, match[1]) for german, match in starts if match and " und " not in german[:30]]


@pytest.mark.parametrize(
    ("english", "stem", "particle"),
    [
        ("picking up", "heb", "auf"),
        ("putting on", "zieh", "an"),
        ("taking off", "zieh", "aus"),
        ("hanging up", "häng", "auf"),
        ("throwing away", "w[ie]rf", "weg"),
        ("tidying up", "räum", "auf"),
        ("waving to", "wink", "zu"),
        ("listening to", "hör", "zu"),
        ("shopping", "kauf", "ein"),
    ],
)
def test_separable_verbs_are_separated_in_main_clauses_only(english: str, stem: str, particle: str) -> None:
    apart, together = rf"\b{stem}(?:t|en)\b[^,]* {particle}[.,]", rf"\b{particle}{stem}(?:t|en)[.,]"
    found = [german for german, translation in all_pairs() if english in translation]
    assert all(re.search(apart, german) or re.search(together, german) for german in found)
    assert sum(bool(re.search(apart, german)) for german in found) > 50
    assert all(
        re.search(rf"(während|, d(er|ie|as)) [^,]*{together}", text, re.I)
        for text in found
        if re.search(together, text)
    )


def test_english_articles_match_the_next_word() -> None:
    seen = Counter[str]()
    for _, english in all_pairs():
        for article, following in pairwise(words(english.lower())):
            if article in ("a", "an"):
                seen[article] += 1
                vowel = following[0] in "aeiou" and following != "uniform"
                assert (article == "an") == vowel, english
    assert min(seen["a"], seen["an"]) > 1000


def test_english_nouns_and_verbs_agree_in_number() -> None:
    adjectives = "|".join(ADJECTIVES.split())
    phrase = re.compile(
        rf"\b(?:(an?)|two|three|four|five|some|many) (?:(?:{adjectives}) )*"
        rf"(?!(?:{adjectives})\b)(\w+)(?: (is|are)\b)?",
        re.IGNORECASE,
    )
    verbs: Counter[str] = Counter()
    for _, english in all_pairs():
        for match in phrase.finditer(english):
            article, noun, verb = match.groups()
            singular = noun == "group" or (english_noun(noun) == noun and noun != "people")
            assert singular == bool(article), english
            if verb and match.start() == 0:
                assert verb == ("is" if singular else "are"), english
                verbs[verb] += 1
    assert min(verbs["is"], verbs["are"]) > 1000
