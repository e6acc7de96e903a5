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
        name: name of the dataset, input, model, adapter or condition that it is about.
        place: path where it was found, or "the installation" for a dataset that segarena contains; "" if missing.
        wanted: path where it is expected; "" if there is none.
        get: how to get it; for a method, why it is not available.
    """

    kind: str
    name: str
    place: str = ""
    wanted: str = ""
    get: str = ""

    @property
    def is_present(self) -> bool:
        """Whether the requirement was found."""
        return bool(self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionJob:
    """A run that measures some rows of a table.

    Attributes:
        model, dataset: names in the table.
        rows: the table rows that the run measures.
        segmenter, data: plug-in specifications.
        options: options of the benchmark.
        written: options with placeholders instead of paths.
        around: specification of a wrapper plug-in for the segmenter; "" for none.
        needs: requirements of the run.
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


def select_names(
    kind: str,
    requested: Sequence[str],
    known: Collection[str],
) -> tuple[str, ...]:
    """Return the known names that are requested, ignoring case, in the order of `known`; all if none is requested.

    Raises:
        InvalidInput: a name is unknown; the message suggests similar ones.
    """
    if not requested:
        return tuple(known)
    wanted = {name.casefold() for name in requested}
    known_folded = {name.casefold() for name in known}
    for name in requested:
        if name.casefold() not in known_folded:
            hint = suggest_names(name, known, cutoff=0.3) or f"it has {', '.join(known)}"
            raise InvalidInput(f"the table has no {kind} {name!r}; {hint}")
    return tuple(name for name in known if name.casefold() in wanted)


def dataset_requirements(
    table: PublishedTable,
    dataset: str,
    files: LocalFiles,
) -> list[Requirement]:
    """Return the requirements of a dataset: its folder, and the inputs in its plug-in specification.

    A dataset without a folder and a plug-in cannot be read; it has a single requirement of kind
    "method", which is missing.
    """
    data = table.data.get(dataset, DatasetEntry())
    if not data.folder and not data.plugin:
        reason = data.get or "no dataset plug-in reads it"
        return [Requirement(kind="method", name=dataset, get=reason)]
    is_embedded = not data.folder and "path" not in placeholders_in(data.plugin)
    if is_embedded:
        place = "the installation"
    else:
        place = str(files.in_data(data.folder) or "")
    folder = Requirement(
        kind="data",
        name=dataset,
        place=place,
        wanted=f"DATA/{data.folder}",
        get=data.get,
    )
    return [folder, *input_requirements(table, _inputs_of(data, table), files)]


def input_requirements(
    table: PublishedTable,
    names: Sequence[str],
    files: LocalFiles,
) -> list[Requirement]:
    """Return the requirements for inputs with these names."""
    return [_input(table, name, files) for name in names]


def plan_jobs(
    table: PublishedTable,
    models: Sequence[str],
    datasets: Sequence[str],
    files: LocalFiles,
) -> list[ReproductionJob]:
    """Return the runs for a table by model and dataset; compatible conditions share a run."""
    jobs: list[ReproductionJob] = []
    for model in models:
        for dataset in datasets:
            rows = [row for row in table.rows_on(dataset) if row.model == model]
            for options, group in _group_rows(table, rows):
                jobs.append(_job(table, model, dataset, group, options, files))
    return jobs


def _job(
    table: PublishedTable,
    model: str,
    dataset: str,
    rows: Sequence[TableRow],
    options: Mapping[str, Any],
    files: LocalFiles,
) -> ReproductionJob:
    entry = table.models.get(model, ModelEntry(get="segarena knows no weights or code for it"))
    data = table.data.get(dataset, DatasetEntry())
    condition_name = rows[0].condition
    condition = table.conditions.get(condition_name, ConditionEntry())
    written = {**table.options, **options}
    input_names: dict[str, None] = {}
    for value in written.values():
        for name in placeholders_in(value):
            if name in table.inputs:
                input_names[name] = None
    input_names.update(dict.fromkeys(_inputs_of(data, table)))
    inputs = {name: _input(table, name, files) for name in input_names}
    segmenter, needs = _segmenter(model, entry, files)
    if condition.around and segmenter:
        segmenter = wrap_segmenter(condition.around, segmenter)
    if condition.why_not:
        needs.append(Requirement(kind="method", name=condition_name, get=condition.why_not))
    paths = {name: need.place for name, need in inputs.items()}
    filled: dict[str, Any] = {}
    for name, value in written.items():
        filled[name] = value
        if isinstance(value, str):
            filled[name] = _fill(value, paths)
    # The first requirement is the folder; the others are inputs, which options of the run may need
    # as well.
    folder = dataset_requirements(table, dataset, files)[0]
    return ReproductionJob(
        model=model,
        dataset=dataset,
        rows=tuple(rows),
        segmenter=segmenter,
        data=_fill(data.plugin, {**paths, "path": folder.place}),
        options=filled,
        written=written,
        around=condition.around,
        needs=(folder, *inputs.values(), *needs),
    )


def _segmenter(
    name: str,
    model: ModelEntry,
    files: LocalFiles,
) -> tuple[str, list[Requirement]]:
    """Return the plug-in specification of a segmenter, and its requirements."""
    weights = str(files.weights_of(model.weights) or "")
    needs: list[Requirement] = []
    if model.weights:
        wanted = f"WEIGHTS/{model.weights}"
        needs.append(
            Requirement(
                kind="weights",
                name=name,
                place=weights,
                wanted=wanted,
                get=model.get,
            )
        )
    if model.segmenter:
        return _fill(model.segmenter, {"weights": weights}), needs
    if not model.adapter:
        reason = model.get or "segarena knows no code for it"
        needs.append(Requirement(kind="method", name=name, get=reason))
        return "", needs
    adapter = files.adapter(model.adapter)
    adapter_name = f"adapters/{model.adapter}"
    needs.append(
        Requirement(
            kind="adapter",
            name=adapter_name,
            place=str(adapter.folder) if adapter else "",
            get="a checkout of segarena has it; see --adapters",
        )
    )
    if adapter is None:
        return "", needs
    if not model.weights:
        # Without weights, an adapter initializes its network randomly, which is not comparable to
        # published figures.
        reason = model.get or "segarena knows no published weights for it"
        needs.append(Requirement(kind="weights", name=name, get=reason))
    python = str(adapter.python or "")
    needs.append(
        Requirement(
            kind="environment",
            name=adapter_name,
            place=python,
            get=f"set it up as {adapter_name}/README.md describes",
        )
    )
    options = dict(files.options)
    if weights:
        options["weights"] = weights
    worker = {
        "command": "python adapter.py",
        "python": python,
        "folder": str(adapter.folder),
        "options": options,
    }
    return str(PluginSpec("worker", worker)), needs


def wrap_segmenter(around: str, segmenter: str) -> str:
    """Return the specification of a wrapper plug-in around a segmenter."""
    if not around:
        return segmenter
    return around.replace("{segmenter}", repr(segmenter))


def _group_rows(
    table: PublishedTable, rows: Sequence[TableRow]
) -> Iterator[tuple[dict[str, Any], list[TableRow]]]:
    """Yield groups of rows that one run can measure, with the options of that run.

    Two sets of options are merged if they are equal, or differ in a single option and both of its values are lists.
    """
    shared: list[tuple[dict[str, Any], list[TableRow]]] = []
    alone: list[tuple[dict[str, Any], list[TableRow]]] = []
    for row in rows:
        condition = table.conditions.get(row.condition, ConditionEntry())
        # A wrapper changes the segmenter of the whole run, and what cannot run has no run.
        if condition.around or condition.why_not:
            alone.append((dict(condition.options), [row]))
            continue
        for index, (options, members) in enumerate(shared):
            joined = _join_options(options, condition.options)
            if joined is not None:
                shared[index] = (joined, [*members, row])
                break
        else:
            shared.append((dict(condition.options), [row]))
    yield from shared
    yield from alone


def _join_options(options: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any] | None:
    """Merge two sets of options for a common run; None if they are incompatible."""
    if set(options) != set(others):
        return None
    differing = [name for name, value in others.items() if options[name] != value]
    if not differing:
        return dict(options)
    # Lists in two options would make a run over all combinations.
    if len(differing) > 1:
        return None
    name = differing[0]
    first = options[name]
    second = others[name]
    if not isinstance(first, list) or not isinstance(second, list):
        return None
    distinct = dict.fromkeys([*first, *second])
    return {**options, name: list(distinct)}


def _inputs_of(data: DatasetEntry, table: PublishedTable) -> list[str]:
    return [name for name in placeholders_in(data.plugin) if name in table.inputs]


def _input(
    table: PublishedTable,
    name: str,
    files: LocalFiles,
) -> Requirement:
    entry = table.inputs[name]
    place = str(files.in_data(entry.file) or "")
    return Requirement(
        kind="input",
        name=name,
        place=place,
        wanted=f"DATA/{entry.file}",
        get=entry.get,
    )


def _fill(text: str, words: Mapping[str, str]) -> str:
    """Replace the known placeholders in a text."""
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text
