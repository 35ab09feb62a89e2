"""Lines in other languages are found in corpora."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.data.character_model import CharacterModel
from dragoman.doctor.data.foreign_language import ForeignLanguageDetector, without_names
from dragoman.doctor.data.language_classifier import LanguageClassifier
from dragoman.doctor.data.words import HASHES, find_words


def count_words(counts: dict[str, int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.bincount(
        find_words([word for word, count in counts.items() for _ in range(count)]).hashes, minlength=HASHES
    )


def test_the_classifier_learns_the_languages_from_the_corpus() -> None:
    classifier = LanguageClassifier(
        count_words({"der": 10, "hund": 5, "park": 9}), count_words({"the": 10, "dog": 5, "park": 9})
    )
    german, english, both = classifier.score(find_words(["Der Hund", "the dog", "park"]))
    assert german > 0 > english
    assert both == pytest.approx(0, abs=0.1)


@pytest.fixture(scope="module")
def detector() -> ForeignLanguageDetector:
    """Recognizes texts that are neither German nor English on the German side of the captions."""
    german = [german for german, _ in captions("train")[:3000]]
    counts = np.bincount(find_words(german).hashes, minlength=HASHES)
    return ForeignLanguageDetector(counts, np.zeros(HASHES, np.bool_), CharacterModel(german), ("de", "en"))


FOREIGN = {
    "cs": "Nevím, proč jste včera nepřišli, ale doufám, že se brzy uvidíme.",
    "da": "Jeg ved ikke, hvorfor de aldrig kom tilbage fra deres lange rejse.",
    "eo": "La malnova viro sidis apud la fenestro kaj legis longan leteron.",
    "es": "No sabemos por qué nuestros amigos nunca volvieron de aquel viaje.",
    "fi": "En tiedä, miksi he eivät koskaan palanneet pitkältä matkaltaan.",
    "fr": "Nous ne savons pas pourquoi nos amis ne sont jamais revenus de ce voyage.",
    "hu": "Nem tudom, miért nem jöttek vissza soha a barátaink a hosszú útról.",
    "it": "Non sappiamo perché i nostri amici non siano mai tornati da quel viaggio.",
    "lt": "Senas žmogus sėdėjo prie lango ir skaitė ilgą laišką savo dukrai.",
    "nl": "Wij weten niet waarom onze vrienden nooit van die lange reis terugkwamen.",
    "pl": "Nie wiem, dlaczego nasi przyjaciele nigdy nie wrócili z tej długiej podróży.",
    "pt": "Não sabemos por que os nossos amigos nunca voltaram daquela viagem.",
    "ro": "Nu știu de ce prietenii noștri nu s-au mai întors din acea călătorie.",
    "sv": "Jag vet inte varför våra vänner aldrig kom tillbaka från den långa resan.",
    "tr": "Arkadaşlarımızın o uzun yolculuktan neden hiç dönmediğini bilmiyorum.",
}


@pytest.mark.parametrize("language", FOREIGN)
def test_a_third_language_is_recognized(language: str, detector: ForeignLanguageDetector) -> None:
    text = FOREIGN[language]
    assert detector.flag([text], find_words([text]), np.array([-1.0])).all()


def test_names_and_translations_are_in_no_third_language(detector: ForeignLanguageDetector) -> None:
    texts = [
        without_names(text)
        for text in (
            "Die Avenue de Paris und der Louvre",
            "Mit dabei: Milica Nikolić, Jürgen Wójcik, Siobhán O'Sullivan und Aurélie Dupont",
            "MITTELWERT, ANZAHL2, STABW.S und isNullOrEmpty()",
            FOREIGN["cs"],
        )
    ]
    translation = np.array([-1.0, -1.0, -1.0, 40.0])
    assert not detector.flag(texts, find_words(texts), translation).any()


def test_german_text_of_another_kind_is_not_foreign(detector: ForeignLanguageDetector) -> None:
    """The words are rare in the captions, but they are function words of the language."""
    texts = [
        "Ich weiß nicht, warum ihr gestern nicht gekommen seid, aber hoffentlich sehen wir uns bald.",
        "Sollte das Gerät richtig funktionieren, müsste ich damit jeden Krümel aufheben können.",
    ]
    assert not detector.flag(texts, find_words(texts), np.array([-3.0, -3.0])).any()


@pytest.mark.parametrize("text", ["Paris", "Le Monde", "Bonne chance !"])
def test_the_language_of_one_or_two_words_is_not_known(text: str, detector: ForeignLanguageDetector) -> None:
    assert not detector.flag([text], find_words([text]), np.array([-3.0])).any()


def test_names_are_removed() -> None:
    assert without_names("Yesterday Ann met Bob (Smith) at 10 in parseText(). He left.").split() == [
        *("Yesterday", "met", "(", "at", "in", "He", "left.")
    ]
    assert without_names("एक छोटा लड़का") == "एक छोटा लड़का"


def test_letters_of_another_language_are_unusual() -> None:
    german, english = zip(*captions("train")[:1000], strict=True)
    model = CharacterModel(german)
    assert abs(np.mean([model.compare(text)[1] for text in german])) < 0.5
    assert max(model.compare(text)[1] for text in english) < np.quantile(
        [model.compare(text)[1] for text in german], 0.01
    )
    assert np.isfinite(model.compare("")).all()
