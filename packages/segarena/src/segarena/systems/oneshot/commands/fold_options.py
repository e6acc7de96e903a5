"""Option for the classes that each fold tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from segarena.errors import InvalidInput
from segarena.systems.oneshot.pairs.folds import FOLD_COUNT, fold_classes

FoldsOption = Annotated[
    str,
    typer.Option(
        help="How many; pascal, interleaved or blocks; or a file, a fold a line. [default: none]"
    ),
]


def read_folds(text: str, classes: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the classes of each fold; none for "".

    Args:
        text: a number, which divides the sorted classes; "pascal", "interleaved" or "blocks",
            without unknown classes; or a file with a fold per line, classes separated by commas.
        classes: the known classes.

    Raises:
        InvalidInput: something else.
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
        return tuple(
            tuple(known[k * len(known) // count : (k + 1) * len(known) // count])
            for k in range(count)
        )
    if Path(text).is_file():
        try:
            lines = Path(text).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"--folds {text}: expected text with a fold a line, got: {error}"
            ) from error
        return tuple(
            tuple(part.strip() for part in line.split(",") if part.strip())
            for line in lines
            if line.strip()
        )
    raise InvalidInput(
        f"--folds {text}: expected 1 to {len(known)}, pascal, interleaved, blocks, "
        "or a file with a fold a line, classes separated by commas"
    )
