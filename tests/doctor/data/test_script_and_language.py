"""Scripts and languages of texts are recognized."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
import regex

from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.data.character_model import CharacterModel
from dragoman.doctor.data.foreign_language import ForeignLanguageDetector, without_names
from dragoman.doctor.data.function_words import function_word_hashes
from dragoman.doctor.data.language_classifier import LanguageClassifier
from dragoman.doctor.data.languages import stopword_share, stopwords, usual_script
from dragoman.doctor.data.scripts import SCRIPT_OF_CODE, SCRIPTS, count_letters
from dragoman.doctor.data.words import HASHES, find_words
from dragoman.text.world_languages import load_identifier, primary_language

TEXTS = {
    "en": "A small boy is playing in the park.",
    "cs": "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "ru": "Маленький мальчик играет в парке.",
    "el": "Ένα μικρό αγόρι παίζει στο πάρκο.",
    "hy": "Փոքրիկ տղան խաղում է այգում։",
    "he": "ילד קטן משחק בפארק.",
    "ar": "صبي صغير يلعب في الحديقة.",
    "fa": "پسر کوچکی در پارک بازی می‌کند.",
    "hi": "एक छोटा लड़का पार्क में खेल रहा है।",
    "bn": "একটি ছোট ছেলে পার্কে খেলছে।",
    "pa": "ਇੱਕ ਛੋਟਾ ਮੁੰਡਾ ਪਾਰਕ ਵਿੱਚ ਖੇਡ ਰਿਹਾ ਹੈ।",
    "gu": "એક નાનો છોકરો પાર્કમાં રમી રહ્યો છે.",
    "ta": "ஒரு சிறுவன் பூங்காவில் விளையாடுகிறான்.",
    "te": "ఒక చిన్న పిల్లవాడు పార్కులో ఆడుతున్నాడు.",
    "kn": "ಒಬ್ಬ ಚಿಕ್ಕ ಹುಡುಗ ಉದ್ಯಾನದಲ್ಲಿ ಆಡುತ್ತಿದ್ದಾನೆ.",
    "ml": "ഒരു ചെറിയ കുട്ടി പാർക്കിൽ കളിക്കുന്നു.",
    "si": "කුඩා පිරිමි ළමයෙක් උද්‍යානයේ සෙල්ලම් කරයි.",
    "th": "เด็กชายตัวเล็กกำลังเล่นอยู่ในสวนสาธารณะ",
    "my": "ကောင်လေးတစ်ယောက် ပန်းခြံထဲမှာ ကစားနေတယ်။",
    "ka": "პატარა ბიჭი პარკში თამაშობს.",
    "am": "አንድ ትንሽ ልጅ በፓርኩ ውስጥ እየተጫወተ ነው።",
    "km": "ក្មេងប្រុសតូចម្នាក់កំពុងលេងនៅក្នុងសួន។",
    "ko": "작은 소년이 공원에서 놀고 있다.",
    "zh": "一个小男孩在公园里玩。",
    "ja": "コンピューターゲームを公園でやっている。",
}


@pytest.mark.parametrize("language", TEXTS)
def test_all_letters_are_in_the_usual_script_of_the_language(language: str) -> None:
    (counts,) = count_letters([TEXTS[language]])
    script = usual_script(language)
    assert script is not None
    letters = sum(unicodedata.category(character)[0] in "LM" for character in TEXTS[language])
    assert counts[1:].sum() == counts[SCRIPTS.index(script)] == letters


def test_codes_with_regions_scripts_and_three_letters() -> None:
    assert usual_script("ru-RU") == usual_script("rus") == usual_script("ru") == usual_script("uz-Cyrl")
    assert usual_script("sr-Latn") == usual_script("sr_Latn_RS") == "Latin"
    assert usual_script("sr-ME") is usual_script("sr") is usual_script("uzb") is None, "both scripts are usual"
    for code in ("tam-Taml", "tam", "ta_IN"):
        assert usual_script(code) == "Tamil"
    assert (usual_script("npi"), usual_script("kor_Hang"), usual_script("arb")) == ("Devanagari", "Hangul", "Arabic")
    for code in ("de-AT", "de_DE", "deu", "ger"):
        assert stopwords(code) == stopwords("de") != []
        assert set(function_word_hashes(code)) == set(function_word_hashes("de"))


def test_letters_of_several_texts_are_counted_apart() -> None:
    counts = count_letters(["Hello,\nмир! 12\r\n", "", "e\u0323"])
    assert counts[:, 1:].sum(axis=1).tolist() == [8, 0, 1], "a combining mark of all scripts belongs to none"
    assert counts[0, SCRIPTS.index("Cyrillic")] == 3


def test_other_languages_have_no_known_script() -> None:
    assert [usual_script(code) for code in ("xx", "zzz", "source", "", "de-Xxxx", "x_y_z")] == [None] * 6
    assert (usual_script("en"), usual_script("hsb")) == ("Latin", "Latin")


def test_codes_of_three_letters_are_those_of_two_if_there_are_any() -> None:
    codes = {"isl": "is", "cym": "cy", "afr": "af", "nob": "nb", "pes": "fa", "npi": "ne", "cmn": "zh", "hau": "ha"}
    assert {code: primary_language(code) for code in codes} == codes
    assert primary_language("gug") == primary_language("gn_PY") == "gn", "the detector has the code of the member"
    assert all(len(primary_language(label)) == 2 for label in load_identifier().labels if len(label) == 2)
    assert [primary_language(code) for code in ("source", "hsb", "zzz", "a.b", "")] == [
        "source",
        "hsb",
        "zzz",
        "a.b",
        "",
    ]


@pytest.mark.parametrize("code", sorted(SCRIPT_OF_CODE.keys() - {"Hans", "Hant", "Jpan", "Kore"}))  # combinations
def test_codes_of_scripts(code: str) -> None:
    assert set(SCRIPT_OF_CODE.values()) == set(SCRIPTS[1:])
    letters = regex.findall(rf"[[\p{{Script={code}}}]&&[\p{{L}}]]", "".join(map(chr, range(0x10000))), regex.V1)
    (counts,) = count_letters(["".join(letters)])
    assert counts[SCRIPTS.index(SCRIPT_OF_CODE[code])] == len(letters) > 20


def test_a_text_has_most_stopwords_of_its_language() -> None:
    words = np.bincount(find_words(["der Hund und die Katze sind mit dem Kind auf der Wiese"]).hashes, minlength=HASHES)
    german, english = stopword_share(words, "de"), stopword_share(words, "en")
    assert german is not None
    assert english is not None
    assert german > 0.3 > english
    assert stopword_share(words, "ru") is None


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
