"""Multi30k: 29,000 captions of photographs in English, German and French.

Elliott et al. 2016 (English, German) and 2017 (French). The text may be used for
non-commercial research and teaching. It is not part of this package but is downloaded
from one commit of its authors' repository or from a mirror of it, and verified.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from attnbook.core.checks import check_texts

DATA_VARIABLE = "ATTNBOOK_DATA"
COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
URLS = (
    f"https://raw.githubusercontent.com/multi30k/dataset/{COMMIT}/data/task1/raw/",
    f"https://cdn.jsdelivr.net/gh/multi30k/dataset@{COMMIT}/data/task1/raw/",
)
"""The folder of the files in the authors' repository, then in a mirror of it."""

SPLITS = ("train", "val", "test_2016_flickr", "test_2017_flickr")
"""The names of the splits."""

LANGUAGES = ("en", "de", "fr")
"""The languages, by their codes."""

SHA256 = {
    "train.en": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en": (
        "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"
    ),
    "test_2016_flickr.de": (
        "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"
    ),
    "test_2016_flickr.fr": (
        "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90"
    ),
    "test_2017_flickr.en": (
        "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074"
    ),
    "test_2017_flickr.de": (
        "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee"
    ),
    "test_2017_flickr.fr": (
        "3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496"
    ),
}
"""Checksums of the compressed files, by name without ``.gz``."""


def sentences(split: str, language: str) -> list[str]:
    """Read one language of a split, from a local copy or from the network.

    The environment variable ``ATTNBOOK_DATA`` names a folder with a copy of the files;
    without it they are downloaded once, to the system's cache folder.

    Args:
        split: One of :data:`SPLITS`.
        language: One of :data:`LANGUAGES`. Line i is about the same picture in all.

    Returns:
        Sentences, cleaned by :func:`clean`.

    Raises:
        ValueError: If there is no such split or language, the file does not match its
            checksum, or it cannot be downloaded.
    """
    for value, known in ((split, SPLITS), (language, LANGUAGES)):
        if value not in known:
            raise ValueError(f"there is no {value!r}; choose among {', '.join(known)}")
    path = _fetch(f"{split}.{language}")
    try:
        text = gzip.decompress(path.read_bytes()).decode()
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read ({error}); delete it") from error
    # Not splitlines(): it also splits at characters that occur within sentences.
    return [clean(line) for line in text.removesuffix("\n").split("\n")]


def clean(line: str) -> str:
    """Replace every run of white space, no-break spaces included, by one space."""
    return " ".join(line.split())


def available(languages: Sequence[str] = ("en", "de")) -> bool:
    """Whether files of all splits are on this machine; :func:`sentences` checks them.

    Args:
        languages: The languages needed.
    """
    check_texts(languages=languages)
    names = [f"{split}.{language}.gz" for split in SPLITS for language in languages]
    return all((_folder() / name).is_file() for name in names)


def _folder() -> Path:
    """The folder that the files are in, or will be downloaded to."""
    if local := os.environ.get(DATA_VARIABLE):
        return Path(local)
    import pooch  # here, as a machine with a local copy needs no downloader

    return Path(pooch.os_cache("attnbook")) / "multi30k"


def _fetch(name: str) -> Path:
    """Find a file, or download it atomically from the first address that has it."""
    path = _folder() / f"{name}.gz"
    local = bool(os.environ.get(DATA_VARIABLE))
    if local and not path.is_file():
        raise ValueError(
            f"{DATA_VARIABLE} is {str(path.parent)!r}, but has no {path.name}; set it "
            "to a folder that has the file, or unset it to download the file"
        )
    if local and hashlib.sha256(path.read_bytes()).hexdigest() != SHA256[name]:
        raise ValueError(
            f"{path} is not the expected file (its sha256 differs); copy it again, or "
            f"unset {DATA_VARIABLE} to download it"
        )
    if local:
        return path
    import pooch

    failures: dict[str, Exception] = {}
    for url in URLS:
        try:
            pooch.retrieve(
                url + path.name, f"sha256:{SHA256[name]}", path.name, path.parent
            )
            return path
        except (OSError, ValueError) as error:  # requests' errors are OSErrors
            failures[url.removeprefix("https://").partition("/")[0]] = error
    why = " nor ".join(f"{host} ({_told(error)})" for host, error in failures.items())
    raise ValueError(
        f"{path.name} could not be downloaded from {why}. If you have a copy, set "
        f"{DATA_VARIABLE} to its folder; `--config toy` needs no data."
    ) from next(iter(failures.values()))


def _told(error: Exception) -> str:
    """An error in a few words: requests would tell a whole stack of them."""
    text = str(error)
    long = isinstance(error, OSError) and len(text) > 80
    return type(error).__name__ if long else text
