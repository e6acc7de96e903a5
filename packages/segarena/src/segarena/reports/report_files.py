"""A report as files in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from segarena.errors import StoreError
from segarena.files.whole import write_whole
from segarena.files.within import within
from segarena.published.finding import find_table
from segarena.records.report_manifest import write_manifest
from segarena.records.trust import restrict_plugins, trust_refusal
from segarena.reports.chart_export import chart_files, figures_in, png_of
from segarena.reports.exports import summary_csv, summary_tex
from segarena.reports.general_tables import differences_sheet, timings_sheet
from segarena.reports.human_time import human_time_sheet
from segarena.reports.page_parts import Section
from segarena.reports.pages import Page, page_of
from segarena.reports.person_variation import person_variation_sheet
from segarena.reports.published_rows import compare_with_published
from segarena.reports.recorded_run import read_runs
from segarena.reports.renderers import sheet_csv, sheet_tex
from segarena.reports.report import report_html, report_sections
from segarena.reports.sheets import Sheet
from segarena.reports.targets_table import target_values_sheet
from segarena.users.habits.prompt_time import PromptTimeModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """Where the parts of a report are.

    Attributes:
        html: the page, complete in one file.
        csv: the summary; equal records give equal bytes.
        latex: the same for booktabs, with the paired differences; equal bytes likewise.
        timings: seconds, which differ from run to run.
        paired: differences to the first run; None with one run.
        targets: the statistic of the verdict for every target; None where nothing decides.
        further: the tables that the page of their benchmark has beside.
        of_people: a person's seconds, and what lies between the people of a crowd, where there is any of it.
        figures: the charts as SVG and PNG, if they were asked for.
        not_shown: a line for each dataset whose samples are not shown, because it is not trusted.
        notes: what must be known: that a run.json is not as it was written, that published figures cannot stand beside.
        page: what the files say, for `terminal_of`.
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
) -> ReportFiles:
    """Write the report of run folders into the folder `out`, which is made if need be.

    With several runs they stand side by side, and differences are to the first one.

    Args:
        runs: the run folders.
        out: where to write.
        thresholds: further ones for NoC and NoF.
        trust: whether plug-ins that the folders name and that are not part of segarena may be run, for pictures; see
            `segarena.records.trust`.
        figures: folder for each chart as SVG and PNG; None for none.
        shows_all: whether the page has pictures of every target, however large it gets.
        data: where the files of the runs' dataset are now, if they moved.
        beside: published tables by name, whose figures stand beside the runs' own where measure and protocol agree.
        pace: how quickly somebody is taken to prompt, for figures against a person's seconds; None: as published.

    Raises:
        UnknownPlugin: no published table has that name; the message says the near ones.
        MissingExtra: PNG files were asked for, and resvg-py is not installed.
        InvalidInput: `data` for runs that it does not fit, or a threshold that the runs cannot answer for.
        RunMissing: a folder holds no run.
        RunConflict: the runs followed different rules.
        StoreError: records are damaged, or `out` cannot be written.
    """
    tables = list(map(find_table, dict.fromkeys(beside)))
    read = read_runs(runs, thresholds=thresholds, trust=trust, data=data)
    folder = _made(out)
    with restrict_plugins(trust=trust):
        own = page_of(read)
        own.pace = pace or own.pace
        found = [compare_with_published(own, table) for table in tables]
        own.beside = [one.sheet for one in found if one.sheet is not None]
        further = {**own.files(), **_beside_files(own.beside)}
        of_people = {f"{sheet.name}.csv": sheet_csv(sheet) for sheet in _of_people(own)}
        sections = report_sections(own, shows_all=shows_all)
        texts = {
            "report.html": report_html(own, sections),
            "summary.csv": summary_csv([*own.whole_runs, *map(own.whole, own.floors)]),
            "summary.tex": summary_tex(own.whole_runs),
            "timings.csv": sheet_csv(timings_sheet(read)),
            **of_people,
            **(
                {"paired.csv": sheet_csv(differences_sheet(own.whole_runs))}
                if len(own.runs) > 1
                else {}
            ),
            **(
                {"targets.csv": sheet_csv(target_values_sheet(own.usual_runs, own.decides, {}))}
                if own.decides
                else {}
            ),
            **further,
        }
    for name, text in texts.items():
        write_whole(within(folder, name), text)
    write_manifest(folder, [folder / name for name in texts])
    drawn = _write_figures(sections, figures) if figures else ()
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
        notes=tuple(
            dict.fromkeys(chain(*(run.folder.notes for run in read), *(one.notes for one in found)))
        ),
        not_shown=tuple(
            dict.fromkeys(
                filter(
                    None, (trust_refusal("dataset", r.config.dataset, trust=trust) for r in read)
                )
            )
        ),
    )


def _of_people(own: Page) -> list[Sheet]:
    """Return what there is to say of people: their seconds, and what lies between those of a crowd."""
    return [
        sheet
        for sheet in (
            human_time_sheet(own.usual_runs, own.pace),
            person_variation_sheet(own.whole_runs),
        )
        if sheet.rows
    ]


def _beside_files(sheets: Sequence[Sheet]) -> dict[str, str]:
    """Return published figures beside the runs' own as texts by file name: a CSV for each table, one LaTeX file."""
    if not sheets:
        return {}
    if len(sheets) == 1:
        named = {"beside.csv": sheets[0]}
    else:
        named = {f"beside-{k}.csv": s for k, s in enumerate(sheets, 1)}
    return {
        **{name: sheet_csv(sheet) for name, sheet in named.items()},
        "beside.tex": "\n".join(map(sheet_tex, sheets)),
    }


def _made(path: str | Path) -> Path:
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be made a folder: {error.strerror}; choose another place"
        ) from error
    return folder


def _write_figures(sections: Sequence[Section], path: str | Path) -> tuple[Path, ...]:
    folder = _made(path)
    written: list[Path] = []
    for name, svg in chart_files(figures_in(sections)).items():
        picture = within(folder, name)
        write_whole(picture, svg)
        write_whole(picture.with_suffix(".png"), png_of(svg))
        written += [picture, picture.with_suffix(".png")]
    return tuple(written)
