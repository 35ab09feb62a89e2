"""The direction in which a model translates, and the choice of it for models with several languages."""

from __future__ import annotations

from dataclasses import replace

from dragoman.bundle import Bundle
from dragoman.corpus.pair import Languages
from dragoman.errors import UserError
from dragoman.languages.codes import find_language, primary_language, same_language
from dragoman.text.multilingual import MultilingualTokenizer

UNKNOWN_LANGUAGE = "und"  # of imported models that do not state it


def same_languages(languages: Languages, others: Languages) -> bool:
    """Whether source and target are the same, apart from regions, as far as they are known."""
    pairs = zip(languages, others, strict=True)
    return all(UNKNOWN_LANGUAGE in pair or same_language(*pair) for pair in pairs)


def describe_direction(languages: Languages) -> str:
    """Languages without regions: ``pt-en`` for ``pt-BR`` and ``en``."""
    return "-".join(map(primary_language, languages))


def languages_of(bundle: Bundle) -> list[str]:
    """The codes of the languages that a bundle translates from and into; none if it has one direction."""
    return list(bundle.target.tokens) if isinstance(bundle.target, MultilingualTokenizer) else []


def translates(bundle: Bundle, languages: Languages) -> bool:
    """Whether a bundle translates from the first language into the second, as far as its languages are known."""
    if not languages_of(bundle):
        return same_languages(languages, bundle.recipe.data.languages)
    try:
        choose_direction(bundle, *languages)
    except UserError:
        return False
    return True


def choose_direction(bundle: Bundle, source: str | None, target: str | None) -> Bundle:
    """The bundle with the same model for another direction.

    Args:
        bundle: The translator.
        source: The language to translate from; None for that of the bundle.
        target: The language to translate into; None for that of the bundle.

    Raises:
        UserError: The bundle does not have one of the languages.
    """
    data = bundle.recipe.data
    codes = {
        f"{side}_language": present if wanted is None else _find(bundle, side, wanted, present)
        for side, wanted, present in (
            ("source", source, data.source_language),
            ("target", target, data.target_language),
        )
    }
    if not (isinstance(bundle.source, MultilingualTokenizer) and isinstance(bundle.target, MultilingualTokenizer)):
        return bundle
    recipe = bundle.recipe.model_copy(update={"data": data.model_copy(update=codes)})
    source_tokenizer = bundle.source.with_language(codes["source_language"])
    changed = replace(
        bundle,
        recipe=recipe,
        source=source_tokenizer,
        target=bundle.target.with_language(codes["target_language"]),
    )
    if recipe.data == data:
        return changed
    return replace(changed, training_text={}, confidence={})  # which are about the direction of the training text


def _find(bundle: Bundle, side: str, wanted: str, present: str) -> str:
    """The code of a language of the bundle, given that or another code, or the spelling of its token."""
    languages = languages_of(bundle) or [present]
    if found := find_language(wanted, tuple(languages)):
        return found
    tokens = bundle.target.tokens if isinstance(bundle.target, MultilingualTokenizer) else {}
    if wanted in tokens.values():
        return next(code for code, token in tokens.items() if token == wanted)
    names = ", ".join(languages)
    if len(languages) == 1:
        raise UserError(f"{bundle.recipe.name}: the {side} language is {names}, not {wanted}")
    raise UserError(f"{bundle.recipe.name}: no {side} language {wanted}; choose one of {names}")
