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

NAMES_ALIKE = 0.8
LOOKS_ALIKE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a class is far from those of training.

    Attributes:
        label: the class.
        keep: it is.
        reason: what decided.
    """

    label: str
    keep: bool
    reason: str


def judge_classes(
    classes: Iterable[str],
    training: Sequence[str],
    *,
    looks: Mapping[str, NDArray[np.float64]] | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    names_alike: float = NAMES_ALIKE,
    looks_alike: float = LOOKS_ALIKE,
) -> list[Verdict]:
    """Return for each class whether it is far from all training classes; `keep` and `drop` decide before anything else.

    Names are alike when they share a word (a plural counts as the same), or their letters do to a share of
    `names_alike`. Looks are alike when the cosine of mean vectors, where both are known, reaches `looks_alike`.

    Args:
        classes: to be judged.
        training: classes that a model has seen.
        looks: mean vectors by class, of any length.
        keep: classes that stay whatever they are like.
        drop: classes that go.
        names_alike: 0 to 1.
        looks_alike: -1 to 1.

    Raises:
        InvalidInput: a class is in both lists.
    """
    both = sorted(set(keep) & set(drop))
    if both:
        raise InvalidInput(f"class {both[0]!r} is to be kept and dropped; take it out of one of the lists")
    return [
        _judge(label, training, looks or {}, keep, drop, names_alike, looks_alike) for label in sorted(set(classes))
    ]


def write_lists(verdicts: Iterable[Verdict], folder: Path) -> None:
    """Write `keep.txt` and `drop.txt`: a class a line, and why behind a `#`; edited, they may be given back."""
    for name, is_kept in (("keep.txt", True), ("drop.txt", False)):
        lines = [f"{verdict.label}  # {verdict.reason}\n" for verdict in verdicts if verdict.keep == is_kept]
        write_whole(folder / name, "".join(lines))


def read_list(file: Path) -> list[str]:
    """Return the classes of a list: one a line; what follows ` #` is no part of it.

    Raises:
        InvalidInput: the file cannot be read.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file}: expected a list of classes, one a line, got: {error}") from error
    return [label for line in lines if (label := re.split(r"\s+#|^#", line)[0].strip())]


def _judge(
    label: str,
    training: Sequence[str],
    looks: Mapping[str, NDArray[np.float64]],
    keep: Sequence[str],
    drop: Sequence[str],
    names_alike: float,
    looks_alike: float,
) -> Verdict:
    if label in keep or label in drop:
        return Verdict(label=label, keep=label in keep, reason=f"in the {'keep' if label in keep else 'drop'} list")
    for seen in training:
        shared = sorted(_words(label) & _words(seen))
        if shared:
            return Verdict(label=label, keep=False, reason=f"shares the word {shared[0]!r} with training class {seen}")
        ratio = difflib.SequenceMatcher(None, label.lower(), seen.lower()).ratio()
        if ratio >= names_alike:
            return Verdict(label=label, keep=False, reason=f"called {ratio:.2f} alike training class {seen}")
        if label in looks and seen in looks:
            cosine = _cosine(looks[label], looks[seen])
            if cosine >= looks_alike:
                return Verdict(label=label, keep=False, reason=f"looks {cosine:.3f} alike training class {seen}")
    return Verdict(label=label, keep=True, reason="unlike all training classes")


def _words(label: str) -> set[str]:
    words = re.findall(r"[^\W\d_]{2,}", label.lower())
    return {word.removesuffix("s") if len(word) > 3 else word for word in words}


def _cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(one @ other / max(1e-12, np.linalg.norm(one) * np.linalg.norm(other)))
