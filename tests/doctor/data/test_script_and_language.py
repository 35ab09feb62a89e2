"""Scripts and languages of texts are recognized."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.data.character_model import CharacterModel
from dragoman.doctor.data.foreign_language import ForeignLanguageDetector
from dragoman.doctor.data.language_classifier import LanguageClassifier
from dragoman.doctor.data.languages import stopword_share, usual_script
from dragoman.doctor.data.scripts import SCRIPTS, count_letters
from dragoman.doctor.data.words import HASHES, find_words

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


def test_letters_of_several_texts_are_counted_apart() -> None:
    counts = count_letters(["Hello, мир! 12", "", "e\u0323"])
    assert counts[:, 1:].sum(axis=1).tolist() == [8, 0, 1], "a combining mark of all scripts belongs to none"
    assert counts[0, SCRIPTS.index("Cyrillic")] == 3


def test_other_languages_have_no_known_script() -> None:
    assert usual_script("xx") is None


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


def test_a_third_language_is_recognized_by_its_stopwords() -> None:
    counts = count_words({"der": 500, "und": 400, "die": 300, "Paris": 20, "de": 2})
    german = [german for german, _ in captions("train")[:1000]]
    detector = ForeignLanguageDetector(counts, CharacterModel(german), ("de", "en"))
    texts = [
        "Une femme est dans le jardin avec des enfants.",
        "Die Avenue de Paris und der Louvre",
        "the dog and the cat",
    ]
    assert detector.flag(texts, find_words(texts), np.array([0.0, 0.0, 5.0])).tolist() == [True, False, False]


def test_letters_of_another_language_are_unusual() -> None:
    german, english = zip(*captions("train")[:1000], strict=True)
    model = CharacterModel(german)
    assert abs(np.mean([model.compare(text)[1] for text in german])) < 0.5
    assert max(model.compare(text)[1] for text in english) < np.quantile(
        [model.compare(text)[1] for text in german], 0.01
    )
    assert np.isfinite(model.compare("")).all()
