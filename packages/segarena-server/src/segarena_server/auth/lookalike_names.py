"""Detection of names that look alike, by Unicode Technical Standard 39.

Two rules apply: no word of a name mixes scripts, and no new name has the skeleton of an existing
one. The first rule alone would admit words entirely in another script ("оса" in Cyrillic, "oca" in
Latin letters); the second alone would let somebody register a mixed name before the owner of the
genuine name arrives.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, cast

from confusable_homoglyphs import categories, confusables

_TOGETHER = (
    frozenset({"LATIN", "HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "HAN", "BOPOMOFO"}),
    frozenset({"LATIN", "HAN", "HANGUL"}),
)
"""Scripts that one word may combine: the level "highly restrictive" of UTS 39, section 5.2."""

_ANY_SCRIPT = frozenset({"COMMON", "INHERITED"})
_MAX_CACHED = 100_000
"""Maximum number of names whose skeletons are cached: every registration is compared with all names."""


def mixes_scripts(name: str) -> bool:
    """Return whether a word of a name has letters of scripts that are not written together."""
    for word in name.split():
        normal = unicodedata.normalize("NFKC", word)
        scripts = cast("set[str]", cast("Any", categories).unique_aliases(normal)) - _ANY_SCRIPT
        if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
            return True
    return False


def looks_like_any(name: str, others: Iterable[str]) -> bool:
    """Return whether a name has the same skeleton as one of the given names."""
    wanted = skeleton(name)
    return any(skeleton(other) == wanted for other in others)


@lru_cache(maxsize=_MAX_CACHED)
def skeleton(name: str) -> str:
    """Return a form that is equal for names that look alike, ignoring case; not for display."""
    # Before case folding, because a capital I looks like l and a small i does not.
    as_written = _replace(name)
    return _replace(as_written.casefold())


def _replace(text: str) -> str:
    prototypes = _prototypes()
    # UTS 39, section 4: a skeleton is computed on the NFD form; NFKD also unifies wide and styled
    # letters.
    normal = unicodedata.normalize("NFKD", text)
    replaced = "".join(prototypes.get(letter, letter) for letter in normal)
    return unicodedata.normalize("NFD", replaced)


@cache
def _prototypes() -> dict[str, str]:
    """Map each letter that looks like another one to its prototype."""
    # The package lists pairs in both directions. All lines of Unicode's confusables.txt with the
    # same prototype form a star, whose centre is the only text with several neighbours.
    listed = cast("dict[str, list[dict[str, str]]]", cast("Any", confusables).confusables_data)
    prototypes: dict[str, str] = {}
    for text, found in listed.items():
        if len(text) != 1 or len(found) != 1:
            continue
        neighbour = found[0]["c"]
        is_pair = len(listed.get(neighbour, [])) <= 1
        # Either character of a pair may represent both, as long as it is always the same one.
        if is_pair and len(neighbour) == 1 and text < neighbour:
            continue
        prototypes[text] = neighbour
    return prototypes
