"""Codes of languages and their scripts."""

from __future__ import annotations

import unicodedata

import pytest
import regex

from dragoman.languages.codes import find_language, primary_language, same_language
from dragoman.languages.function_words import function_words
from dragoman.languages.identify import load_identifier
from dragoman.languages.scripts import SCRIPT_OF_CODE, SCRIPTS, count_letters, usual_script

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
        assert same_language(code, "de")
        assert function_words(code) == function_words("de") != []


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


@pytest.mark.parametrize(
    ("wanted", "available", "found"),
    [
        ("de", ["en", "de"], "de"),
        ("de", ["de-AT", "de"], "de"),
        ("DE", ["de_AT"], "de_AT"),
        ("de-AT", ["de-DE", "de"], "de"),
        ("de-AT", ["de-DE"], None),
        ("de", ["", "den-X"], None),
        ("de", ["deu", "den-X"], "deu"),
        ("deu-AT", ["en", "de"], "de"),
        ("eng", ["en-GB"], "en-GB"),
        ("arb", ["arz"], None),
        ("pb", ["pt", "pt-BR"], "pt-BR"),
        ("zh", ["zh-Hant", "zh-Hans"], "zh-Hans"),
        ("zt", ["zh-Hans", "zh-Hant"], "zh-Hant"),
        ("zh", ["zh-Hans-CN"], "zh-Hans-CN"),
    ],
)
def test_the_code_that_stands_for_a_language(wanted: str, available: list[str], found: str | None) -> None:
    assert find_language(wanted, tuple(available)) == found
