"""Labels that the reader of a report gives to runs, as "RUN=LABEL"."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from segarena.errors import InvalidInput


def labels_of_runs(folders: Sequence[str | Path], given: Sequence[str]) -> list[str]:
    """Return the label of each run folder, "" for those without one.

    Args:
        folders: the run folders.
        given: strings "RUN=LABEL", where RUN is the path of a folder or the end of it, such as
            "graph" for "runs/graph"; for a single folder also a label alone, without "=".

    Raises:
        InvalidInput: RUN matches no folder or several, a label is empty, or a folder has a label
            already.
    """
    labels = [""] * len(folders)
    for text in given:
        run, equals, label = text.partition("=")
        found = [index for index, folder in enumerate(folders) if _is_named(folder, run)]
        # A text with "=" is not taken as a label alone, because it may begin with a misspelt run
        # name.
        if not found and not equals and len(folders) == 1 and len(given) == 1:
            found = [0]
            label = text
        if len(found) != 1 or not label.strip():
            names = ", ".join(Path(folder).name for folder in folders[:8])
            raise InvalidInput(
                f"label: expected RUN=LABEL with one of the runs {names}, got {text[:80]!r}"
            )
        if labels[found[0]]:
            raise InvalidInput(
                f"label: expected one label for {Path(folders[found[0]]).name}, got a second one, {text[:80]!r}"
            )
        labels[found[0]] = " ".join(label.split())
    return labels


def _is_named(folder: str | Path, name: str) -> bool:
    wanted = Path(name).parts
    return bool(wanted) and Path(folder).absolute().parts[-len(wanted) :] == wanted
