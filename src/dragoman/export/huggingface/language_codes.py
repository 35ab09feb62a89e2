"""The codes of the languages of NLLB-200 and M2M100 models, and their scripts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

import regex

_NLLB_CODE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")  # such as hin_Deva: ISO 639-3 and ISO 15924

_CODES = """
afr:af aka:ak amh:am arb:ar asm:as ayr:ay azj:az bak:ba bam:bm bel:be ben:bn bod:bo bos:bs bul:bg cat:ca
ces:cs cym:cy dan:da deu:de dzo:dz ell:el eng:en epo:eo est:et eus:eu ewe:ee fao:fo fij:fj fin:fi fra:fr
fuv:ff gaz:om gla:gd gle:ga glg:gl grn:gn guj:gu hat:ht hau:ha heb:he hin:hi hrv:hr hun:hu hye:hy ibo:ig
ind:id isl:is ita:it jav:jv jpn:ja kan:kn kas:ks kat:ka kaz:kk khk:mn khm:km kik:ki kin:rw kir:ky kmr:ku
knc:kr kon:kg kor:ko lao:lo lim:li lin:ln lit:lt ltz:lb lug:lg lvs:lv mal:ml mar:mr mkd:mk mlt:mt mri:mi
mya:my nld:nl nno:nn nob:nb npi:ne nya:ny oci:oc ory:or pan:pa pbt:ps pes:fa plt:mg pol:pl por:pt quy:qu
ron:ro run:rn rus:ru sag:sg san:sa sin:si slk:sk slv:sl smo:sm sna:sn snd:sd som:so sot:st spa:es als:sq
srd:sc srp:sr ssw:ss sun:su swe:sv swh:sw tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tir:ti tsn:tn tso:ts
tuk:tk tur:tr twi:tw uig:ug ukr:uk urd:ur uzn:uz vie:vi wol:wo xho:xh ydd:yi yor:yo zho:zh zsm:ms zul:zu
"""
_TWO_LETTERS = dict(pair.split(":") for pair in _CODES.split())
"""ISO 639-3 to the usual codes with two letters."""

_SEVERAL_SCRIPTS = {"Jpan": ("Hira", "Kana", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}


def nllb_languages(tokens: Iterable[str]) -> dict[str, str]:
    """The tokens of languages among all tokens, by the usual code: ``hi`` for ``hin_Deva``.

    If a language has several scripts, they are part of the code: ``zh-Hans`` and ``zh-Hant``.
    """
    found = [token for token in tokens if _NLLB_CODE.fullmatch(token)]
    codes = {token: _TWO_LETTERS.get(token[:3], token[:3]) for token in found}
    scripts = Counter(codes.values())
    return {code if scripts[code] == 1 else f"{code}-{token[4:]}": token for token, code in codes.items()}


def m2m100_languages(family: str) -> dict[str, str]:
    """The tokens of the languages of M2M100 models, by code, in the order of their ids.

    Args:
        family: ``language_codes`` in tokenizer_config.json, 'm2m100' or 'wmt21'.
    """
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    return {code: f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES[family]}


def script_of(code: str, token: str) -> str:
    """The script of a language: that in NLLB-200's token, or in its token for an M2M100 language, otherwise Latin."""
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    if _NLLB_CODE.fullmatch(token):
        return token[4:]
    scripts = {name.partition("-")[0]: each[4:] for name, each in nllb_languages(FAIRSEQ_LANGUAGE_CODES).items()}
    return scripts.get(code, "Latn")


def tokens_in_scripts(tokens: Iterable[str], scripts: Collection[str]) -> list[str]:
    """The tokens without letters of other scripts than these (ISO 15924); digits and punctuation have no script."""
    names = {name for script in scripts for name in _SEVERAL_SCRIPTS.get(script, (script,))}
    allowed = "".join(rf"\p{{Script={name}}}" for name in ("Common", "Inherited", *sorted(names)))
    pattern = regex.compile(f"[{allowed}]*")
    return [token for token in tokens if pattern.fullmatch(token)]
