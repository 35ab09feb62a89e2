"""How text files that a command line names become references of corpora."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.corpus.pair import Languages
    from dragoman.settings import CorpusReference, FilePair

TABLES = (".csv", ".tsv", ".xlsx")
UNKNOWN = ("source", "target")
"""In place of languages that are not known."""


@dataclass(frozen=True)
class FileOptions:
    """What the command line says about text files."""

    languages: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    columns: str | None = None
    header: bool | None = None
    quotes: bool | None = None

    def settings(self) -> dict[str, Any]:
        """The given options as keys of a `CorpusFile`."""
        delimiter = "\t" if self.delimiter in ("tab", "\\t") else self.delimiter
        if delimiter not in (None, ",", ";", "|", "\t"):
            raise UserError(f"--delimiter {delimiter!r}: expected one of , ; | tab")
        values = {
            "encoding": self.encoding,
            "delimiter": delimiter,
            "columns": _parse_columns(self.columns) if self.columns is not None else None,
            "header": self.header,
            "quotes": self.quotes,
        }
        return {key: value for key, value in values.items() if value is not None}


def find_references(
    files: Sequence[str],
    options: FileOptions,
    *,
    languages_needed: bool = True,
    default: Callable[[], Languages] | None = None,
) -> tuple[list[CorpusReference], Languages]:
    """The corpora in files, and their languages.

    Args:
        files: Two line-aligned text files, or files of the other formats.
        options: What the command line says about them.
        languages_needed: Otherwise line-aligned files of unknown languages are in ``source`` and ``target``.
        default: Returns the languages of files that state none.

    Raises:
        UserError: The languages are not known, or an option is invalid.
    """
    from dragoman.corpus.corpus import find_languages, languages_of_names
    from dragoman.settings import FilePair

    references = as_references(files, options)
    if options.languages:
        languages = parse_languages(options.languages)
        _refuse_other_languages(references, languages, options.languages)
        if len(references) == 1 and (turned := _turn(pair := references[0], languages)) != pair:
            assert isinstance(turned, FilePair)
            raise UserError(f"--languages {options.languages}: exchange {turned.target} and {turned.source}, too")
    elif not languages_needed and isinstance(pair := references[0], FilePair):
        languages = languages_of_names(pair.source, pair.target) or UNKNOWN
    else:
        languages = find_languages(references, default)
    return [_turn(each, languages) for each in references], languages


def _refuse_other_languages(references: Sequence[CorpusReference], wanted: Languages, given: str) -> None:
    """Check that several pairs of files are in these languages, if their names state different ones."""
    from dragoman.corpus.corpus import languages_of_names
    from dragoman.settings import FilePair

    pairs = [each for each in references if isinstance(each, FilePair)]
    stated = [languages_of_names(each.source, each.target) for each in pairs]
    if len({frozenset(each) for each in stated if each}) < 2:
        return  # the names may mean anything
    for pair, names in zip(pairs, stated, strict=True):
        if names and _order_of(pair, wanted) is None:
            codes = ",".join(dict.fromkeys(code for each in stated if each for code in each))
            raise UserError(
                f"--languages {given}: {pair.source} and {pair.target} are in {'-'.join(names)}; leave them out, or "
                f"list all languages: --languages {codes}"
            )


@dataclass(frozen=True)
class FoundTexts:
    """The corpora in files.

    Attributes:
        references: The corpora.
        languages: Source and target; those of the first direction.
        directions: All directions, if there are several.
    """

    references: list[CorpusReference]
    languages: Languages
    directions: tuple[Languages, ...] = ()

    @property
    def all_languages(self) -> list[str]:
        """The codes of all languages, each once."""
        return list(dict.fromkeys(code for direction in self.directions or [self.languages] for code in direction))

    @property
    def name(self) -> str:
        """What a run with this text is called."""
        return "-".join(sorted(self.all_languages) if self.directions else self.languages)


def find_texts(
    files: Sequence[str],
    options: FileOptions,
    *,
    data_directory: Path | None = None,
    languages_needed: bool = True,
    default: Callable[[], Languages] | None = None,
) -> FoundTexts:
    """The corpora in files, which may be in several pairs of languages; arguments and errors as for `find_references`.

    Files in different languages, and a list such as ``--languages de,hsb,dsb``, give all directions between two
    languages that have common text.
    """
    from dragoman.corpus.corpus import pair_languages
    from dragoman.corpus.references import describe_reference

    wanted = _parse_language_list(options.languages) if options.languages and "," in options.languages else None
    if wanted:
        found_in = [(each, _in_languages(each, wanted, data_directory)) for each in as_references(files, options)]
        references = [stated for _, several in found_in for stated in several]
        stated_codes = {code for each in references for code in _languages_of(each)}
        _refuse_unused(found_in, wanted, f"--languages lists only {', '.join(wanted)}: list all, or leave the text out")
        if missing := [code for code in wanted if code not in stated_codes]:
            raise UserError(f"--languages {options.languages}: no file has text in {' and '.join(missing)} and another")
        return _in_directions(references)
    if options.languages and re.fullmatch("[a-z]{2,3}(-[a-z]{2,3}){2,}", options.languages):
        listed = options.languages.replace("-", ",")
        raise UserError(
            f"--languages {options.languages}: separate more than two languages by commas, such as {listed}, and two "
            "of which one has a region by a colon, such as pt-BR:en"
        )
    if not options.languages:
        references = as_references(files, options)
        found = pair_languages(references) if len(references) > 1 else []
        if len({frozenset(each) for each in found if each}) > 1:
            if None in found:
                unknown = describe_reference(references[found.index(None)])
                raise UserError(
                    f"{unknown}: its languages are not known, and the other files are in several; name files after "
                    "their languages, such as train.de and train.hsb, or list these: --languages de,hsb,dsb"
                )
            return _in_directions([_state(*each) for each in zip(references, found, strict=True) if each[1]])
    return FoundTexts(*find_references(files, options, languages_needed=languages_needed, default=default))


def state_directions(found: FoundTexts) -> FoundTexts:
    """Text in two languages as text of a model with several directions."""
    return _in_directions([_state(each, found.languages) for each in found.references])


def find_held_out(
    files: Sequence[str], options: FileOptions, train: FoundTexts, data_directory: Path | None = None
) -> list[CorpusReference]:
    """The corpora in files to validate or test on, in the directions of training text.

    Raises:
        UserError: A corpus is in other languages.
    """
    from dragoman.corpus.corpus import pair_languages
    from dragoman.corpus.references import describe_reference
    from dragoman.settings import FilePair

    references, codes = as_references(files, options) if files else [], train.all_languages
    if not train.directions:
        for each, languages in zip(references, pair_languages(references, codes), strict=True):
            if languages is None or not isinstance(each, FilePair) or train.languages == UNKNOWN:
                continue  # reading other formats reports other languages
            # training files with --languages may have any names
            if _order_of(each, train.languages) is None and languages not in pair_languages(train.references, codes):
                raise UserError(
                    f"{describe_reference(each)}: text in {'-'.join(languages)}; the training text is in "
                    f"{'-'.join(train.languages)}"
                )
        return [_turn(each, train.languages) for each in references]
    used: list[tuple[CorpusReference, list[CorpusReference]]] = []
    for each, languages in zip(references, pair_languages(references, codes), strict=True):
        stated = [_state(each, languages)] if languages else _in_languages(each, codes, data_directory)
        used.append((each, [one for one in stated if _languages_of(one) in train.directions]))
    _refuse_unused(used, codes, f"the directions are {', '.join(map('-'.join, train.directions))}")
    return [stated for _, several in used for stated in several]


def _refuse_unused(
    found: Sequence[tuple[CorpusReference, list[CorpusReference]]], codes: Sequence[str], expected: str
) -> None:
    """Check that all corpora are used.

    Args:
        found: Each corpus, and what is used of it. Two files are not needed together if each is used with another one.
        codes: The languages that are looked for.
        expected: What the corpora should be in, for the message.

    Raises:
        UserError: One is not used.
    """
    from dragoman.corpus.corpus import pair_languages
    from dragoman.corpus.references import describe_reference, file_name
    from dragoman.languages.codes import join_codes
    from dragoman.settings import FilePair

    pairs = [each for each, used in found if used and isinstance(each, FilePair)]
    in_use = {file for pair in pairs for file in (pair.source, pair.target)}
    for each, used in found:
        if used or (isinstance(each, FilePair) and {each.source, each.target} <= in_use):
            continue
        (languages,) = pair_languages([each], codes)
        not_found = "no text in two of the languages was found"
        if not isinstance(each, FilePair):
            pair = join_codes(codes[:2])
            command = f"dragoman convert {shlex.quote(file_name(each))} 'converted.{{lang}}' --languages {pair}"
            not_found += f", or it does not name both; if it has text in two, convert it: {command}"
        state = f"text in {'-'.join(languages)}" if languages else not_found
        raise UserError(f"{describe_reference(each)}: {state}; {expected}")


def _in_directions(references: list[CorpusReference]) -> FoundTexts:
    """Corpora that state their languages, with each pair of these in both directions.

    All corpora in two languages have them in the same order, so that pairs are found that occur in both orders.
    """
    first: dict[frozenset[str], Languages] = {}
    for each in map(_languages_of, references):
        first.setdefault(frozenset(each), each)
    references = [_exchange(each, first[frozenset(_languages_of(each))]) for each in references]
    found = dict.fromkeys(each for one in map(_languages_of, references) for each in (one, one[::-1]))
    directions = tuple(found)
    return FoundTexts(references, directions[0], directions)


def _exchange(reference: CorpusReference, languages: Languages) -> CorpusReference:
    """The corpus with its languages in this order, unless its columns are in the other one."""
    from dragoman.corpus.corpus import is_read_by_name
    from dragoman.settings import FilePair

    assert not isinstance(reference, str)
    if reference.languages == languages:
        return reference
    if isinstance(reference, FilePair):
        sides = {"source": reference.target, "target": reference.source}
        return reference.model_copy(update={**sides, "languages": languages})
    is_fixed = reference.columns or not is_read_by_name(reference, languages)
    return reference if is_fixed else reference.model_copy(update={"languages": languages})


def _in_languages(
    reference: CorpusReference, codes: Sequence[str], data_directory: Path | None
) -> list[CorpusReference]:
    """The corpus in every two of these languages that it names and has; of only two, it need not name them."""
    from dragoman.corpus import aligned
    from dragoman.corpus.corpus import has_pairs, pair_languages
    from dragoman.corpus.references import as_corpus_file, file_name
    from dragoman.settings import FilePair

    if isinstance(reference, FilePair):
        (languages,) = pair_languages([reference], codes)
        languages = languages or ((codes[0], codes[1]) if len(codes) == 2 else None)
        return [_state(reference, languages)] if languages and set(languages) <= set(codes) else []
    if aligned.recognizes(reference):
        codes = aligned.languages_with_files(file_name(reference), codes)
    found = [
        stated
        for languages in combinations(codes, 2)
        if has_pairs(stated := _state(reference, languages), languages, data_directory)
    ]
    if not found and len(codes) == 2 and pair_languages([reference], codes) == [None]:
        return [as_corpus_file(reference).model_copy(update={"languages": tuple(codes)})]  # reading it reports problems
    return found


def _languages_of(reference: CorpusReference) -> Languages:
    stated = None if isinstance(reference, str) else reference.languages
    assert stated, "it states its languages"
    return stated


def _state(reference: CorpusReference, languages: Languages | None) -> CorpusReference:
    """The corpus with its languages; the columns of a table are then those that its header row names."""
    from dragoman.corpus.references import as_corpus_file, has_suffix
    from dragoman.settings import FilePair

    if isinstance(reference, FilePair):
        return reference.model_copy(update={"languages": languages})
    file = as_corpus_file(reference)
    header = True if file.header is None and file.columns is None and has_suffix(reference, *TABLES) else file.header
    return file.model_copy(update={"languages": languages, "header": header})


def _turn(reference: CorpusReference, languages: Languages) -> CorpusReference:
    """Two line-aligned files with the source first, if their names state the opposite languages."""
    from dragoman.settings import FilePair

    if isinstance(reference, FilePair) and _order_of(reference, languages) == "opposite":
        return reference.model_copy(update={"source": reference.target, "target": reference.source})
    return reference


def _order_of(files: FilePair, wanted: Languages) -> Literal["same", "opposite"] | None:
    """The order in which the names of two files state the wanted languages; None if they do not.

    A language may have the code of its group, see `macrolanguage`.
    """
    from dragoman.corpus.corpus import pair_languages
    from dragoman.languages.codes import macrolanguage

    (stated,) = pair_languages([files], wanted)
    if stated is None:
        return None
    groups, wanted_groups = (tuple(map(macrolanguage, each)) for each in (stated, wanted))
    if len(set(wanted_groups)) < 2:  # Bokmål and Nynorsk
        groups, wanted_groups = stated, wanted
    if groups == wanted_groups:
        return "same"
    return "opposite" if groups == wanted_groups[::-1] else None


def _parse_language_list(text: str) -> list[str]:
    """The codes in ``de,hsb,dsb``; raises UserError if there are not at least two."""
    codes = [code.strip() for code in text.split(",")]
    if len(codes) < 2 or not all(re.fullmatch(r"[A-Za-z]\w*([-_]\w+)*", code) for code in codes):
        raise UserError(f"--languages {text}: expected language codes, such as de,hsb,dsb")
    if len({code.lower() for code in codes}) < len(codes):
        raise UserError(f"--languages {text}: a language is named twice")
    return codes


_SECOND_FILE = (
    "a text file needs a second one with the translation of each line; name both files, or if it is a table, rename it "
    "to .tsv"
)
_SAME_NAME = (
    "a text file needs a second one with the translation of each line; if there are several pairs, both names must be "
    "the same except for the language at the end, such as train.de and train.fr; if it is a table, rename it to .tsv"
)


def as_references(files: Sequence[str], options: FileOptions) -> list[CorpusReference]:
    """The corpora in files; raises UserError for files and options that do not fit together."""
    from dragoman.corpus.corpus import is_recognized
    from dragoman.corpus.references import has_suffix
    from dragoman.settings import CorpusFile, FilePair

    for file in files:
        if file == "-":
            raise UserError("-: text is read from files, several times; save standard input to one, such as pairs.tsv")
        if os.path.isdir(file):
            raise UserError(f"{file}: is a directory; name the files in it")
        if "{lang}" in file and os.path.isfile(file):
            raise UserError(f"{file}: {{lang}} stands for the language code of two files; rename the file")
    if len(files) == 1 and not is_recognized(files[0]) and Path(files[0]).is_file():
        raise UserError(f"{files[0]}: {_explain_unknown(files[0])}")
    if len(files) == 2 and files[0] == files[1]:
        raise UserError(f"{files[0]}: the same file was given twice, as source and target")
    if len(files) == 2 and not any(map(is_recognized, files)):
        return [FilePair(source=files[0], target=files[1], encoding=options.encoding)]
    settings = options.settings()
    encoding = {key: value for key, value in settings.items() if key == "encoding"}
    aligned = [file for file in files if not is_recognized(file)]
    references: list[CorpusReference] = [
        FilePair(source=source, target=target, encoding=options.encoding) for source, target in pair_files(aligned)
    ]
    by_file = {file: settings if has_suffix(file, *TABLES) else encoding for file in files if file not in aligned}
    return references + [CorpusFile(file=file, **given) if given else file for file, given in by_file.items()]


def pair_files(files: Sequence[str]) -> list[tuple[str, str]]:
    """Which line-aligned files belong together, by their names: each pair, or each two of several languages.

    The shell makes ``a.de a.hsb`` of ``a.{de,hsb}``, and ``a.de a.fr a.en`` of ``a.{de,fr,en}``, whose lines are in
    three languages.

    Raises:
        UserError: A file has no second one.
    """
    from dragoman.corpus.corpus import languages_of_names

    groups: list[list[str]] = []
    last: dict[tuple[Path, str] | None, list[str]] = {}
    for file in files:
        stem = _without_language(file)
        group = last.get(stem, [])
        if not group or file in group or (stem is None and len(group) == 2):  # such as "source.txt" and "target.txt"
            groups.append(group := [])
        group.append(file)
        last[stem] = group
    alone = [group[0] for group in groups if len(group) == 1]
    if alone and len(files) % 2 == 0:
        twos = [list(files[start : start + 2]) for start in range(0, len(files), 2)]
        if len(alone) == len(files):  # such as "source.de" and "target.en"
            are_pairs = all(languages_of_names(source, target) for source, target in twos)
        else:  # such as "a.de a.hsb a.dsb a.hsb"
            are_pairs = all(_without_language(source) == _without_language(target) for source, target in twos)
        groups, alone = (twos, []) if are_pairs else (groups, alone)
    if alone:
        raise UserError(f"{alone[0]}: {_SAME_NAME if len(files) > 1 else _SECOND_FILE}")
    return [pair for group in groups for pair in combinations(group, 2)]


def _without_language(file: str) -> tuple[Path, str] | None:
    """The path of a file without the language at the end of its name; None if there is none."""
    from dragoman.languages.codes import looks_like_tag

    path = Path(re.sub(r"(\.txt)?(\.gz)?$", "", file, flags=re.IGNORECASE))
    return (path.parent, path.stem) if path.suffix and looks_like_tag(path.suffix[1:]) else None


def _explain_unknown(file: str) -> str:
    """Why a file whose name does not say a format cannot be the only one."""
    from dragoman.corpus.encodings import describe_content
    from dragoman.markup.file_kinds import find_file_kind

    with open(file, "rb") as stream:
        head = stream.read(4096)
    if kind := find_file_kind(file, head):
        return f"is {kind.content}; {kind.remedy}"
    content = describe_content(head)
    return f"the file is {content}" if content else _SECOND_FILE


def refuse_meaningless_options(files: Sequence[str], options: FileOptions) -> None:
    """Check that there is a table, if options describe one; raises UserError."""
    from dragoman.corpus.references import has_suffix

    if (given := options.settings().keys() - {"encoding"}) and not any(has_suffix(file, *TABLES) for file in files):
        raise UserError(f"--{min(given)} applies only to tables, unlike {', '.join(files)}; remove the option")


def parse_languages(text: str) -> Languages:
    """The two codes in ``de-en``, ``pt_BR-en`` or ``pt-BR:en``; raises UserError if there are not two."""
    from dragoman.languages.codes import known_language

    codes = text.split(":") if ":" in text else text.split("-")
    if len(codes) != 2 or not all(re.fullmatch(r"\w+([-_]\w+)*", code) for code in codes):
        raise UserError(f"--languages {text}: expected two language codes, such as de-en or pt-BR:en")
    if codes[0].lower() == codes[1].lower():
        raise UserError(f"--languages {text}: source and target are the same language")
    meant = [known_language(code) or code for code in codes]
    if max(map(len, codes)) > 3 and [code.casefold() for code in meant] != [code.casefold() for code in codes]:
        raise UserError(f"--languages {text}: expected language codes; did you mean --languages {':'.join(meant)}?")
    return codes[0], codes[1]


def _parse_columns(text: str) -> tuple[int | str, int | str]:
    names = list(map(str.strip, text.split(",")))
    columns = [int(name) if name.isdecimal() and len(name) < 5 else name for name in names]
    if len(columns) != 2 or not all(columns) or columns[0] == columns[1]:
        raise UserError(f"--columns {text}: expected two different names or numbers from 1, such as de,en or 1,2")
    return columns[0], columns[1]
