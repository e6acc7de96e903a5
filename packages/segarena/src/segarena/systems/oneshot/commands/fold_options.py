"""Command-line option for the classes that each fold tests."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from segarena.errors import InvalidInput
from segarena.systems.oneshot.pairs.folds import FOLD_COUNT, fold_classes

FoldsOption = Annotated[
    str,
    typer.Option(
        help="Number of folds; pascal, interleaved or blocks; a file with one fold per line; or '' for no folds."
    ),
]


def read_folds(text: str, classes: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the classes of each fold; an empty tuple for "".

    Args:
        text: a number of folds, into which the sorted classes are divided; "pascal",
            "interleaved" or "blocks", without unknown classes; or a file with one fold per line,
            classes separated by commas.
        classes: the known classes.

    Raises:
        InvalidInput: the text is none of these, there are fewer classes than folds, or the file
            cannot be read.
    """
    known = sorted(set(classes))
    if not text:
        return ()
    if text in ("pascal", "interleaved", "blocks"):
        listed: list[tuple[str, ...]] = []
        for fold in range(FOLD_COUNT):
            labels = map(str, fold_classes(fold, text))
            listed.append(tuple(label for label in labels if label in known))
        return tuple(listed)
    if text.isdigit() and 1 <= int(text) <= len(known):
        count = int(text)
        # Contiguous folds, whose sizes differ by at most one class.
        edges = [fold * len(known) // count for fold in range(count + 1)]
        return tuple(tuple(known[first:stop]) for first, stop in pairwise(edges))
    if Path(text).is_file():
        try:
            lines = Path(text).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"--folds {text}: expected text with one fold per line, got: {error}"
            ) from error
        folds: list[tuple[str, ...]] = []
        for line in lines:
            names = [part.strip() for part in line.split(",")]
            if line.strip():
                folds.append(tuple(name for name in names if name))
        return tuple(folds)
    raise InvalidInput(
        f"--folds {text}: expected 1 to {len(known)}, pascal, interleaved, blocks, "
        "or a file with one fold per line, classes separated by commas"
    )
