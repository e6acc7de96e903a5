"""Which classes are far from those of training: by their names and looks, and by lists that a person edits."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.files.whole import write_whole

NAME_SIMILARITY_FROM = 0.8
APPEARANCE_SIMILARITY_FROM = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassDecision:
    """Whether a class is kept, being far from those of training, and what decided."""

    label: str
    keep: bool
    reason: str


def select_classes(
    classes: Iterable[str],
    training: Sequence[str],
    *,
    looks: Mapping[str, NDArray[np.float64]] | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    names_alike: float = NAME_SIMILARITY_FROM,
    looks_alike: float = APPEARANCE_SIMILARITY_FROM,
) -> list[ClassDecision]:
    """Return for each class whether it is far from all that a model has seen; `keep` and `drop` decide first.

    Names are alike when they share a word (a plural counts as the same), or their letters do to a share of
    `names_alike`. Looks are alike when the cosine of mean vectors (of any length), where both are
    known, reaches `looks_alike`.

    Raises:
        InvalidInput: a class is in both lists.
    """
    both = sorted(set(keep) & set(drop))
    if both:
        raise InvalidInput(
            f"class {both[0]!r} is to be kept and dropped; take it out of one of the lists"
        )
    verdicts: list[ClassDecision] = []
    for label in sorted(set(classes)):
        if label in keep or label in drop:
            listed = "keep" if label in keep else "drop"
            verdicts.append(
                ClassDecision(label=label, keep=label in keep, reason=f"in the {listed} list")
            )
            continue
        alike = (_alike(label, seen, looks or {}, names_alike, looks_alike) for seen in training)
        reason = next(filter(None, alike), "")
        verdicts.append(
            ClassDecision(
                label=label, keep=not reason, reason=reason or "unlike all training classes"
            )
        )
    return verdicts


def write_class_lists(verdicts: Iterable[ClassDecision], folder: Path) -> list[Path]:
    """Write `keep.txt` and `drop.txt`, a class a line, and why behind a `#`; edited, they may be given back."""
    files = [folder / "keep.txt", folder / "drop.txt"]
    for file, is_kept in zip(files, (True, False), strict=True):
        lines = [
            f"{verdict.label}  # {verdict.reason}\n"
            for verdict in verdicts
            if verdict.keep == is_kept
        ]
        write_whole(file, "".join(lines))
    return files


def read_name_list(file: Path) -> list[str]:
    """Return the classes of a list: one a line; what follows ` #` is no part of it.

    Raises:
        InvalidInput: the file cannot be read.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{file}: expected a list of classes, one a line, got: {error}"
        ) from error
    return [label for line in lines if (label := re.split(r"\s+#|^#", line)[0].strip())]


def _alike(
    label: str,
    seen: str,
    looks: Mapping[str, NDArray[np.float64]],
    names_alike: float,
    looks_alike: float,
) -> str:
    """Return in what a class is like one of training, "" in nothing."""
    shared = sorted(_words(label) & _words(seen))
    if shared:
        return f"shares the word {shared[0]!r} with training class {seen}"
    ratio = difflib.SequenceMatcher(None, label.lower(), seen.lower()).ratio()
    if ratio >= names_alike:
        return f"called {ratio:.2f} alike training class {seen}"
    if label in looks and seen in looks:
        one = looks[label]
        other = looks[seen]
        cosine = float(one @ other / max(1e-12, np.linalg.norm(one) * np.linalg.norm(other)))
        if cosine >= looks_alike:
            return f"looks {cosine:.3f} alike training class {seen}"
    return ""


def _words(label: str) -> set[str]:
    words = re.findall(r"[^\W\d_]{2,}", label.lower())
    return {word.removesuffix("s") if len(word) > 3 else word for word in words}
