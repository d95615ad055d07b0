"""Path -> the name of its directory under `projects`,
exactly as Claude Code computes it.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256

LONGEST_NAME = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_REPLACED = re.compile("[^A-Za-z0-9]")
_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")  # of UTF-16, by which clients count
# No dot: `NAME.<16 hex>` is a directory of downloads, beside the project's own.
_SUFFIX = re.compile("-[A-Za-z0-9-]+")


def encode(path: str) -> str:
    """The directory name that the current client gives to `path`."""
    name = uncut(path)
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}-{_base36(_hash(path))}"


def uncut(path: str) -> str:
    """The name without the cut at 200 units, as clients up to 2.1.23 wrote it."""
    return _REPLACED.sub("-", _TWO_UNITS.sub("--", path))


@lru_cache(maxsize=4096)
def possible_names(path: str) -> tuple[str, ...]:
    """Every exact name some client may have given to `path`, the current rule first."""
    names: list[str] = []
    # 2.1.92 composed the path before encoding it; the others take it as it is.
    for spelling in dict.fromkeys((path, unicodedata.normalize("NFC", path))):
        names += encode(spelling), uncut(spelling)
    return tuple(dict.fromkeys(names))


def names_of_downloads(path: str) -> tuple[str, ...]:
    """`NAME.<16 hex>`, where connectors save files for a git root;
    the current rule first.
    """
    composed = unicodedata.normalize("NFC", path).encode("utf-8", "surrogatepass")
    suffix = sha256(composed).hexdigest()[:16]
    return tuple(f"{name}.{suffix}" for name in possible_names(path))


def is_of_downloads(name: str) -> bool:
    """Whether that is such a directory, beside a project's own, and no project."""
    return re.fullmatch(r".*\.[0-9a-f]{16}", name, re.DOTALL) is not None


def may_be_name_of(name: str, path: str) -> bool:
    """Whether some client may have kept `path` under `name`.

    After the first 200 units of a long path some clients wrote a suffix that we can't
    compute.
    """
    names = possible_names(path)
    if name in names:
        return True
    if not _SUFFIX.fullmatch(name, LONGEST_NAME):
        return False
    start = name[:LONGEST_NAME]
    return any(full.startswith(start) and full != start for full in names)


def sieve(*paths: str) -> Callable[[str], bool]:
    """A test whether a name could be of one of `paths`, or of something below.
    Never a proof.
    """
    starts: list[str] = []
    for path in paths:
        starts += [name[:LONGEST_NAME] for name in possible_names(path)]
    each = tuple(starts)
    return lambda name: name.startswith(each)


def _hash(path: str) -> int:
    """Java's string hash over UTF-16 units,
    a signed 32-bit number, without its sign.
    """
    units = path.encode("utf-16-le", "surrogatepass")
    value = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (low | high << 8)) & 0xFFFFFFFF
    return min(value, (1 << 32) - value)


def _base36(number: int) -> str:
    higher = ""
    if number >= 36:
        higher = _base36(number // 36)
    return higher + _DIGITS[number % 36]
