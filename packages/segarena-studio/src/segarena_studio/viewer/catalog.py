"""What is looked at: datasets and runs named on the command line, sorted into collections of one dataset each.

A shelf is made by `segarena look` and by nothing else. Its datasets hold the truth, so pages about it answer only on a
site that is for one person of this machine: see `segarena_studio.pages.viewer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from segarena.engine.blob_folder import BlobFolder
from segarena.engine.store import RunFolder
from segarena.errors import InvalidInput, RunConflict, SegarenaError
from segarena.files.hashes import sha256
from segarena.files.images import list_image_files
from segarena.plugin_spec import PluginSpec
from segarena.records.trust import restrict_plugins
from segarena.registry import build, plugins_by_name
from segarena.reports.display_names import dataset_names, distinct_names
from segarena.reports.gallery import open_configured_dataset
from segarena.reports.wording import count_text
from segarena.roles import Dataset
from segarena_studio.viewer.dialogue_replay import ReplayQueue, replay_dialogue
from segarena_studio.viewer.dialogue_table import DialogueKey, DialogueTable
from segarena_studio.viewer.mask_layers import RunAnswers
from segarena_studio.viewer.sample_cache import SampleCache
from segarena_studio.viewer.table_query import TableQuery
from segarena_studio.viewer.thumbnails import render_thumbnail
from segarena_studio.viewer.unlabelled_folder import UnlabelledFolder
from segarena_studio.viewer.view_description import ViewDescription, describe_view

_THUMBS_BYTES = 2**28


@dataclass(eq=False)
class Collection:
    """Samples of one dataset, with the runs about them.

    Attributes:
        name: of the dataset.
        samples: the samples.
        runs: what each run is called, and its folder.
        table: a row for each dialogue, or sample.
        notes: what must be known of the runs.
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
    holdings: ReplayQueue = field(default_factory=ReplayQueue)

    def __post_init__(self) -> None:
        """Make what decodes."""
        self.answers = RunAnswers([folder for _, folder in self.runs])

    @property
    def counted(self) -> str:
        """What there is, in one line."""
        runs = f" of {', '.join(label for label, _ in self.runs)}" if self.runs else ""
        return (
            count_text(self.table.count(TableQuery()), "dialogue" if self.runs else "sample") + runs
        )

    def place(self, key: DialogueKey) -> ViewDescription:
        """Return what is told of a place.

        Raises:
            SegarenaError: it cannot be shown; the message is a sentence.
        """
        notes = [self.samples.problem] if self.samples.problem else []
        return describe_view(
            self.samples.look(key[0]), key, self.runs, self.answers, [*notes, *self.notes]
        )

    def thumb(self, key: DialogueKey) -> bytes:
        """Return a small picture of a place; raises as `place`."""
        name = sha256(repr((self.name, key[:2])))
        found = self.thumbs.get(name)
        if found is None:
            looked = self.samples.look(key[0])
            masks = [one.mask for one in looked.targets(key[1]) if one.mask.any()]
            plane = looked.planes[0]
            index = 0
            if plane.axis is not None and masks:
                counts = (masks[0] > 0).sum(
                    axis=tuple(axis for axis in range(3) if axis != plane.axis)
                )
                index = int(counts.argmax())
            found = render_thumbnail(looked, key[1], index)
            self.thumbs.put(name, found)
        return found

    def hold_again(self, run: int, key: DialogueKey) -> str | None:
        """Have a dialogue held again, and return what came of it; None while that is under way."""
        return self.holdings.told(run, key, lambda: self._hold(run, key))

    def _hold(self, run: int, key: DialogueKey) -> str:
        masks, told = replay_dialogue(self.runs[run][1], key, trust=self.trust, data=self.data)
        self.answers.add(run, key, masks)
        return told


@dataclass(eq=False)
class Catalog:
    """All that one `segarena look` shows."""

    collections: Sequence[Collection]


def open_catalog(
    named: Sequence[str], scratch: Path, *, trust: bool = False, data: str | None = None
) -> Catalog:
    """Open what was named.

    Args:
        named: run folders, folders above runs, datasets as `--dataset` takes them, folders of pictures.
        scratch: an empty folder for what is made meanwhile.
        trust: whether plug-ins that run folders name may be run; see `segarena.records.trust`.
        data: where the runs' dataset is now, if it moved; as for `segarena report`.

    Raises:
        SegarenaError: something is neither, or cannot be opened; the message says what was expected.
    """
    runs: list[RunFolder] = []
    datasets: list[tuple[str, Dataset]] = []
    for one in named:
        below = find_runs(Path(one))
        runs += [RunFolder.open(path) for path in below]
        if not below:
            datasets.append(_dataset_named(one))
    if data is not None and not runs:
        raise InvalidInput(
            "--data says where the data of runs are now; expected a run folder beside it"
        )
    made: list[Collection] = []
    for name, group in _by_data(runs):
        number = len(made)
        made.append(_of_runs(name, group, scratch / f"{number}", trust=trust, data=data))
    for name, dataset in datasets:
        made.append(_of_dataset(name, dataset, scratch / f"{len(made)}"))
    return Catalog(made)


def find_runs(path: Path) -> list[Path]:
    """Return a run folder, or those below it by name; none where there are none."""
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
            f"{text}: expected a run folder, a dataset or a folder of pictures; there is nothing here"
        )
    try:
        return text, build("dataset", text)
    except SegarenaError as error:
        raise InvalidInput(f"{text} is no folder, and as a dataset: {error}") from error


def _dataset_in(path: Path) -> Dataset:
    """Return the dataset that reads a folder: one with the layout of `folder` or `nifti-folder`, else its pictures."""
    problems: list[str] = []
    for name in ("folder", "nifti-folder", "video-folder"):
        if name not in plugins_by_name("dataset"):
            continue
        try:
            found: Dataset = build("dataset", PluginSpec(name, {"path": str(path)}))
        except SegarenaError as error:
            problems.append(f"{name}: {error}")
            continue
        if len(found.sample_ids):
            return found
    if list_image_files(path):
        return cast("Dataset", UnlabelledFolder(path))
    raise InvalidInput(
        f"{path}: expected a run, or pictures, or a layout that a dataset reads; {'; '.join(problems)}"
    )


def _by_data(runs: Sequence[RunFolder]) -> list[tuple[str, list[RunFolder]]]:
    """Return runs on the same data together, by what their data are called."""
    groups: dict[str, list[RunFolder]] = {}
    for name, run in zip(dataset_names([run.config.dataset for run in runs]), runs, strict=True):
        groups.setdefault(name, []).append(run)
    return list(groups.items())


def _of_runs(
    name: str, runs: Sequence[RunFolder], scratch: Path, *, trust: bool, data: str | None
) -> Collection:
    labels = distinct_names([run.config.segmenter for run in runs])
    labels = [
        f"{label} #{labels[: at + 1].count(label)}" if labels.count(label) > 1 else label
        for at, label in enumerate(labels)
    ]
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


def _of_dataset(name: str, dataset: Dataset, scratch: Path) -> Collection:
    if not len(dataset.sample_ids):
        raise RunConflict(f"{name}: expected samples to look at, got none")
    scratch.mkdir(parents=True)
    return Collection(
        name=name,
        samples=SampleCache(dataset, "", trust=True),
        runs=(),
        table=DialogueTable(dataset.sample_ids, {}, scratch / "table.parquet"),
        thumbs=BlobFolder(scratch / "thumbs", _THUMBS_BYTES, suffix=".jpg"),
    )
