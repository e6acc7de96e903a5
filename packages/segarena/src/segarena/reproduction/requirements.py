"""Requirements of a reproduction: the runs for a table, and the files they need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segarena.errors import InvalidInput
from segarena.options import suggest_names
from segarena.plugin_spec import PluginSpec
from segarena.published.table_files import placeholders_in
from segarena.published.table_types import (
    ConditionEntry,
    DatasetEntry,
    ModelEntry,
    PublishedTable,
    TableRow,
)
from segarena.reproduction.local_files import LocalFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A file, environment or method that a run needs.

    Attributes:
        kind: "data", "input", "weights", "adapter", "environment" or "method".
        name: its name.
        place: its path; "" if missing.
        wanted: where to put it.
        get: how to get it.
    """

    kind: str
    name: str
    place: str = ""
    wanted: str = ""
    get: str = ""

    @property
    def is_present(self) -> bool:
        """Whether the file or folder exists."""
        return bool(self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionJob:
    """A run that measures some rows of a table.

    Attributes:
        model, dataset: names in the table.
        rows: the rows that it measures.
        segmenter, data: plug-in texts.
        options: options of the benchmark.
        written: the same options with placeholders instead of paths.
        around: text of a wrapper plug-in for the segmenter; "" for none.
        needs: its requirements.
    """

    model: str
    dataset: str
    rows: tuple[TableRow, ...]
    segmenter: str
    data: str
    options: Mapping[str, Any]
    written: Mapping[str, Any]
    needs: tuple[Requirement, ...]
    around: str = ""

    @property
    def lacks(self) -> tuple[Requirement, ...]:
        """Missing requirements."""
        return tuple(need for need in self.needs if not need.is_present)


def select_names(kind: str, asked: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the requested names, ignoring case; all known names if none is requested.

    Raises:
        InvalidInput: an unknown name; the message suggests similar ones.
    """
    wanted = {name.casefold() for name in asked}
    for name in asked:
        if name.casefold() not in map(str.casefold, known):
            hint = suggest_names(name, known, cutoff=0.3) or f"it has {', '.join(known)}"
            raise InvalidInput(f"the table has no {kind} {name!r}; {hint}")
    if asked:
        return tuple(name for name in known if name.casefold() in wanted)
    return tuple(known)


def dataset_requirements(
    table: PublishedTable, dataset: str, places: LocalFiles
) -> list[Requirement]:
    """Return the requirements of a dataset: its folder, and the inputs in its plug-in text."""
    data = table.data.get(dataset, DatasetEntry())
    if not (data.folder or data.plugin):
        return [
            Requirement(kind="method", name=dataset, get=data.get or "no dataset plug-in reads it")
        ]
    is_embedded = not data.folder and "path" not in placeholders_in(data.plugin)
    found = "the installation" if is_embedded else places.in_data(data.folder)
    needs = [
        Requirement(
            kind="data",
            name=dataset,
            place=str(found or ""),
            wanted=f"DATA/{data.folder}",
            get=data.get,
        )
    ]
    return [
        *needs,
        *(
            _input(table, name, places)
            for name in placeholders_in(data.plugin)
            if name in table.inputs
        ),
    ]


def input_requirements(
    table: PublishedTable, names: Sequence[str], places: LocalFiles
) -> list[Requirement]:
    """Return the requirements for inputs with these names."""
    return [_input(table, name, places) for name in names]


def plan_jobs(
    table: PublishedTable, models: Sequence[str], datasets: Sequence[str], places: LocalFiles
) -> list[ReproductionJob]:
    """Return the runs for a table by model and dataset; compatible conditions share a run."""
    jobs: list[ReproductionJob] = []
    for model in models:
        for dataset in datasets:
            rows = [row for row in table.rows_on(dataset) if row.model == model]
            jobs += [
                _job(table, model, dataset, group, options, places)
                for options, group in _shared(table, rows)
            ]
    return jobs


def _job(
    table: PublishedTable,
    model: str,
    dataset: str,
    rows: Sequence[TableRow],
    options: Mapping[str, Any],
    places: LocalFiles,
) -> ReproductionJob:
    told = table.models.get(model, ModelEntry(get="no weights or code of it are known to us"))
    data = table.data.get(dataset, DatasetEntry())
    condition = table.conditions.get(rows[0].condition, ConditionEntry())
    every = {**table.options, **options}
    named = dict.fromkeys(
        name for value in every.values() for name in placeholders_in(value) if name in table.inputs
    )
    inputs = {name: _input(table, name, places) for name in (*named, *_inputs_of(data, table))}
    segmenter, needs = _segmenter(model, told, places)
    if condition.around and segmenter:
        segmenter = wrap_segmenter(condition.around, segmenter)
    if condition.why_not:
        needs = [*needs, Requirement(kind="method", name=rows[0].condition, get=condition.why_not)]
    words = {name: need.place for name, need in inputs.items()}
    folder = dataset_requirements(table, dataset, places)[0]
    return ReproductionJob(
        model=model,
        dataset=dataset,
        rows=tuple(rows),
        segmenter=segmenter,
        data=_filled(data.plugin, {**words, "path": folder.place}),
        options={
            name: _filled(value, words) if isinstance(value, str) else value
            for name, value in every.items()
        },
        written=every,
        around=condition.around,
        needs=(folder, *inputs.values(), *needs),
    )


def _segmenter(name: str, model: ModelEntry, places: LocalFiles) -> tuple[str, list[Requirement]]:
    """Return the plug-in text of a segmenter, and its requirements."""
    weights = places.weights_of(model.weights)
    needs: list[Requirement] = []
    if model.weights:
        wanted = f"WEIGHTS/{model.weights}"
        needs.append(
            Requirement(
                kind="weights", name=name, place=str(weights or ""), wanted=wanted, get=model.get
            )
        )
    if model.segmenter:
        return _filled(model.segmenter, {"weights": str(weights or "")}), needs
    if not model.adapter:
        return "", [
            *needs,
            Requirement(kind="method", name=name, get=model.get or "no code of it is known to us"),
        ]
    adapter = places.adapter(model.adapter)
    own = f"adapters/{model.adapter}"
    place = str(adapter.folder) if adapter else ""
    needs.append(
        Requirement(
            kind="adapter",
            name=own,
            place=place,
            get="a checkout of segarena has it; see --adapters",
        )
    )
    if adapter is None:
        return "", needs
    python = Requirement(
        kind="environment",
        name=own,
        place=str(adapter.python or ""),
        get=f"set up as {own}/README.md says",
    )
    if not model.weights:
        # An adapter without weights initializes them randomly: not comparable to published figures.
        needs.append(
            Requirement(
                kind="weights",
                name=name,
                get=model.get or "no published weights of it are known to us",
            )
        )
    options = {**places.options, **({"weights": str(weights)} if weights else {})}
    worker = {
        "command": "python adapter.py",
        "python": python.place,
        "folder": str(adapter.folder),
        "options": options,
    }
    return str(PluginSpec("worker", worker)), [*needs, python]


def wrap_segmenter(around: str, segmenter: str) -> str:
    """Return the text of a segmenter inside a wrapper plug-in."""
    return around.replace("{segmenter}", repr(segmenter)) if around else segmenter


def _shared(
    table: PublishedTable, rows: Sequence[TableRow]
) -> Iterator[tuple[dict[str, Any], list[TableRow]]]:
    """Yield groups of rows for one run with its options; lists that differ in one option are joined."""
    groups: list[tuple[dict[str, Any], list[TableRow]]] = []
    for row in rows:
        condition = table.conditions.get(row.condition, ConditionEntry())
        for index, (options, members) in enumerate(groups):
            joined = _joined(options, condition)
            if joined:
                groups[index] = (joined, [*members, row])
                break
        else:
            groups.append((dict(condition.options), [row]))
    yield from groups


def _joined(options: Mapping[str, Any], condition: ConditionEntry) -> dict[str, Any] | None:
    """Return the options of one run for both, or None if they are incompatible."""
    if condition.around or condition.why_not or set(options) != set(condition.options):
        return None
    differing = [name for name, value in condition.options.items() if options[name] != value]
    if not differing:
        return dict(options)
    values = [(options[name], condition.options[name]) for name in differing]
    if len(differing) > 1 or not all(isinstance(value, list) for pair in values for value in pair):
        return None
    (name,), ((first, second),) = differing, values
    return {**options, name: list(dict.fromkeys([*first, *second]))}


def _inputs_of(data: DatasetEntry, table: PublishedTable) -> list[str]:
    return [name for name in placeholders_in(data.plugin) if name in table.inputs]


def _input(table: PublishedTable, name: str, places: LocalFiles) -> Requirement:
    told = table.inputs[name]
    place = str(places.in_data(told.file) or "")
    return Requirement(
        kind="input", name=name, place=place, wanted=f"DATA/{told.file}", get=told.get
    )


def _filled(text: str, words: Mapping[str, str]) -> str:
    """Return a text with its known placeholders replaced."""
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text
