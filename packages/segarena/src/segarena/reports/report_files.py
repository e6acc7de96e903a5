"""Output files of a report, written to a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from segarena.errors import StoreError
from segarena.files.atomic_write import write_atomic
from segarena.files.safe_paths import safe_join
from segarena.published.table_registry import find_table
from segarena.records.plugin_trust import restrict_plugins, trust_refusal
from segarena.records.report_manifest import write_manifest
from segarena.reports.chart_export import chart_files, figures_in, png_of
from segarena.reports.general_tables import (
    differences_sheet,
    paired_sheet,
    summary_sheet,
    timings_sheet,
)
from segarena.reports.human_time import human_time_sheet
from segarena.reports.page_parts import Section
from segarena.reports.pages import Page, page_of
from segarena.reports.person_variation import person_variation_sheet
from segarena.reports.published_rows import compare_with_published
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.latex import latex_comment, sheet_tex
from segarena.reports.report import report_html, report_sections
from segarena.reports.sheets import Sheet
from segarena.reports.targets_table import target_values_sheet
from segarena.reports.wording import baseline_text, count_text, protocol_text
from segarena.users.habits.prompt_time import PromptTimeModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """Paths of a report's files.

    Attributes:
        html: the self-contained page.
        csv: the summary; equal records give equal bytes.
        latex: the summary for booktabs with the paired differences; equal records give equal bytes.
        timings: seconds, which differ even between equal runs.
        paired: differences to the first run on the same dataset; None for a single run.
        targets: the statistic of the verdict for every target; None without such a statistic.
        further: additional tables of the benchmark's page.
        of_people: human time, and variation between the people of a crowd, if available.
        figures: the charts as SVG and PNG, if requested.
        not_shown: one line for each dataset whose samples are hidden because it is not trusted.
        notes: remarks, for example about a modified run.json or missing published figures.
        page: the page of the runs, for `terminal_of`.
    """

    html: Path
    csv: Path
    latex: Path
    timings: Path
    paired: Path | None
    targets: Path | None
    further: tuple[Path, ...] = ()
    of_people: tuple[Path, ...] = ()
    figures: tuple[Path, ...] = ()
    not_shown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    page: Page = field(repr=False, compare=False)


def write_report(
    runs: Sequence[str | Path],
    out: str | Path,
    *,
    thresholds: Sequence[float] = (),
    trust: bool = False,
    figures: str | Path | None = None,
    shows_all: bool = False,
    data: str | Path | None = None,
    beside: Sequence[str] = (),
    pace: PromptTimeModel | None = None,
    labels: Sequence[str] = (),
) -> ReportFiles:
    """Write the report of run folders into the folder `out`, which is created if necessary.

    If there are several runs, each is compared with the first one on its dataset.

    Args:
        runs: the run folders.
        out: folder of the report.
        thresholds: additional thresholds for NoC and NoF.
        trust: whether third-party plug-ins of the folders may be executed to draw pictures; see
            `segarena.records.plugin_trust`.
        figures: folder for each chart as SVG and PNG; None writes no charts.
        shows_all: whether the page contains pictures of every target regardless of its size.
        data: current location of the dataset's files, if they have moved.
        beside: names of published tables; their figures are shown next to those of the runs if
            measure and protocol agree.
        pace: model of human prompting time for figures against seconds; None for the published one.
        labels: names for runs in place of their own: "RUN=LABEL", or for one run the label alone.

    Raises:
        UnknownPlugin: a name in `beside` is unknown; the message suggests similar names.
        MissingExtra: `figures` was given, and resvg-py is not installed.
        InvalidInput: `data` does not match the runs, the runs cannot support a threshold, or a
            label names no run.
        RunMissing: a folder contains no run.
        RunConflict: the runs used different rules.
        StoreError: records are damaged, or `out` cannot be written.
    """
    tables = [find_table(name) for name in dict.fromkeys(beside)]
    recorded = read_runs(
        runs,
        thresholds=thresholds,
        trust=trust,
        data=data,
        labels=labels,
    )
    folder = _create_folder(out)
    with restrict_plugins(trust=trust):
        own = page_of(recorded)
        own.pace = pace or own.pace
        comparisons = [compare_with_published(own, table) for table in tables]
        own.beside = [one.sheet for one in comparisons if one.sheet is not None]
        further = {**own.files(), **_beside_files(own.beside)}
        of_people = {f"{sheet.name}.csv": sheet_csv(sheet) for sheet in _of_people(own)}
        sections = report_sections(own, shows_all=shows_all)
        whole_floors = [own.whole(run) for run in own.floors]
        texts = {
            "report.html": report_html(own, sections),
            "summary.csv": summary_csv([*own.whole_runs, *whole_floors]),
            "summary.tex": summary_tex(own.whole_runs),
            "timings.csv": sheet_csv(timings_sheet(recorded)),
            **of_people,
        }
        if len(own.runs) > 1:
            texts["paired.csv"] = sheet_csv(differences_sheet(own.whole_runs))
        if own.decides:
            targets = target_values_sheet(own.usual_runs, own.decides, {})
            texts["targets.csv"] = sheet_csv(targets)
        texts |= further
    for name, text in texts.items():
        write_atomic(safe_join(folder, name), text)
    write_manifest(folder, [folder / name for name in texts])
    drawn = _write_figures(sections, figures) if figures else ()
    notes: list[str] = []
    refusals: list[str] = []
    for run in recorded:
        notes += run.folder.notes
        refusals.append(trust_refusal("dataset", run.config.dataset, trust=trust))
    for comparison in comparisons:
        notes += comparison.notes
    return ReportFiles(
        html=folder / "report.html",
        csv=folder / "summary.csv",
        latex=folder / "summary.tex",
        timings=folder / "timings.csv",
        paired=folder / "paired.csv" if len(own.runs) > 1 else None,
        targets=folder / "targets.csv" if own.decides else None,
        further=tuple(folder / name for name in further),
        of_people=tuple(folder / name for name in of_people),
        figures=drawn,
        page=own,
        notes=tuple(dict.fromkeys(notes)),
        not_shown=tuple(dict.fromkeys(refusal for refusal in refusals if refusal)),
    )


def _of_people(own: Page) -> list[Sheet]:
    """Return the non-empty tables about people: human time, and variation within crowds."""
    sheets = [
        human_time_sheet(own.usual_runs, own.pace),
        person_variation_sheet(own.whole_runs),
    ]
    return [sheet for sheet in sheets if sheet.rows]


def _beside_files(sheets: Sequence[Sheet]) -> dict[str, str]:
    """Return the tables of published figures as text by file name: CSV files and one LaTeX file."""
    if not sheets:
        return {}
    texts: dict[str, str] = {}
    for number, sheet in enumerate(sheets, 1):
        # A single table gets no number.
        name = "beside.csv" if len(sheets) == 1 else f"beside-{number}.csv"
        texts[name] = sheet_csv(sheet)
    texts["beside.tex"] = "\n".join(sheet_tex(sheet) for sheet in sheets)
    return texts


def _create_folder(path: str | Path) -> Path:
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be created as a folder: {error.strerror}; choose another path"
        ) from error
    return folder


def _write_figures(sections: Sequence[Section], path: str | Path) -> tuple[Path, ...]:
    folder = _create_folder(path)
    written: list[Path] = []
    for name, svg in chart_files(figures_in(sections)).items():
        picture = safe_join(folder, name)
        write_atomic(picture, svg)
        write_atomic(picture.with_suffix(".png"), png_of(svg))
        written += [picture, picture.with_suffix(".png")]
    return tuple(written)


def summary_csv(runs: Sequence[Run]) -> str:
    """Return the summary as CSV: a line per run and user, with mean and interval bounds of each statistic."""
    names = (
        "benchmark",
        "protocol",
        "segmenter",
        "user",
        "targets",
        "dialogues",
        "failures",
        "complete",
    )
    sheet = summary_sheet(runs)
    return sheet_csv(sheet.pick(*names, *runs[0].statistic_names))


def summary_tex(runs: Sequence[Run]) -> str:
    """Return the summary, and for several runs the paired differences, as LaTeX tables."""
    names = runs[0].statistic_names
    summary = summary_sheet(runs).pick("segmenter", "user", *names, "targets", "failures")
    comments = [f"{runs[0].config.benchmark.name}; {protocol_text(runs[0])}"]
    for run in runs:
        if not run.is_complete:
            comments.append(f"PARTIAL: {run.label}")
    comments.append("needs \\usepackage{booktabs}; brackets hold 95 % intervals over targets")
    text = ""
    for comment in comments:
        text += f"% {latex_comment(comment)}\n"
    text += sheet_tex(summary)
    paired = paired_sheet(runs).pick("difference", "user", *names, "matched", "unmatched")
    if not paired.rows:
        return text
    about = f"paired differences to {baseline_text(runs)}, {count_text(len(runs) - 1, 'run')}"
    return f"{text}\n{sheet_tex(replace(paired, caption=about))}"
