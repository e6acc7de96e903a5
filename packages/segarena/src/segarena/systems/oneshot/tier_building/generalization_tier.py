"""Third tier, Generalization: classes unlike the training classes, and pairs of them.

Class names and appearance decide whether a class is unlike all training classes. A person can
override both with two lists.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.systems.oneshot.tier_building.pair_sampling import (
    MeasuredItems,
    PairQuotas,
    PairRow,
    TierSample,
    sample_pairs,
)

TIER = "generalization"
# Our choice: TOSS publishes neither the classes that it removed nor how it compared classes.
NAME_SIMILARITY_FROM = 0.8
APPEARANCE_SIMILARITY_FROM = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassDecision:
    """Decision on whether the tier contains a class, with the reason."""

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
    """Decide for each class whether it is unlike all training classes; `keep` and `drop` take precedence.

    Names are alike if they share a word (in singular or plural), or if the similarity of their
    letters is at least `names_alike`. Appearances are alike if the cosine of the classes' mean
    vectors is at least `looks_alike`; vectors may have any length, and classes without one are
    compared by name alone.

    Raises:
        InvalidInput: a class is in both `keep` and `drop`.
    """
    both = sorted(set(keep) & set(drop))
    if both:
        raise InvalidInput(
            f"class {both[0]!r} is in the keep list and in the drop list; remove it from one of them"
        )
    decisions: list[ClassDecision] = []
    for label in sorted(set(classes)):
        if label in keep:
            is_kept = True
            reason = "in the keep list"
        elif label in drop:
            is_kept = False
            reason = "in the drop list"
        else:
            likeness = _find_likeness(label, training, looks or {}, names_alike, looks_alike)
            is_kept = not likeness
            reason = likeness or "unlike all training classes"
        decisions.append(ClassDecision(label=label, keep=is_kept, reason=reason))
    return decisions


def draw_generalization(
    items: MeasuredItems,
    quotas: PairQuotas,
    classes: Sequence[str],
    dataset: str,
) -> TierSample:
    """Return pairs with about as many queries from the more salient half of each class as from the other half."""

    def is_allowed(query: PairRow, support: PairRow) -> bool:
        return query is not support

    def salience_rank(item: PairRow) -> tuple[float, str]:
        return -(item["salience"] or 0.0), item["image"]

    sample = TierSample()
    for label in classes:
        rng = items.rng(label, TIER)
        ranked = sorted(items.of_class[label], key=salience_rank)
        middle = len(ranked) // 2
        small_share = quotas.general // 2
        large_share = quotas.general - small_share
        rows = sample_pairs(items, rng, ranked[:middle], ranked, large_share, is_allowed)
        rows += sample_pairs(items, rng, ranked[middle:], ranked, small_share, is_allowed)
        rows = [{"tier": TIER, "dataset": dataset, **row} for row in rows]
        sample.add_cell(rows, quotas.general, tier=TIER, cell="", label=label)
    return sample


def write_class_lists(decisions: Iterable[ClassDecision], folder: Path) -> list[Path]:
    """Write `keep.txt` and `drop.txt` with one class per line and its reason after a `#`; return both paths.

    A person can edit both files and pass them to the next build.
    """
    kept: list[str] = []
    dropped: list[str] = []
    for decision in decisions:
        line = f"{decision.label}  # {decision.reason}\n"
        (kept if decision.keep else dropped).append(line)
    keep_file = folder / "keep.txt"
    drop_file = folder / "drop.txt"
    write_atomic(keep_file, "".join(kept))
    write_atomic(drop_file, "".join(dropped))
    return [keep_file, drop_file]


def read_name_list(file: Path) -> list[str]:
    """Read the names in a file, one per line; a `#` after white space or at the start of a line starts a comment.

    Raises:
        InvalidInput: the file cannot be read.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{file}: expected a list of classes, one per line, got: {error}"
        ) from error
    # A # within a word starts no comment, because class names may contain #.
    names: list[str] = []
    for line in lines:
        # A comment runs from # to the end of the line.
        before_comment = re.split(r"\s+#|^#", line)[0]
        names.append(before_comment.strip())
    return [name for name in names if name]


def _find_likeness(
    label: str,
    training: Sequence[str],
    looks: Mapping[str, NDArray[np.float64]],
    names_alike: float,
    looks_alike: float,
) -> str:
    """Return why a class resembles the first similar training class, or "" if it resembles none."""
    for trained in training:
        shared_words = sorted(_words(label) & _words(trained))
        if shared_words:
            return f"shares the word {shared_words[0]!r} with training class {trained}"
        ratio = difflib.SequenceMatcher(None, label.lower(), trained.lower()).ratio()
        if ratio >= names_alike:
            return f"name similarity {ratio:.2f} with training class {trained}"
        if label in looks and trained in looks:
            cosine = _cosine(looks[label], looks[trained])
            if cosine >= looks_alike:
                return f"appearance similarity {cosine:.3f} with training class {trained}"
    return ""


def _cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    # The epsilon avoids division by zero, because a mean vector may be zero.
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    return float(one @ other / max(1e-12, lengths))


def _words(label: str) -> set[str]:
    """Return the words of a class name in lower case, without a plural s."""
    words: set[str] = set()
    for word in re.findall(r"[^\W\d_]{2,}", label.lower()):
        # Short words such as "bus" and "gas" keep their s.
        is_short = len(word) <= 3
        words.add(word if is_short else word.removesuffix("s"))
    return words
