"""The catalog: parallel datasets that recipes can name, such as ``multi30k:train``."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.corpus.checksums import CHECKSUMS
from dragoman.errors import UserError, nearest


@dataclass(frozen=True, slots=True)
class DataFile:
    """The sentences of one split in one language, one a line.

    `path` is relative to the data directory or the cache; without a `url` a file cannot be downloaded as such;
    without a `sha256` it is taken as it is.
    """

    split: str
    language: str
    path: str
    sha256: str | None
    url: str | None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A named parallel dataset; `hub` is its name on the Hugging Face hub, if its pairs come from there."""

    name: str
    description: str
    languages: tuple[str, ...]
    splits: tuple[str, ...]
    licence: str
    homepage: str
    files: tuple[DataFile, ...] = ()
    hub: str | None = None

    @property
    def built_in(self) -> bool:
        """Whether the pairs are made by dragoman itself instead of being read from files."""
        return not self.files

    def check(self, split: str, languages: tuple[str, str]) -> None:
        """Refuse a split or a language that this dataset lacks.

        Raises:
            UserError: Listing what there is, with the nearest match.
        """
        if split not in self.splits:
            raise UserError(
                f"{self.name} has no split {split!r}, only {', '.join(self.splits)}{nearest(split, self.splits)}"
            )
        for language in languages:
            if language not in self.languages:
                raise UserError(f"{self.name} has no language {language!r}, only {', '.join(self.languages)}")

    def file(self, split: str, language: str) -> DataFile:
        """The file of one split in one language."""
        (found,) = (file for file in self.files if (file.split, file.language) == (split, language))
        return found


def catalog() -> tuple[Dataset, ...]:
    """Every named dataset."""
    return tuple(CATALOG.values())


def find_dataset(name: str) -> Dataset:
    """The dataset of this name.

    Raises:
        UserError: If there is none, with the nearest match.
    """
    if name not in CATALOG:
        raise UserError(f"no dataset {name!r} in the catalog of {', '.join(CATALOG)}{nearest(name, CATALOG)}")
    return CATALOG[name]


def _files(name: str, url: str | None = None) -> tuple[DataFile, ...]:
    """The files of a dataset whose checksums are known; `url` is the address of their directory."""
    files = []
    for path, sha256 in CHECKSUMS.items():
        directory, _, file_name = path.partition("/")
        if directory == name:
            split, language, _ = file_name.split(".")
            files.append(DataFile(split, language, path, sha256, url and url + file_name))
    return tuple(files)


_DATASETS = (
    Dataset(
        name="captions",
        description="Image-caption-like sentences that dragoman makes from a grammar.",
        languages=("de", "en"),
        splits=("train", "validation", "test"),
        licence="Apache-2.0",
        homepage="part of dragoman: dragoman.corpus.synthetic.captions",
    ),
    Dataset(
        name="copy",
        description="The copy task: sequences of ten random words, each its own translation.",
        languages=("given", "copied"),
        splits=("train", "validation", "test"),
        licence="Apache-2.0",
        homepage="part of dragoman: dragoman.corpus.synthetic.copy_task",
    ),
    Dataset(
        name="multi30k",
        description="Image captions of Flickr30k, translated by people (Elliott et al. 2016): 29,000 for training.",
        languages=("en", "de", "fr", "cs"),
        splits=("train", "val", "test_2016_flickr"),
        licence="for research and education (see the homepage)",
        homepage="https://github.com/multi30k/dataset",
        files=_files("multi30k", "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"),
    ),
    Dataset(
        name="iitb-en-hi",
        description="The IIT Bombay English-Hindi corpus (Kunchukuttan et al. 2018): 1.66 million pairs of many kinds.",
        languages=("en", "hi"),
        splits=("train", "validation", "test"),
        licence="CC BY-NC 4.0",
        homepage="https://huggingface.co/datasets/cfilt/iitb-english-hindi",
        files=tuple(
            DataFile(split, language, f"iitb-en-hi/{split}.{language}.gz", None, None)
            for split in ("train", "validation", "test")
            for language in ("en", "hi")
        ),
        hub="cfilt/iitb-english-hindi",
    ),
    Dataset(
        name="iitb-hetc-sample-en-hi",
        description="A sample of the IIT Bombay and HETC English-Hindi corpora: 30,880 pairs for training.",
        languages=("en", "hi"),
        splits=("train", "dev", "test"),
        licence="IIT Bombay: CC BY-NC 4.0; HETC: none stated",
        homepage="https://www.cfilt.iitb.ac.in/iitb_parallel/",
        files=_files("iitb-hetc-sample-en-hi"),
    ),
    Dataset(
        name="hindi-visual-genome",
        description="Short captions of image regions (Parida et al. 2019): 25,105 pairs for training.",
        languages=("en", "hi"),
        splits=("train", "dev", "test"),
        licence="CC BY-NC-SA 4.0",
        homepage="https://hdl.handle.net/11234/1-3267",
        files=_files("hindi-visual-genome"),
    ),
    Dataset(
        name="tatoeba-de-en",
        description="Short everyday sentences: 62,266 pairs for training.",
        languages=("de", "en"),
        splits=("train", "dev", "test"),
        licence="CC BY 2.0 FR",
        homepage="https://tatoeba.org",
        files=_files("tatoeba-de-en"),
    ),
    Dataset(
        name="tatoeba-hi-en",
        description="Short everyday sentences: 5,760 pairs for training.",
        languages=("hi", "en"),
        splits=("train", "dev", "test"),
        licence="CC BY 2.0 FR",
        homepage="https://tatoeba.org",
        files=_files("tatoeba-hi-en"),
    ),
    Dataset(
        name="wmt-news-de-en",
        description="News: older WMT test sets to train on (23,190 pairs); newstest2013, 2014 and 2016 to test on.",
        languages=("de", "en"),
        splits=("train", "dev", "test", "test2016"),
        licence="free for research, no explicit licence",
        homepage="https://www.statmt.org/wmt16/translation-task.html",
        files=_files("wmt-news-de-en"),
    ),
    Dataset(
        name="europarl-20k-de-en",
        description="Proceedings of the European Parliament: 18,223 pairs for training.",
        languages=("de", "en"),
        splits=("train", "dev", "test"),
        licence="no known copyright restrictions (Europarl v7)",
        homepage="https://www.statmt.org/europarl/",
        files=_files("europarl-20k-de-en"),
    ),
    Dataset(
        name="libreoffice-de-en",
        description="LibreOffice's help and interface texts: 43,802 pairs for training.",
        languages=("de", "en"),
        splits=("train", "dev", "test"),
        licence="MPL-2.0",
        homepage="https://git.libreoffice.org/translations",
        files=_files("libreoffice-de-en"),
    ),
    Dataset(
        name="libreoffice-hi-en",
        description="LibreOffice's help and interface texts: 8,961 pairs for training.",
        languages=("hi", "en"),
        splits=("train", "dev", "test"),
        licence="MPL-2.0",
        homepage="https://git.libreoffice.org/translations",
        files=_files("libreoffice-hi-en"),
    ),
)

CATALOG = {dataset.name: dataset for dataset in _DATASETS}
