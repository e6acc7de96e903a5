"""What measuring a table takes, what of it is there, and how to have the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segarena.errors import InvalidInput
from segarena.options import close_to
from segarena.plugin_spec import PluginSpec
from segarena.published.table_files import names_in
from segarena.published.table_types import Condition, Data, Model, PublishedTable, Row
from segarena.reproduction.local_files import Places


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that is needed.

    Attributes:
        kind: "data", "input", "weights", "adapter", "environment" or "method".
        name: what it is called.
        place: where it is; empty where it is missing.
        wanted: where it is looked for.
        get: how to have it.
    """

    kind: str
    name: str
    place: str = ""
    wanted: str = ""
    get: str = ""

    @property
    def is_there(self) -> bool:
        """Whether it was found."""
        return bool(self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run that measures some rows of a table.

    Attributes:
        model, dataset: whom, on what.
        rows: of the table, that the run measures.
        segmenter, data: plug-ins as written.
        options: of the benchmark.
        written: these, with names in braces for what has a place.
        around: a plug-in as written that stands around the segmenter; empty where none does.
        needs: what it takes.
    """

    model: str
    dataset: str
    rows: tuple[Row, ...]
    segmenter: str
    data: str
    options: Mapping[str, Any]
    written: Mapping[str, Any]
    needs: tuple[Need, ...]
    around: str = ""

    @property
    def lacks(self) -> tuple[Need, ...]:
        """What is missing."""
        return tuple(need for need in self.needs if not need.is_there)


def chosen(kind: str, asked: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the names that were asked for, in capitals or not; all that are known where none was.

    Raises:
        InvalidInput: the table has no such model or dataset; the message says the near ones.
    """
    wanted = {name.casefold() for name in asked}
    for name in asked:
        if name.casefold() not in map(str.casefold, known):
            hint = close_to(name, known, cutoff=0.3) or f"it has {', '.join(known)}"
            raise InvalidInput(f"the table has no {kind} {name!r}; {hint}")
    if asked:
        return tuple(name for name in known if name.casefold() in wanted)
    return tuple(known)


def needs_of_data(table: PublishedTable, dataset: str, places: Places) -> list[Need]:
    """Return what a dataset takes: its folder, and the inputs that its plug-in names."""
    data = table.data.get(dataset, Data())
    if not (data.folder or data.plugin):
        return [Need(kind="method", name=dataset, get=data.get or "no dataset plug-in reads it")]
    is_embedded = not data.folder and "path" not in names_in(data.plugin)
    found = "the installation" if is_embedded else places.in_data(data.folder)
    needs = [
        Need(
            kind="data",
            name=dataset,
            place=str(found or ""),
            wanted=f"DATA/{data.folder}",
            get=data.get,
        )
    ]
    return [
        *needs,
        *(_input(table, name, places) for name in names_in(data.plugin) if name in table.inputs),
    ]


def needs_of_inputs(table: PublishedTable, names: Sequence[str], places: Places) -> list[Need]:
    """Return what inputs of these names take."""
    return [_input(table, name, places) for name in names]


def jobs_of(
    table: PublishedTable, models: Sequence[str], datasets: Sequence[str], places: Places
) -> list[Job]:
    """Return the runs that measure a table, by model and dataset; conditions that one run can have share it."""
    jobs: list[Job] = []
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
    rows: Sequence[Row],
    options: Mapping[str, Any],
    places: Places,
) -> Job:
    told = table.models.get(model, Model(get="no weights or code of it are known to us"))
    data = table.data.get(dataset, Data())
    condition = table.conditions.get(rows[0].condition, Condition())
    every = {**table.options, **options}
    named = dict.fromkeys(
        name for value in every.values() for name in names_in(value) if name in table.inputs
    )
    inputs = {name: _input(table, name, places) for name in (*named, *_inputs_of(data, table))}
    segmenter, needs = _segmenter(model, told, places)
    if condition.around and segmenter:
        segmenter = put_around(condition.around, segmenter)
    if condition.why_not:
        needs = [*needs, Need(kind="method", name=rows[0].condition, get=condition.why_not)]
    words = {name: need.place for name, need in inputs.items()}
    folder = needs_of_data(table, dataset, places)[0]
    return Job(
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


def _segmenter(name: str, model: Model, places: Places) -> tuple[str, list[Need]]:
    """Return the segmenter as written, and what it takes."""
    weights = places.weights_of(model.weights)
    needs: list[Need] = []
    if model.weights:
        wanted = f"WEIGHTS/{model.weights}"
        needs.append(
            Need(kind="weights", name=name, place=str(weights or ""), wanted=wanted, get=model.get)
        )
    if model.segmenter:
        return _filled(model.segmenter, {"weights": str(weights or "")}), needs
    if not model.adapter:
        return "", [
            *needs,
            Need(kind="method", name=name, get=model.get or "no code of it is known to us"),
        ]
    adapter = places.adapter(model.adapter)
    own = f"adapters/{model.adapter}"
    place = str(adapter.folder) if adapter else ""
    needs.append(
        Need(
            kind="adapter",
            name=own,
            place=place,
            get="a checkout of segarena has it; see --adapters",
        )
    )
    if adapter is None:
        return "", needs
    python = Need(
        kind="environment",
        name=own,
        place=str(adapter.python or ""),
        get=f"set up as {own}/README.md says",
    )
    if not model.weights:
        # An adapter without weights makes random ones: nothing to hold against published figures.
        needs.append(
            Need(
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


def put_around(around: str, segmenter: str) -> str:
    """Return a segmenter with another plug-in around it, as written."""
    return around.replace("{segmenter}", repr(segmenter)) if around else segmenter


def _shared(
    table: PublishedTable, rows: Sequence[Row]
) -> Iterator[tuple[dict[str, Any], list[Row]]]:
    """Yield groups of rows that one run measures, with its options; where these differ in one list, it is joined."""
    groups: list[tuple[dict[str, Any], list[Row]]] = []
    for row in rows:
        condition = table.conditions.get(row.condition, Condition())
        alone = bool(condition.around or condition.why_not)
        place = next(
            (
                k
                for k, (options, _) in enumerate(groups)
                if not alone and _joined(options, condition)
            ),
            None,
        )
        if place is None:
            groups.append((dict(condition.options), [row]))
        else:
            options, members = groups[place]
            groups[place] = (_joined(options, condition) or options, [*members, row])
    yield from groups


def _joined(options: Mapping[str, Any], condition: Condition) -> dict[str, Any] | None:
    """Return the options of a run for both, or None where one run cannot have both."""
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


def _inputs_of(data: Data, table: PublishedTable) -> list[str]:
    return [name for name in names_in(data.plugin) if name in table.inputs]


def _input(table: PublishedTable, name: str, places: Places) -> Need:
    told = table.inputs[name]
    place = str(places.in_data(told.file) or "")
    return Need(kind="input", name=name, place=place, wanted=f"DATA/{told.file}", get=told.get)


def _filled(text: str, words: Mapping[str, str]) -> str:
    """Return a text with the names in braces that are known replaced."""
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text
