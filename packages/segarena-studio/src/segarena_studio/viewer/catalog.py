"""Catalog of the viewer: datasets and runs named on the command line, as collections of one dataset each.

Only `segarena look` creates a catalog. Its datasets contain the ground truth, so its pages exist
only on a single-user site on this machine: see `segarena_studio.pages.viewer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

from segarena.datasets.folder_detection import detect_dataset
from segarena.engine.disk_cache import BlobFolder
from segarena.engine.run_folder import RunFolder
from segarena.errors import InvalidInput, RunConflict, SegarenaError
from segarena.files.hashes import sha256
from segarena.files.images import list_image_files
from segarena.records.plugin_trust import restrict_plugins
from segarena.registry import build
from segarena.reports.dialogue_gallery import open_configured_dataset
from segarena.reports.display_names import dataset_names, distinct_names
from segarena.reports.pages import users_in_words
from segarena.reports.viewer_content import ViewerContent
from segarena.reports.wording import count_text
from segarena.roles import Dataset
from segarena_studio.viewer.content import describe_view
from segarena_studio.viewer.dialogue_replay import ReplayQueue, replay_dialogue
from segarena_studio.viewer.dialogue_table import DialogueKey, DialogueTable
from segarena_studio.viewer.mask_layers import RunAnswers
from segarena_studio.viewer.sample_cache import LoadedSample, SampleCache
from segarena_studio.viewer.table_query import TableQuery
from segarena_studio.viewer.thumbnails import dominant_colour, render_thumbnail
from segarena_studio.viewer.unlabelled_folder import UnlabelledFolder

_THUMBS_BYTES = 2**28


@dataclass(eq=False)
class Collection:
    """Samples of one dataset, with the runs on them.

    Attributes:
        name: name of the dataset.
        samples: the samples.
        runs: label and folder of each run.
        table: table with a row for each dialogue, or for each sample if there are no runs.
        notes: warnings about the runs.
        trust, data: as for `segarena report`.
    """

    name: str
    samples: SampleCache
    runs: Sequence[tuple[str, RunFolder]]
    table: DialogueTable
    thumbs: BlobFolder
    notes: Sequence[str] = ()
    trust: bool = False
    data: str | None = None
    answers: RunAnswers = field(init=False)
    replays: ReplayQueue = field(default_factory=ReplayQueue)
    _colours: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Create the decoder of answers."""
        self.answers = RunAnswers([folder for _, folder in self.runs])

    @cached_property
    def user_words(self) -> dict[str, str]:
        """Descriptions of the prompts of the runs' users, by user name; omit users without one."""
        found: dict[str, str] = {}
        for _, folder in self.runs:
            found.update(users_in_words(folder.config))
        return found

    @property
    def counted(self) -> str:
        """Number of dialogues with the names of their runs, or number of samples, as text."""
        runs = f" of {', '.join(label for label, _ in self.runs)}" if self.runs else ""
        return (
            count_text(self.table.count(TableQuery()), "dialogue" if self.runs else "sample") + runs
        )

    def describe(self, key: DialogueKey) -> ViewerContent:
        """Describe a view.

        Raises:
            SegarenaError: the view cannot be shown; the message is a sentence.
        """
        notes = [self.samples.problem] if self.samples.problem else []
        return describe_view(
            self.samples.load(key[0]), key, self.runs, self.answers, [*notes, *self.notes]
        )

    def thumb(self, key: DialogueKey) -> bytes:
        """Return the thumbnail of a view; raises the same errors as `describe`."""
        name = self._thumb_name(key)
        thumbnail = self.thumbs.get(name)
        if thumbnail is None:
            loaded = self.samples.load(key[0])
            index = _largest_plane(loaded, key[1])
            thumbnail = render_thumbnail(loaded, key[1], index)
            self.thumbs.put(name, thumbnail)
            self._colours[name] = dominant_colour(thumbnail)
        return thumbnail

    def thumb_colour(self, key: DialogueKey) -> str:
        """Return the dominant colour of a thumbnail; "" before the thumbnail was rendered."""
        return self._colours.get(self._thumb_name(key), "")

    def _thumb_name(self, key: DialogueKey) -> str:
        # Users and repeats share the thumbnail of their target.
        return sha256(repr((self.name, key[:2])))

    def replay(self, run: int, key: DialogueKey) -> str | None:
        """Start or poll the replay of a dialogue; return its result, or None while it runs."""
        return self.replays.poll(run, key, lambda: self._replay(run, key))

    def _replay(self, run: int, key: DialogueKey) -> str:
        masks, summary = replay_dialogue(self.runs[run][1], key, trust=self.trust, data=self.data)
        self.answers.add(run, key, masks)
        return summary


@dataclass(eq=False)
class Catalog:
    """All collections that one `segarena look` shows."""

    collections: Sequence[Collection]


def _largest_plane(loaded: LoadedSample, target: str) -> int:
    """Return the index of the plane in which the first non-empty target is largest; 0 without any."""
    axis = loaded.planes[0].axis
    masks = [one.mask for one in loaded.targets(target) if one.mask.any()]
    if axis is None or not masks:
        return 0
    other_axes = tuple(other for other in range(3) if other != axis)
    areas = (masks[0] > 0).sum(axis=other_axes)
    return int(areas.argmax())


def open_catalog(
    named: Sequence[str],
    scratch: Path,
    *,
    trust: bool = False,
    data: str | None = None,
) -> Catalog:
    """Open a catalog of runs, datasets and pictures.

    Args:
        named: run folders, folders of runs, datasets as for `--dataset`, folders of pictures.
        scratch: an empty folder for temporary files.
        trust: whether plug-ins named in run folders may be run; see `segarena.records.plugin_trust`.
        data: new location of the runs' dataset, as for `segarena report`.

    Raises:
        SegarenaError: an argument is none of these, or cannot be opened; the message says what
            was expected.
    """
    runs: list[RunFolder] = []
    datasets: list[tuple[str, Dataset]] = []
    for one in named:
        below = find_run_folders(Path(one))
        runs += [RunFolder.open(path) for path in below]
        if not below:
            datasets.append(_dataset_named(one))
    if data is not None and not runs:
        raise InvalidInput(
            "--data is the new location of the data of runs; expected a run folder as well"
        )
    made: list[Collection] = []
    for name, group in _by_data(runs):
        number = len(made)
        made.append(_of_runs(name, group, scratch / f"{number}", trust=trust, data=data))
    for name, dataset in datasets:
        made.append(_of_dataset(name, dataset, scratch / f"{len(made)}"))
    return Catalog(made)


def find_run_folders(path: Path) -> list[Path]:
    """Return the path itself if it is a run folder, else the run folders below it, sorted by path."""
    if (path / "run.json").is_file():
        return [path]
    return sorted(file.parent for file in path.rglob("run.json")) if path.is_dir() else []


def _dataset_named(text: str) -> tuple[str, Dataset]:
    """Return a dataset, from its specification or as a folder."""
    path = Path(text).expanduser()
    if path.is_dir():
        return path.resolve().name, _dataset_in(path)
    if "(" not in text and ("/" in text or text.startswith(".")) and ".py:" not in text:
        raise InvalidInput(
            f"{text}: expected a run folder, a dataset or a folder of pictures; this path does not exist"
        )
    try:
        return text, build("dataset", text)
    except SegarenaError as error:
        raise InvalidInput(f"{text} is neither a folder nor a usable dataset: {error}") from error


def _dataset_in(path: Path) -> Dataset:
    """Return the dataset that can read the layout of a folder, else its pictures without targets."""
    try:
        return build("dataset", detect_dataset(path).spec)
    except SegarenaError as error:
        if list_image_files(path):
            return cast("Dataset", UnlabelledFolder(path))
        raise InvalidInput(f"{path}: expected a run, a dataset or pictures; {error}") from error


def _by_data(runs: Sequence[RunFolder]) -> list[tuple[str, list[RunFolder]]]:
    """Group runs by their data, with the display name of the data."""
    names_of_data = dataset_names([run.config.dataset for run in runs])
    groups: dict[str, list[RunFolder]] = {}
    for name, run in zip(names_of_data, runs, strict=True):
        groups.setdefault(name, []).append(run)
    return list(groups.items())


def _of_runs(
    name: str,
    runs: Sequence[RunFolder],
    scratch: Path,
    *,
    trust: bool,
    data: str | None,
) -> Collection:
    labels = distinct_names([run.config.segmenter for run in runs])
    labels = _number_duplicates(labels)
    with restrict_plugins(trust=trust):
        dataset, problem = open_configured_dataset(runs[0].config, data, trust=trust)
    samples = list(dict.fromkeys(sample for run in runs for sample in run.samples))
    scratch.mkdir(parents=True)
    named = dict(zip(labels, runs, strict=True))
    damage = [note for run in runs for note in run.notes]
    return Collection(
        name=name,
        samples=SampleCache(dataset, problem, trust=trust),
        runs=list(named.items()),
        table=DialogueTable(samples, named, scratch / "table.parquet"),
        thumbs=BlobFolder(scratch / "thumbs", _THUMBS_BYTES, suffix=".jpg"),
        notes=damage,
        trust=trust,
        data=data,
    )


def _number_duplicates(labels: Sequence[str]) -> list[str]:
    """Append #1, #2, ... to labels that occur more than once."""
    numbered: list[str] = []
    for at, label in enumerate(labels):
        if labels.count(label) > 1:
            number = labels[: at + 1].count(label)
            numbered.append(f"{label} #{number}")
        else:
            numbered.append(label)
    return numbered


def _of_dataset(
    name: str,
    dataset: Dataset,
    scratch: Path,
) -> Collection:
    if not len(dataset.sample_ids):
        raise RunConflict(f"{name}: expected samples, got none")
    scratch.mkdir(parents=True)
    return Collection(
        name=name,
        samples=SampleCache(dataset, "", trust=True),
        runs=(),
        table=DialogueTable(dataset.sample_ids, {}, scratch / "table.parquet"),
        thumbs=BlobFolder(scratch / "thumbs", _THUMBS_BYTES, suffix=".jpg"),
    )
