"""The languages that py3langid knows: they show that a text is in none of the languages of a few bundles."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

MIN_WORDS = 4  # of shorter texts in German and English, up to 5 % look like another language
MAX_PROBABILITY = 0.02  # of lines of ten corpora in German, English and Hindi, at most 0.7 % are below

# ISO 639-2 and 639-3; of languages with two codes in 639-2, both.
_PAIRED_CODES = """
amh=am ara=ar arm=hy asm=as baq=eu bel=be ben=bn bul=bg bur=my cat=ca ces=cs chi=zh cmn=zh cze=cs dan=da deu=de
dut=nl ell=el eng=en est=et eus=eu fas=fa fin=fi fra=fr fre=fr geo=ka ger=de gre=el guj=gu heb=he hin=hi hrv=hr
hun=hu hye=hy ind=id ita=it jpn=ja kan=kn kat=ka khm=km kor=ko lav=lv lit=lt mac=mk mal=ml mar=mr mkd=mk mya=my
nep=ne nld=nl nor=no pan=pa per=fa pol=pl por=pt ron=ro rum=ro rus=ru sin=si slk=sk slo=sk slv=sl spa=es srp=sr
swa=sw swe=sv tam=ta tel=te tha=th tur=tr ukr=uk urd=ur vie=vi zho=zh
"""
_SHORT_CODES = dict(pair.split("=") for pair in _PAIRED_CODES.split())


def primary_language(language: str) -> str:
    """The code of a language without its region or script, two letters if known: "de" for "de-AT" and "deu"."""
    code = language.replace("_", "-").partition("-")[0].lower()
    return _SHORT_CODES.get(code, code)


def is_foreign(text: str, language: str, others: Collection[str]) -> bool:
    """Whether a text is probably neither in a language nor in some others.

    False if py3langid does not know the language, which it would take for a similar one.

    Args:
        text: A text of at least `MIN_WORDS` words.
        language: Code of the likeliest language, such as "pt" or "pt-BR".
        others: Codes of the others.
    """
    identifier = load_identifier()
    known = {primary_language(code) for code in (language, *others)}
    if primary_language(language) not in identifier.labels:
        return False
    probability = math.fsum(probability for code, probability in identifier.rank(text) if code in known)
    return probability < MAX_PROBABILITY


@cache
def load_identifier() -> LanguageIdentifier:
    """What knows the languages; the first call takes half a second and 100 MB."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
