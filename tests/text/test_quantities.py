"""Whether a translation keeps the quantities of its source, in digits or in words."""

from __future__ import annotations

import pytest

from dragoman.languages.function_words import LANGUAGES_WITH_FUNCTION_WORDS
from dragoman.languages.number_words import LANGUAGES_WITH_NUMBER_WORDS, number_words
from dragoman.text.quantities import check_quantities


def lost(source: str, translation: str, languages: str = "de-en") -> list[str]:
    first, second = languages.split("-")
    problems = check_quantities(source, translation, (first, second))
    return [problem.removeprefix("missing: ") for problem in problems]


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        # small numbers
        ("Nimm 2 Tabletten.", "Take three tablets.", ["2"]),
        ("Nimm 2 Tabletten.", "Take 3 tablets.", ["2"]),
        ("Nimm 2 Tabletten.", "Take tablets.", ["2"]),
        ("Nimm 2 Tabletten.", "Take two tablets.", []),
        ("Nimm 2 Tabletten.", "Take a couple of tablets.", []),
        ("Nimm 1 Tablette.", "Take a tablet.", []),
        ("Nimm 1 Tablette.", "Take two tablets.", ["1"]),
        ("Das kostet 3 € und 4 $.", "This costs € and 4 $.", ["3"]),
        ("Es sind -5 °C in Boston.", "They're ° in Boston", ["5"]),
        ("Tom zahlt 8 % Zinsen.", "Tom pays % a cinu.", ["8"]),
        # words
        ("Nimm zwei Tabletten.", "Take three tablets.", ["zwei"]),
        ("Nimm zwei Tabletten.", "Take 3 tablets.", ["zwei"]),
        ("Nimm zwei Tabletten.", "Take 2 tablets.", []),
        ("Nimm zwei Tabletten.", "Take tablets.", []),
        ("Zwei Hunde jagen zwei Katzen.", "Two dogs are chasing three cats.", ["zwei"]),
        ("Zwei Hunde jagen zwei Katzen.", "Two dogs are chasing both cats.", []),
        ("Drei Hunde jagen zwei Katzen.", "Three dogs are chasing three cats.", ["zwei"]),
        ("Es sind vierzehn Hunde.", "There are 17 dogs.", ["invented: 17"]),
        ("Es sind vierzehn Hunde.", "There are 14 dogs.", []),
        ("Es sind 20 Hunde und 300 Katzen.", "There are twenty dogs and three hundred cats.", []),
        ("Es sind 21 Hunde.", "There are twenty-one dogs.", []),
        ("Es sind 21 Hunde.", "There are twenty-two dogs.", ["21"]),
        ("Es sind 2.000.000 Hunde.", "There are two million dogs.", []),
        # ordinals, dates and times
        ("Der 3. Hund", "The third dog", []),
        ("Der 3. Hund", "The fourth dog", ["3"]),
        ("Am 3.12.2024", "On December 3, 2024", []),
        ("Am 3.12.2024", "On December 5, 2024", ["3.12.2024"]),
        ("Am 3.12.2024", "On 12/3/24", []),
        ("Am 3.12.2024", "On 11/3/2024", ["3.12.2024"]),
        ("Um 10:30 Uhr", "At 10.30", []),
        ("Um 10:30 Uhr", "At half past ten", []),
        ("Um 10:30 Uhr", "At 10:20", ["10:30"]),
        ("Von 7-8 Uhr", "From seven to eight", []),
        ("Um 12 Uhr 30", "At 12:30 pm", []),
        ("Um 0:30 Uhr", "At 12:30 am", []),
        ("Um 23.45 Uhr", "At 11:45 tonight", []),
        ("Um 23.45 Uhr", "At 10:45 tonight", ["23.45"]),
        ("Von 17 bis 18 Uhr", "From 5 to 6 pm", []),
        ("Von 17 bis 19 Uhr", "From 5 to 6 pm", ["19"]),
        ("Es war halb acht.", "It was seven thirty.", []),
        ("Es war halb acht.", "It was six thirty.", ["acht"]),
        ("Um 14h30", "At 2:30 pm", []),
        ("Um 14 h 30", "At 3:30 pm", ["14:30"]),
        ("Sie gewinnen 3:2.", "They win 3-2.", []),
        ("Sie gewinnen 3:2.", "They win 2-3.", ["3:2"]),
        # numerals, decades and parts
        ("Der XXII. Bezirk", "District 22", []),
        ("Der XXII. Bezirk", "District 23", ["invented: 23"]),
        ("In den fünfziger Jahren", "In the 1950s", []),
        ("In den fünfziger Jahren", "In the 1960s", ["invented: 1960"]),
        ("Von 1985-87", "From 1985-1987", []),
        ("Artikel 6 Absatz 1", "Article 6.1", []),
        ("Artikel 6 Absatz 1", "Article 7.1", ["6"]),
        ("Nur 5 3/4 %", "Only 5¾ %", []),
        ("Nur 5 3/4 %", "Only 5¼ %", ["3/4"]),
        ("Einhundert Gäste", "100 guests", []),
        ("Mit 40-50 km/h", "At 40-50 km / h", []),
        # separators
        ("Es kostet 1.500,25 Euro.", "It costs 1,500.25 euros.", []),
        ("Es sind 2,5 Liter.", "It is 3.5 liters.", ["2,5"]),
        ("Es sind 1 500 Liter.", "It is 1,500 liters.", []),
        ("Es sind 1.250.000 Hunde.", "There are 1,250,000 dogs.", []),
        ("Es sind 1.250.000 Hunde.", "There are 1.25 million dogs.", []),
        ("Es sind 1,25 Mio. Hunde.", "There are 1,250,000 dogs.", []),
        ("Es sind 1.250.000 Hunde.", "There are 1,250 dogs.", ["1.250.000"]),
        ("Es sind 1.000.000 Hunde.", "There are 1,000 dogs.", ["1.000.000"]),
        ("Es sind 2.000 Hunde.", "There are 2 dogs.", ["2.000"]),
        ("Es sind 2 Hunde.", "There are 2,000 dogs.", ["2"]),
        ("Von 5-15.000 Euro", "From 5,000 to 15,000 euros", []),
        ("Nimm 5.000 g.", "Take 5 kg.", []),
        ("Nimm 5.000 kg.", "Take 5 kg.", ["5.000"]),
        # units and signs
        ("Nimm 5 mg.", "Take 5 g.", ["5 mg"]),
        ("Nimm 5 mg.", "Take 5 mg.", []),
        ("Nimm 5 mg.", "Take 5 milligrams.", []),
        ("Es sind 5 °C.", "It is 5 °F.", ["5 °C"]),
        ("Es sind 5 °C.", "It is 5°C.", []),
        ("Es sind 5 °C.", "It is 5°.", []),
        ("Mit 10 km/h", "At 10 mph", ["10 km/h"]),
        ("Mit 10 km/h", "At 10 kph", []),
        ("Er zahlt 20 %.", "He pays 20 percent.", []),
        ("Er zahlt 20 %.", "He pays 20.", ["20 %"]),
        ("Er zahlt 20 €.", "He pays $20.", ["20 €"]),
        ("Er zahlt 20 €.", "He pays €20.", []),
        ("Er zahlt 20 EUR.", "He pays 20 €.", []),
        # what is copied or part of a word is no quantity
        ("Nimm 30 m2 in B2B.", "Take thirty square meters for companies.", []),
        ("Siehe %1$s, {0} und @tom2.", "See %1$s, {0} and @tom2.", []),
    ],
)
def test_quantities_are_compared(source: str, translation: str, expected: list[str]) -> None:
    assert lost(source, translation) == expected


@pytest.mark.parametrize(
    ("languages", "source", "translation", "expected"),
    [
        ("fr-en", "Il y a 1 250 000 chiens.", "There are 1,250,000 dogs.", []),
        ("fr-en", "Il y a 1\u202f250\u202f000 chiens.", "There are 1,250 dogs.", ["1\u202f250\u202f000"]),
        ("fr-en", "Cela coûte 5 M€.", "It costs €5,000,000.", []),
        ("hi-en", "1,00,000 रुपये", "100,000 rupees", []),
        ("hi-en", "1,00,000 रुपये", "1 lakh rupees", []),
        ("hi-en", "१२,५०,००० रुपये", "1,250,000 rupees", []),
        ("hi-en", "1,00,000 रुपये", "10,000 rupees", ["1,00,000"]),
        ("ru-en", "Нужно 5 мг, 10 км и 2 т.", "It takes 5 mg, 10 km and 2 t.", []),
        ("ru-en", "Нужно 5 мг.", "It takes 5 g.", ["5 мг"]),
        ("en-ru", "It takes 5 km.", "Нужно 5 м.", ["5 km"]),
        ("uk-en", "60 км/год", "60 km/h", []),
        ("ru-en", "В 2005 г.", "In 2005", []),
        ("da-en", "Med 10 km/t", "At 10 km/h", []),
        ("en-de", "All eighteen dogs", "Alle 18 Hunde", []),
        ("en-de", "All eighteen dogs", "Alle 80 Hunde", ["invented: 80"]),
        ("en-de", "All fourteen dogs", "Alle 40 Hunde", ["invented: 40"]),
        ("en-de", "The sixth dog", "Der 6. Hund", []),
        ("de-en", "Achtzig Hunde", "8 dogs", ["invented: 8"]),
        ("de-en", "Die Hälfte davon", "50 % of it", []),
    ],
)
def test_quantities_of_other_languages_are_compared(
    languages: str, source: str, translation: str, expected: list[str]
) -> None:
    assert lost(source, translation, languages) == expected


@pytest.mark.parametrize(
    ("languages", "source", "translation", "wrong"),
    [
        # large numbers
        ("en-zh", "2 million people", "200万人", "20万人"),
        ("en-zh", "1.5 trillion yuan", "1.5万亿元", "1.5亿元"),
        ("en-zh", "15 kilobytes", "15千字节", "16千字节"),
        ("en-zh", "13 percentage points", "13百分点", "14百分点"),
        ("en-fr", "30 miles", "30 milles", "40 milles"),
        ("en-ja", "3 billion yen", "30億円", "50億円"),
        ("en-ja", "120 million people", "1億2000万人", "1億3000万人"),
        ("en-ja", "35,000 yen", "3万5000円", "3万6000円"),
        ("en-ja", "two million people", "200万人", "300万人"),
        ("en-ko", "2 million people", "200만 명", "500만 명"),
        ("en-hi", "10 million people", "1 करोड़ लोग", "2 करोड़ लोग"),
        ("en-hi", "2 million people", "20 लाख लोग", "30 लाख लोग"),
        ("en-hi", "2 million people", "बीस लाख लोग", "तीस लाख लोग"),
        ("en-hi", "2.5 million people", "25 लाख लोग", "35 लाख लोग"),
        ("en-hi", "51,694 houses", "51 हजार 694 आवास", "51 हजार 695 आवास"),
        ("en-hi", "100,000 rupees", "1,00,000 रुपये", "1,50,000 रुपये"),
        ("en-hi", "5 crore rupees", "50 मिलियन रुपये", "60 मिलियन रुपये"),
        ("en-vi", "2 billion dong", "2.000 triệu đồng", "3.000 triệu đồng"),
        ("en-de", "2-3 million people", "2 bis 3 Mio. Menschen", "2 bis 4 Mio. Menschen"),
        ("en-de", "1.5 million people", "1.500.000 Menschen", "1.600.000 Menschen"),
        ("en-da", "3 billion people", "tre milliarder mennesker", "fem milliarder mennesker"),
        # months
        ("en-ja", "in February", "2月に", "3月に"),
        ("en-zh", "in February", "在2月", "在4月"),
        ("en-ko", "May 2020", "2020년 5월", "2020년 6월"),
        ("en-ja", "May 3, 2020", "2020年5月3日", "2020年6月3日"),
        ("en-vi", "May", "tháng 5", "tháng 6"),
        ("en-km", "March", "ខែ៣", "ខែ៤"),
        ("en-pl", "May 3, 2020", "3.05.2020", "3.06.2020"),
        ("en-de", "on May 31", "am 31.5.", "am 31.6."),
        ("de-en", "im Mai 2020", "05/2020", "06/2020"),
        # years, shares and endings
        ("en-th", "in 2020", "พ.ศ. 2563", "พ.ศ. 2564"),
        ("en-th", "May 3, 2020", "3 พฤษภาคม ๒๕๖๓", "3 พฤษภาคม ๒๕๖๔"),
        ("en-ja", "30% off", "3割引", "4割引"),
        ("en-zh", "30% off", "7折", "6折"),
        ("en-ja", "three cats and 17 dogs", "猫が3匹、犬が17匹", "猫が3匹、犬が18匹"),
    ],
)
def test_numbers_of_other_languages_are_compared_by_value(
    languages: str, source: str, translation: str, wrong: str
) -> None:
    backwards = "-".join(reversed(languages.split("-")))
    assert lost(source, translation, languages) == []
    assert lost(translation, source, backwards) == []
    assert lost(source, wrong, languages)
    assert lost(wrong, source, backwards)


def test_numbers_may_be_numerals_of_han() -> None:
    assert lost("20 people, 3,500 dogs, 2020", "二十人和三千五百条狗，二〇二〇年", "en-zh") == []
    assert lost("20 people, 3,500 dogs, 2020", "三十人和三千六百条狗，二〇二一年", "en-zh") == ["20", "3,500", "2020"]


def test_large_numbers_are_reported_as_written() -> None:
    assert lost("200万人", "3 million people", "zh-en") == ["200万"]
    assert lost("There are two dogs.", "3 लाख", "en-hi") == ["two"]
    assert lost("There are many dogs.", "3 लाख कुत्ते", "en-hi") == ["invented: 3 लाख"]
    assert lost("Es kostet 2 Mio. €.", "It costs 3 million €.") == ["2 Mio"]


def test_small_numbers_may_be_words_of_an_unknown_language() -> None:
    assert lost("Nimm 2 Tabletten.", "Hapa vidonge viwili.", "de-sw") == []
    assert lost("Nimm 2 Tabletten.", "Hapa vidonge 3.", "de-sw") == ["2"]
    assert lost("Nimm 2 mg.", "Hapa vidonge.", "de-sw") == ["2"]
    assert lost("Hapa vidonge viwili 15.", "Take tablets.", "sw-en") == ["15"]


def test_languages_with_function_words_have_number_words() -> None:
    assert set(LANGUAGES_WITH_FUNCTION_WORDS) <= set(LANGUAGES_WITH_NUMBER_WORDS)


@pytest.mark.parametrize("language", LANGUAGES_WITH_NUMBER_WORDS)
def test_each_number_word_means_its_number_only(language: str) -> None:
    words = number_words(language)
    assert words is not None
    assert set(range(13)) | {20, 100, 1000, 1_000_000} <= words.possible.keys()
    for word, number in words.certain.items():
        assert words.may_spell(number, f"x {word}, y"), word
        others = [other for other in range(2, 13) if other != number and words.may_spell(other, word)]
        assert not others, f"{word} may also mean {others}"
    smaller = {number for number in words.possible if number < 100}
    for number in smaller - set(range(13)):
        for beginning in words.possible[number][1]:
            others = [other for other in smaller - {number} if words.may_spell(other, beginning)]
            assert not others or "-" in beginning or beginning == "quarter", f"{beginning} may also mean {others}"


@pytest.mark.parametrize(
    ("language", "number", "text"),
    [
        ("de", 21, "einundzwanzig Hunde"),
        ("de", 345, "dreihundertfünfundvierzig"),
        ("de", 30, "dreißig"),
        ("en", 42, "forty-two"),
        ("en", 1200, "one thousand two hundred"),
        ("fr", 80, "quatre-vingts"),
        ("fr", 75, "soixante-quinze"),
        ("it", 28, "vent'otto ventotto"),
        ("nl", 35, "vijfendertig"),
        ("da", 52, "tooghalvtreds"),
        ("pl", 25, "dwadzieścia pięć"),
        ("fi", 20, "kaksikymmentä"),
        ("hu", 45, "negyvenöt"),
        ("tr", 12, "oniki"),
        ("es", 200, "doscientos"),
        ("hi", 20, "बीस"),
        ("hsb", 15, "pjatnaće"),
    ],
)
def test_words_may_be_put_together(language: str, number: int, text: str) -> None:
    words = number_words(language)
    assert words is not None
    assert words.may_spell(number, text)
    assert not words.may_spell(number + 5, text)
