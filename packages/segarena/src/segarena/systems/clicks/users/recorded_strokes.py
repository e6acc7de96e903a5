"""User that replays people's strokes on photographs; a simulated user makes the later corrections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from segarena.arrays.connected_components import label_components
from segarena.arrays.thinning import thin
from segarena.errors import InvalidInput, InvalidPrompt
from segarena.files.images import list_image_files, read_mask_values
from segarena.plugin_capabilities import prompt_kinds
from segarena.prompts import Prompt, Scribble, check_prompt
from segarena.registry import build, user
from segarena.roles import Turn, User
from segarena.samples import Mask, Sample, Target

if TYPE_CHECKING:
    import polars as pl

STROKE_COLUMNS = ("sample", "target", "person", "stroke", "is_positive", "row", "column")
MAX_CENTRE_LINE_PIXELS = 1_000_000
"""Maximum number of centre-line pixels per picture: as many as a hundred lines across 10,000 x 10,000 pixels."""
POSITIVE_VALUE = 1
NEGATIVE_VALUE = 2
"""Pixel values in stroke pictures, for strokes on the object and off the object."""

_TRUTH_WORDS = {"true": True, "1": True, "false": False, "0": False}
_SIDE_NEIGHBOURS = ((-1, 0), (0, -1), (0, 1), (1, 0))
_CORNER_NEIGHBOURS = ((-1, -1), (-1, 1), (1, -1), (1, 1))

PixelPosition: TypeAlias = tuple[int, int]


class PersonStrokes(NamedTuple):
    """Strokes of one person on one target.

    Attributes:
        strokes: the strokes in drawing order.
        shape: size of the picture that contains the strokes; None if they come from a table, which
            has no size.
    """

    strokes: list[Scribble]
    shape: tuple[int, ...] | None = None


StrokesByTarget: TypeAlias = dict[tuple[str, str], dict[str, PersonStrokes]]
"""Strokes by (sample, target) and then by person, in the order of the table or of the file paths."""


@user("drawn")
class RecordedStrokes:
    """Replay recorded strokes, all in the first round, with one dialogue per person.

    A target without strokes has no dialogue with this user; `counts` in run.json gives the
    number of dialogues.

    Args:
        path: a table (CSV or Parquet) with one row per point in drawing order and the columns
            sample, target (may be empty if the sample has one target), person, stroke, is_positive,
            row, column (pixels); or a folder of pictures SAMPLE/TARGET/PERSON.png of the same size
            as the photographs, with value 1 for strokes on the object and 2 for strokes off it. In
            pictures, each connected component is one stroke, which is reduced to its centre line.
        person: use only the strokes of this person; None uses all.
        then: the user that corrects in later rounds, in the notation of `segarena list users`; None
            ends the dialogue.

    Raises:
        InvalidInput: the strokes cannot be read, or there are none, or none of `person`.
    """

    def __init__(
        self,
        *,
        path: str,
        person: str | None = None,
        then: str | None = "centre",
    ) -> None:
        self._path = path
        self._correcting_user: User | None = None if then is None else build("user", then)
        correction_kinds = frozenset[str]()
        if then is not None:
            correction_kinds = prompt_kinds(self._correcting_user)
        # None stands for a user that may produce every kind of prompt.
        self.prompt_kinds = None if correction_kinds is None else correction_kinds | {"scribble"}
        strokes = _read_folder(Path(path)) if Path(path).is_dir() else _read_table(Path(path))
        people = sorted(set[str]().union(*strokes.values()))
        if person is not None and person not in people:
            raise InvalidInput(
                f"{path}: expected strokes of person {person!r}, "
                f"found those of {_quoted_list(people)}"
            )
        self._strokes = strokes if person is None else _strokes_of_person(strokes, person)

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return the number of people who drew on this target; may be 0.

        Raises:
            InvalidInput: strokes of the sample name a target that the sample lacks.
        """
        return len(self._find(sample, target))

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return the strokes of the person with index `turn.repeat`, then the correcting user's prompts.

        Raises:
            InvalidInput: there are no strokes on the target, strokes lie outside the photograph, or
                their picture has a different size.
        """
        if turn.round > 1:
            return None if self._correcting_user is None else self._correcting_user.next(turn)
        by_person = list(self._find(turn.sample, turn.target).items())
        where = f"{self._path}: sample {turn.sample.id}, target {turn.target.id}"
        if turn.repeat >= len(by_person):
            raise InvalidInput(f"{where}: expected strokes on this target, found none")
        person, drawing = by_person[turn.repeat]
        if not _fits(drawing, turn.sample.shape):
            size = " x ".join(map(str, turn.sample.shape))
            raise InvalidInput(
                f"{where}: expected strokes within {size} pixels (rows x columns), but those of "
                f"{person!r} are for a different size; scale them to the photograph"
            )
        return tuple(drawing.strokes)

    def _find(self, sample: Sample, target: Target) -> Mapping[str, PersonStrokes]:
        known = {each.id for each in sample.targets}
        if len(sample.targets) == 1:
            known.add("")
        drawn_targets = [name for of, name in self._strokes if of == sample.id]
        unknown = sorted(name for name in drawn_targets if name not in known)
        if unknown:
            target_ids = [each.id for each in sample.targets]
            raise InvalidInput(
                f"{self._path}: sample {sample.id} has strokes on {_quoted_list(unknown)}; "
                f"its targets are {_quoted_list(target_ids)}"
            )
        unnamed = self._strokes.get((sample.id, ""), {})
        return self._strokes.get((sample.id, target.id), unnamed)


def _fits(drawing: PersonStrokes, shape: tuple[int, ...]) -> bool:
    """Return whether the strokes, and their picture if there is one, fit the size of the photograph."""
    try:
        for stroke in drawing.strokes:
            check_prompt(stroke, shape)
    except InvalidPrompt:
        return False
    return drawing.shape in (None, shape)


def centre_lines(drawn: Mask) -> list[tuple[PixelPosition, ...]]:
    """Return a walk along the centre line of each 8-connected component of `drawn`, bool (H, W).

    A walk visits all pixels of the centre line, moving between neighbouring pixels. It starts at
    the first end point in raster order, or at the first pixel if there is no end point. At
    branches, the walk goes back over its own pixels.

    Raises:
        InvalidInput: the centre lines have more than a million pixels.
    """
    labels = label_components(thin(drawn))
    pixels = np.argwhere(labels)
    if len(pixels) > MAX_CENTRE_LINE_PIXELS:
        raise InvalidInput(
            f"expected lines, got {len(pixels):,} pixels of centre lines, "
            f"more than {MAX_CENTRE_LINE_PIXELS:,}"
        )
    parts: defaultdict[int, set[PixelPosition]] = defaultdict(set)
    part_labels = labels[labels > 0].tolist()
    for (row, column), label in zip(pixels.tolist(), part_labels, strict=True):
        parts[label].add((row, column))
    return [_walk(parts[label]) for label in sorted(parts)]


def _walk(pixels: set[PixelPosition]) -> tuple[PixelPosition, ...]:
    """Return a depth-first walk through connected pixels."""

    def end_first(pixel: PixelPosition) -> tuple[bool, PixelPosition]:
        is_inner = len(_neighbours(pixel, pixels)) > 1
        return is_inner, pixel

    start = min(pixels, key=end_first)
    unvisited = pixels - {start}
    trail = [start]
    walk = [start]
    while unvisited:
        onward = _neighbours(trail[-1], unvisited)
        if onward:
            trail.append(onward[0])
            unvisited.remove(onward[0])
        else:
            trail.pop()
        walk.append(trail[-1])
    return tuple(walk)


def _neighbours(pixel: PixelPosition, among: set[PixelPosition]) -> list[PixelPosition]:
    row, column = pixel
    # Edge neighbours come before diagonal ones, so that a walk does not cut a corner and later
    # return for it.
    offsets = (*_SIDE_NEIGHBOURS, *_CORNER_NEIGHBOURS)
    around = [(row + down, column + right) for down, right in offsets]
    return [position for position in around if position in among]


def _read_folder(folder: Path) -> StrokesByTarget:
    strokes: StrokesByTarget = {}
    for file in list_image_files(folder):
        *sample, target, _ = file.relative_to(folder).parts if file.parent != folder else ("", "")
        if not sample:
            raise InvalidInput(f"{file}: expected SAMPLE/TARGET/PERSON.png below {folder}")
        drawing = _read_picture(file)
        if drawing.strokes:
            by_person = strokes.setdefault(("/".join(sample), target), {})
            by_person[file.stem] = drawing
    if not strokes:
        raise InvalidInput(f"{folder}: expected strokes in SAMPLE/TARGET/PERSON.png, found none")
    return strokes


def _read_picture(file: Path) -> PersonStrokes:
    values = read_mask_values(file)
    unexpected = sorted(set(np.unique(values).tolist()) - {0, POSITIVE_VALUE, NEGATIVE_VALUE})
    if unexpected:
        raise InvalidInput(
            f"{file}: expected 1 on the object, 2 off it and 0 elsewhere, "
            f"found {_quoted_list(unexpected)}"
        )
    strokes: list[Scribble] = []
    for value in (POSITIVE_VALUE, NEGATIVE_VALUE):
        try:
            lines = centre_lines(values == value)
        except InvalidInput as error:
            raise InvalidInput(f"{file}: {error}") from error
        is_positive = value == POSITIVE_VALUE
        strokes += [Scribble(line, is_positive=is_positive) for line in lines]
    return PersonStrokes(strokes, values.shape)


def _read_table(file: Path) -> StrokesByTarget:
    import polars as pl

    from segarena.files.parquet import read_parquet

    if not file.is_file():
        raise InvalidInput(f"{file}: expected a table or a folder of strokes, found neither")
    try:
        if file.suffix == ".parquet":
            read = read_parquet(file, error=InvalidInput)
        else:
            read = pl.read_csv(file, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(f"{file} cannot be read as a table of strokes: {reason}") from error
    missing = [name for name in STROKE_COLUMNS if name not in read.columns]
    if missing or not read.height:
        problem = f"{', '.join(missing)} missing" if missing else "there are none"
        raise InvalidInput(f"{file}: expected rows with {', '.join(STROKE_COLUMNS)}; {problem}")
    truth_words = pl.col("is_positive").cast(pl.String).str.to_lowercase()
    table = read.select(
        pl.col("sample", "target", "person", "stroke").cast(pl.String).fill_null(""),
        truth_words.replace_strict(_TRUTH_WORDS, default=None),
        pl.col("row", "column").cast(pl.Float64, strict=False),
    )
    _check_rows(table, file)
    return _group_strokes(table, file)


def _group_strokes(table: pl.DataFrame, file: Path) -> StrokesByTarget:
    strokes: StrokesByTarget = {}
    grouped = table.group_by("sample", "target", "person", "stroke", maintain_order=True)
    for row in grouped.agg("is_positive", "row", "column").iter_rows(named=True):
        if len(set(row["is_positive"])) > 1:
            raise InvalidInput(
                f"{file}: stroke {row['stroke']} of sample {row['sample']}: expected one sign, "
                "got positive and negative rows"
            )
        line = tuple(zip(row["row"], row["column"], strict=True))
        scribble = Scribble(line, is_positive=row["is_positive"][0])
        by_person = strokes.setdefault((row["sample"], row["target"]), {})
        drawing = by_person.setdefault(row["person"], PersonStrokes([]))
        drawing.strokes.append(scribble)
    return strokes


def _check_rows(table: pl.DataFrame, file: Path) -> None:
    """Raise InvalidInput if a row has no position, sign or sample."""
    import polars as pl

    has_position = pl.all_horizontal(pl.col("row", "column").is_finite().fill_null(value=False))
    rules = {
        "numbers as row and column": has_position,
        "true or false as is_positive": pl.col("is_positive").is_not_null(),
        "the name of a sample": pl.col("sample") != "",
    }
    for expected, is_valid in rules.items():
        wrong = table.select((~is_valid).arg_true()).to_series()
        if len(wrong):
            raise InvalidInput(
                f"{file}: expected {expected}; rows without: {len(wrong)}, the first is row {wrong[0] + 1}"
            )


def _strokes_of_person(strokes: StrokesByTarget, person: str) -> StrokesByTarget:
    selected: StrokesByTarget = {}
    for target, by_person in strokes.items():
        if person in by_person:
            selected[target] = {person: by_person[person]}
    return selected


def _quoted_list(names: Iterable[object]) -> str:
    return ", ".join(map(repr, names))
