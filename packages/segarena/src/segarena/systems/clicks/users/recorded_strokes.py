"""Strokes that real people drew on photographs, as first round; a simulated user corrects what is left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from segarena.abilities import prompt_kinds
from segarena.arrays.components import component_labels
from segarena.arrays.thinning import thin
from segarena.errors import InvalidInput, InvalidPrompt
from segarena.files.images import list_files, read_values
from segarena.prompts import Prompt, Scribble, check_prompt
from segarena.registry import build, user
from segarena.roles import Turn, User
from segarena.samples import Mask, Sample, Target

if TYPE_CHECKING:
    import polars as pl

STROKE_COLUMNS = ("sample", "target", "person", "stroke", "is_positive", "row", "column")
_MOST_PIXELS = 1_000_000
"""Of centre lines in a picture: a photograph of 10,000 x 10,000 crossed a hundred times."""

_WORDS = {"true": True, "1": True, "false": False, "0": False}
_SIDES = ((-1, 0), (0, -1), (0, 1), (1, 0))
_CORNERS = ((-1, -1), (-1, 1), (1, -1), (1, 1))

PixelPosition: TypeAlias = tuple[int, int]


class PersonStrokes(NamedTuple):
    """What one person drew on one target, and the size of the picture it was drawn in, where that is known."""

    strokes: list[Scribble]
    shape: tuple[int, ...] | None = None


StrokesByTarget: TypeAlias = dict[tuple[str, str], dict[str, PersonStrokes]]
"""By sample and target what each person drew, in the order of the table or of the files' paths."""


@user("drawn")
class RecordedStrokes:
    """The strokes that real people drew, all at once in the first round: a dialogue for each of them.

    A target without strokes has no dialogue with this user; the run's `counts` say how many there are.

    Args:
        path: a table (CSV or Parquet) with a row per point in drawing order, columns sample, target (may be empty when
            the sample has one), person, stroke, is_positive, row, column (pixels); or a folder of
            SAMPLE/TARGET/PERSON.png as large as the photographs, 1 where the object is, 2 where it is not. There
            each connected part is a stroke: the pixels of its centre line.
        person: only the strokes of this person; None takes all.
        then: the user who corrects in later rounds, as written in `segarena list users`; None ends the dialogue.

    Raises:
        InvalidInput: the strokes cannot be read, or there are none (of that person).
    """

    def __init__(
        self, *, path: str, person: str | None = None, then: str | None = "centre"
    ) -> None:
        self._path = path
        self._then: User | None = None if then is None else build("user", then)
        later = frozenset[str]() if then is None else prompt_kinds(self._then)
        self.prompt_kinds = None if later is None else later | {"scribble"}
        read = _read_folder(Path(path)) if Path(path).is_dir() else _read_table(Path(path))
        people = sorted({name for drawn in read.values() for name in drawn})
        if person is not None and person not in people:
            raise InvalidInput(
                f"{path}: expected strokes of person {person!r}, found those of {_listed(people)}"
            )
        self._strokes = read if person is None else _only(read, person)

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return how many people drew on this target; 0 when nobody did.

        Raises:
            InvalidInput: strokes of the sample are on a target that it has not.
        """
        return len(self._find(sample, target))

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return the strokes of person number `turn.repeat`, then what the correcting user says.

        Raises:
            InvalidInput: nobody drew on it, or strokes lie outside the photograph.
        """
        if turn.round > 1:
            return None if self._then is None else self._then.next(turn)
        drawn = list(self._find(turn.sample, turn.target).items())
        place = f"{self._path}: sample {turn.sample.id}, target {turn.target.id}"
        if turn.repeat >= len(drawn):
            raise InvalidInput(f"{place}: nobody drew on it")
        person, drawing = drawn[turn.repeat]
        if not _fits(drawing, turn.sample.shape):
            size = " x ".join(map(str, turn.sample.shape))
            raise InvalidInput(
                f"{place}: expected strokes within {size} pixels (rows x columns), those of {person!r} were drawn "
                "on another size; bring them to that of the photograph"
            )
        return tuple(drawing.strokes)

    def _find(self, sample: Sample, target: Target) -> Mapping[str, PersonStrokes]:
        known = {each.id for each in sample.targets} | (
            {""} if len(sample.targets) == 1 else set[str]()
        )
        unknown = sorted(
            name for of, name in self._strokes if of == sample.id and name not in known
        )
        if unknown:
            raise InvalidInput(
                f"{self._path}: sample {sample.id} has strokes on {_listed(unknown)}; its targets are "
                f"{_listed(each.id for each in sample.targets)}"
            )
        unnamed = self._strokes.get((sample.id, ""), {})
        return self._strokes.get((sample.id, target.id), unnamed)


def _fits(drawing: PersonStrokes, shape: tuple[int, ...]) -> bool:
    """Tell whether a picture has the size of the photograph, and whether all strokes lie within it."""
    try:
        for stroke in drawing.strokes:
            check_prompt(stroke, shape)
    except InvalidPrompt:
        return False
    return drawing.shape in (None, shape)


def centre_lines(drawn: Mask) -> list[tuple[PixelPosition, ...]]:
    """Return for each 8-connected part of `drawn`, bool (H, W), a walk over all pixels of its centre line.

    Each step is to a neighbour. It starts at the first end in raster order, or the first pixel where there is no end;
    where the line branches, the walk goes back over its own pixels.

    Raises:
        InvalidInput: the centre lines have more than a million pixels.
    """
    labels = component_labels(thin(drawn))
    pixels = np.argwhere(labels)
    if len(pixels) > _MOST_PIXELS:
        raise InvalidInput(
            f"expected lines, got {len(pixels):,} pixels of centre lines, more than {_MOST_PIXELS:,}"
        )
    found: defaultdict[int, set[PixelPosition]] = defaultdict(set)
    for (row, column), label in zip(pixels.tolist(), labels[labels > 0].tolist(), strict=True):
        found[label].add((row, column))
    return [_walk(found[label]) for label in sorted(found)]


def _walk(left: set[PixelPosition]) -> tuple[PixelPosition, ...]:
    """Return a walk through connected pixels, depth first."""
    start = min(left, key=lambda pixel: (len(_beside(pixel, left)) > 1, pixel))
    left = left - {start}
    trail = [start]
    walk = [start]
    while left:
        onward = _beside(trail[-1], left)
        if onward:
            trail.append(onward[0])
            left.remove(onward[0])
        else:
            trail.pop()
        walk.append(trail[-1])
    return tuple(walk)


def _beside(pixel: PixelPosition, among: set[PixelPosition]) -> list[PixelPosition]:
    around = [(pixel[0] + row, pixel[1] + column) for row, column in (*_SIDES, *_CORNERS)]
    return [each for each in around if each in among]


def _read_folder(folder: Path) -> StrokesByTarget:
    strokes: StrokesByTarget = {}
    for file in list_files(folder):
        *sample, target, _ = file.relative_to(folder).parts if file.parent != folder else ("", "")
        if not sample:
            raise InvalidInput(f"{file}: expected SAMPLE/TARGET/PERSON.png below {folder}")
        values = read_values(file)
        odd = sorted(set(np.unique(values).tolist()) - {0, 1, 2})
        if odd:
            raise InvalidInput(
                f"{file}: expected 1 on the object, 2 off it and 0 elsewhere, found {_listed(odd)}"
            )
        try:
            lines = [
                (line, value == 1) for value in (1, 2) for line in centre_lines(values == value)
            ]
        except InvalidInput as error:
            raise InvalidInput(f"{file}: {error}") from error
        if lines:
            found = [Scribble(line, is_positive=is_positive) for line, is_positive in lines]
            strokes.setdefault(("/".join(sample), target), {})[file.stem] = PersonStrokes(
                found, values.shape
            )
    if not strokes:
        raise InvalidInput(f"{folder}: expected strokes in SAMPLE/TARGET/PERSON.png, found none")
    return strokes


def _read_table(file: Path) -> StrokesByTarget:
    import polars as pl

    from segarena.files.parquet import read_parquet

    if not file.is_file():
        raise InvalidInput(f"{file}: expected a table or a folder of strokes, found nothing there")
    try:
        is_parquet = file.suffix == ".parquet"
        if is_parquet:
            read = read_parquet(file, error=InvalidInput)
        else:
            read = pl.read_csv(file, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(
            f"{file} cannot be read as a table of strokes: {str(error).splitlines()[0]}"
        ) from error
    missing = [name for name in STROKE_COLUMNS if name not in read.columns]
    if missing or not read.height:
        raise InvalidInput(
            f"{file}: expected rows with {', '.join(STROKE_COLUMNS)}; {_lacking(missing)}"
        )
    table = read.select(
        pl.col("sample", "target", "person", "stroke").cast(pl.String).fill_null(""),
        pl.col("is_positive")
        .cast(pl.String)
        .str.to_lowercase()
        .replace_strict(_WORDS, default=None),
        pl.col("row", "column").cast(pl.Float64, strict=False),
    )
    _check(table, file)
    strokes: StrokesByTarget = {}
    by_stroke = table.group_by("sample", "target", "person", "stroke", maintain_order=True)
    for row in by_stroke.agg("is_positive", "row", "column").iter_rows(named=True):
        if len(set(row["is_positive"])) > 1:
            raise InvalidInput(
                f"{file}: stroke {row['stroke']} of sample {row['sample']} is positive and negative"
            )
        line = tuple(zip(row["row"], row["column"], strict=True))
        drawn = strokes.setdefault((row["sample"], row["target"]), {})
        drawn.setdefault(row["person"], PersonStrokes([])).strokes.append(
            Scribble(line, is_positive=row["is_positive"][0])
        )
    return strokes


def _check(table: pl.DataFrame, file: Path) -> None:
    """Raise where a row has no place, no sign or no sample."""
    import polars as pl

    is_place = pl.all_horizontal(pl.col("row", "column").is_finite().fill_null(value=False))
    rules = {
        "numbers as row and column": is_place,
        "true or false as is_positive": pl.col("is_positive").is_not_null(),
        "the name of a sample": pl.col("sample") != "",
    }
    for wanted, is_kept in rules.items():
        wrong = table.select((~is_kept).arg_true()).to_series()
        if len(wrong):
            raise InvalidInput(
                f"{file}: expected {wanted}, {len(wrong)} rows lack it, first row {wrong[0] + 1}"
            )


def _lacking(missing: Sequence[str]) -> str:
    return f"{', '.join(missing)} missing" if missing else "there are none"


def _only(strokes: StrokesByTarget, person: str) -> StrokesByTarget:
    return {place: {person: drawn[person]} for place, drawn in strokes.items() if person in drawn}


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(repr, names))
