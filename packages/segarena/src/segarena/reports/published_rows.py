"""Published figures next to figures of runs with the same measure and protocol; each row states its source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from segarena.plugin_spec import PluginSpec
from segarena.published.table_files import condition_label
from segarena.published.table_types import Measure, Measurement, PublishedFigure, PublishedTable
from segarena.reports.cells import Cell, Column, Value
from segarena.reports.measure_lookup import look_up_measure, page_tables
from segarena.reports.pages import Page
from segarena.reports.recorded_run import Run
from segarena.reports.sheets import Sheet
from segarena.reports.wording import count_text, sample_word

FROM_RUN = "run here"
FROM_PAPER = "published, not run here"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedComparison:
    """A published table together with the corresponding figures of a report's runs.

    Attributes:
        sheet: rows of the runs followed by those of the paper; None if nothing is comparable.
        notes: one line for each mismatch, with the reason, and for missing figures.
    """

    sheet: Sheet | None
    notes: tuple[str, ...] = ()


def protocol_facts(run: Run) -> dict[str, str]:
    """Return the rules of a run as text by name, with nested options as `name.inner`."""
    rules = run.config.benchmark
    facts = {"benchmark": rules.name, "protocol": rules.protocol, "rounds": str(run.rounds)}
    return facts | dict(_flat(rules.options))


def protocol_mismatches(run: Run, needs: Mapping[str, str]) -> list[str]:
    """Return the differences between a run's rules and the requirements of a table or measure."""
    facts = protocol_facts(run)
    mismatches: list[str] = []
    for name, wanted in needs.items():
        if not fnmatchcase(facts.get(name, ""), wanted):
            mismatches.append(f"{name} is {facts.get(name, 'not stated')}, expected {wanted}")
    return mismatches


def match_dataset(run: Run, table: PublishedTable) -> tuple[str, str]:
    """Return a table's name for a run's dataset, and the reason why the two cannot be compared.

    The name is "" if the table does not cover the run's data; the reason is "" if there is none.
    """
    candidates: list[str] = []
    for name in table.own_datasets:
        if name in table.data and _is_plugin(run, table.data[name].plugin):
            candidates.append(name)
    if len(candidates) > 1:
        # One plug-in reads several datasets, so the folder decides.
        folder = run.data.casefold()
        candidates = [name for name in candidates if _last(table.data[name].folder) == folder]
    if not candidates:
        known = ", ".join(table.own_datasets)
        return "", f"it is on {run.data}; the table covers {known}"
    dataset = candidates[0]
    samples = table.data[dataset].samples
    if samples is not None and len(run.samples) != samples:
        own_samples = count_text(len(run.samples), sample_word(run))
        return "", f"it is on {own_samples} of {dataset}; the table covers {samples}"
    if not run.is_complete:
        return dataset, "it is not finished"
    return dataset, ""


def compare_with_published(own: Page, table: PublishedTable) -> PublishedComparison:
    """Compare a published table with the runs of a page, in the paper's units."""
    notes: list[str] = []
    measured: list[tuple[Run, str, Mapping[str, Measure]]] = []
    usable_names: set[str] = set()
    for run in own.runs:
        dataset, fault = match_dataset(run, table)
        faults = _faults(run, table)
        if fault or faults:
            # Three reasons are enough for a reader.
            reasons = "; ".join([*faults, fault][:3]).strip("; ")
            notes.append(f"{run.label} is not comparable with {table.name}: {reasons}.")
            continue
        usable, lost = _usable(run, table)
        notes += lost
        usable_names.update(usable)
        measured.append((run, dataset, usable))
    measures = {name: one for name, one in table.measures.items() if name in usable_names}
    if not measures:
        return PublishedComparison(sheet=None, notes=_once(notes))
    if table.absent:
        notes.append(f"Some figures of {table.name} are missing: {table.absent}.")
    rows: list[tuple[Cell, ...]] = []
    covered: set[tuple[str, str]] = set()
    for run, dataset, usable in measured:
        for label, row_dataset, user, values in _rows_of(own, run, dataset, usable, table):
            covered.add((row_dataset, user))
            rows.append(_cells(label, row_dataset, user, values, measures, FROM_RUN))
    rows += _published_rows(table, covered, measures)
    measure_columns = [_column(measure, name) for name, measure in measures.items()]
    sheet = Sheet(
        name="beside",
        caption=f"Comparison with {table.name}: {table.title}",
        head=(
            Column("Segmenter", key="segmenter"),
            Column("Dataset", key="dataset"),
            Column("User", key="user"),
            *measure_columns,
            Column("From", key="from"),
        ),
        rows=tuple(rows),
    )
    has_users = any(user for _, user in covered)
    if not has_users:
        keys = [key for key in sheet.keys if key != "user"]
        sheet = sheet.pick(*keys)
    source = f"{table.paper}, {table.where}." if table.where else f"{table.paper}."
    sheet = _with_notes(sheet, [source, *table.notes, *_once(notes)])
    return PublishedComparison(sheet=sheet, notes=_once(notes))


def _faults(run: Run, table: PublishedTable) -> list[str]:
    """Return the reasons why a run violates the table's rules; for another benchmark, only that reason."""
    if not table.benchmark:
        return ["the values of that table do not come from runs; see segarena reproduce"]
    # For another benchmark, the other requirements are meaningless.
    mismatches = protocol_mismatches(run, {"benchmark": table.benchmark})
    return mismatches or protocol_mismatches(run, table.needs)


def _usable(run: Run, table: PublishedTable) -> tuple[dict[str, Measure], list[str]]:
    """Return the measures whose requirements the run meets, and a note for each other measure."""
    usable: dict[str, Measure] = {}
    lost: list[str] = []
    for name, measure in table.measures.items():
        faults = protocol_mismatches(run, measure.needs)
        if not measure.sheet:
            lost.append(f"{measure.title}: {measure.why_not or 'no report computes it'}.")
        elif faults:
            lost.append(
                f"{measure.title} of {run.label} is measured differently: {'; '.join(faults)}."
            )
        else:
            usable[name] = measure
    return usable, lost


def _rows_of(
    own: Page,
    run: Run,
    dataset: str,
    usable: Mapping[str, Measure],
    table: PublishedTable,
) -> Iterable[tuple[str, str, str, Mapping[str, Measurement]]]:
    """Yield (run label, dataset, row label, values) for the table's rows without a user or with a user of the run."""
    sheets = page_tables(type(own)([run]))
    values_by_user: dict[str, dict[str, Measurement]] = {}
    for row in table.rows_on(dataset):
        user = row.words.get("user", "")
        if user and user not in run.users:
            continue
        condition = row.condition if user else ""
        for name, measure in usable.items():
            value = look_up_measure(sheets, measure, row.words)
            if value is not None:
                label = condition_label(condition, row.words, measure)
                values_by_user.setdefault(label, {})[name] = value
    for label, values in values_by_user.items():
        yield run.label, dataset, label, values


def _published_rows(
    table: PublishedTable,
    there: set[tuple[str, str]],
    measures: Mapping[str, Measure],
) -> list[tuple[Cell, ...]]:
    """Return the published rows for the (dataset, user) pairs that the runs have."""
    rows: dict[tuple[str, str, str], dict[str, PublishedFigure]] = {}
    for figure in table.figures:
        measure = measures.get(figure.measure)
        if measure is None:
            continue
        label = condition_label(figure.condition, figure.words, measure)
        covering = label
        if not figure.words.get("user"):
            # Runs do not have this condition, so compare the label without it.
            covering = condition_label("", figure.words, measure)
        if (figure.dataset, covering) in there:
            row = rows.setdefault((figure.model, figure.dataset, label), {})
            row[figure.measure] = figure
    cells: list[tuple[Cell, ...]] = []
    for (model, dataset, user), values in rows.items():
        cells.append(_cells(model, dataset, user, values, measures, FROM_PAPER))
    return cells


def _cells(
    label: str,
    dataset: str,
    user: str,
    values: Mapping[str, Measurement | PublishedFigure],
    measures: Mapping[str, Measure],
    source: str,
) -> tuple[Cell, ...]:
    numbers = [_value(values.get(name), measure) for name, measure in measures.items()]
    return (label, dataset, user, *numbers, source)


def _value(found: Measurement | PublishedFigure | None, measure: Measure) -> Value:
    match found:
        case PublishedFigure():
            return Value(mean=found.value, printed=found.printed)
        case Measurement():
            return Value(
                mean=measure.scale * found.mean,
                low=measure.scale * found.low,
                high=measure.scale * found.high,
                decimals=2 if measure.scale > 1 else 3,
            )
        case None:
            return Value(mean=math.nan)


def _column(measure: Measure, name: str) -> Column:
    unit = f", {measure.unit}" if measure.unit else ""
    return Column(
        f"{measure.title}{unit}", "interval", key=name, higher_is_better=measure.higher_is_better
    )


def _with_notes(sheet: Sheet, notes: Sequence[str]) -> Sheet:
    return Sheet(
        name=sheet.name,
        caption=sheet.caption,
        head=sheet.head,
        rows=sheet.rows,
        notes=tuple(notes),
    )


def _once(notes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notes))


def _is_plugin(run: Run, written: str) -> bool:
    """Return whether a run used the dataset that a table names, with the options that the table requires."""
    if not written:
        return False
    spec = PluginSpec.parse(written)
    used = run.config.dataset
    if spec.reference != used.name:
        return False
    wanted: dict[str, Any] = {}
    if "split" in used.options:
        # A table that names no split refers to the whole dataset.
        wanted["split"] = None
    wanted.update(spec.options)
    for name, value in wanted.items():
        is_placeholder = "{" in str(value)
        if not is_placeholder and used.options.get(name) != value:
            return False
    return True


def _last(folder: str) -> str:
    return folder.rpartition("/")[2].casefold()


def _flat(options: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, str]]:
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", str(value)
