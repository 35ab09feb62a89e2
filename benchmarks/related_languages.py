"""How often the language of a single sentence is recognized among the languages of a bundle, which may be related.

The corpora are in directories named after two languages, such as de-dsb/train.de.gz and de-dsb/dev.de.gz. Each language
is learned as in training, from a sample of its lines without those that are held out; then the dev sentences of at
least five words are identified, one by one, as the page, the server and `dragoman translate` do.

python benchmarks/related_languages.py --texts ../shared/data/sorbian
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from dragoman.dataset.prepare import SAMPLED_PAIRS
from dragoman.languages.identify import LanguageProfile, identify, learn_profiles, read_profiles
from dragoman.system.time_limit import evenly_spaced
from many_languages import read

MIN_WORDS = 5


def main() -> None:
    """Print how many sentences of each dev file are recognized."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="directory with de-hsb/train.de.gz and so on")
    directory: Path = parser.parse_args().texts
    held_out: dict[str, set[str]] = defaultdict(set)
    for path in directory.glob("*/dev.*"):
        held_out[language_of(path)].update(read(path))
    lines: dict[str, list[str]] = defaultdict(list)
    for path in sorted(directory.glob("*/train.*")):
        language = language_of(path)
        lines[language] += [line for line in read(path) if line not in held_out[language]]
    samples = {language: evenly_spaced(found, SAMPLED_PAIRS) for language, found in lines.items()}
    profile = LanguageProfile(read_profiles(learn_profiles(samples)))
    print("| file | sentences | right | as another language | as none |\n| --- | --- | --- | --- | --- |")
    for path in sorted(directory.glob("*/dev.*")):
        sentences = [line for line in read(path) if len(line.split()) >= MIN_WORDS]
        found = [ranked[0][0] if (ranked := identify(line, profile)) else "" for line in sentences]
        shares = (
            found.count(language_of(path)),
            sum(map(bool, found)) - found.count(language_of(path)),
            found.count(""),
        )
        shown = " | ".join(f"{count / len(sentences):.1%}" for count in shares)
        print(f"| {path.parent.name}/{path.name} | {len(sentences):,} | {shown} |")


def language_of(path: Path) -> str:
    """The code in a name such as train.de.gz."""
    return path.name.split(".")[1]


if __name__ == "__main__":
    main()
