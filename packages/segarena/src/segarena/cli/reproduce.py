"""`segarena reproduce`: reproduction of a published table."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from segarena.engine.forecast import forecast
from segarena.errors import InvalidInput, SegarenaError
from segarena.published import find_table
from segarena.published.table_types import Measurement, MeasurementRequest, PublishedTable
from segarena.reports.wording import count_text
from segarena.reproduction.comparison_tables import (
    dry_run_sheet,
    figure_comparison_sheet,
    requirements_sheet,
    unmeasured_figures,
    unmeasured_reasons,
)
from segarena.reproduction.dry_run import dry_run_jobs
from segarena.reproduction.local_files import LocalFiles
from segarena.reproduction.measurement import (
    FigureKey,
    add_means,
    evaluate_arguments,
    has_all_samples,
    is_finished,
    read_measurements,
    run_job,
)
from segarena.reproduction.requirements import (
    ReproductionJob,
    Requirement,
    dataset_requirements,
    input_requirements,
    plan_jobs,
    select_names,
)
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.progress import ProgressBar, duration_text
from segarena.terminal.sheet_output import show_sheet
from segarena.terminal.worker_options import Workers, with_worker_options


@with_worker_options
def reproduce(
    table: Annotated[
        str,
        typer.Argument(help="Name from `segarena list tables`, or your own file."),
    ],
    models: Annotated[
        list[str] | None,
        typer.Option("--models", "-m", help="Only this model of the table; repeat for several."),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            "--datasets", "-d", help="Only this dataset of the table; repeat for several."
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder that contains the datasets.")] = None,
    weights: Annotated[Path | None, typer.Option(help="Folder that contains the weights.")] = None,
    adapters: Annotated[
        Path, typer.Option(help="Folder of adapters for models with their own environment.")
    ] = Path("adapters"),
    adapter_option: Annotated[
        list[str] | None,
        typer.Option(
            "--adapter-option",
            help="Option for all adapters as NAME=VALUE, such as device=cuda:0; repeat for several.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder of the runs and the comparison. [default: runs/TABLE]"
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N samples of each dataset.")
    ] = None,
    workers: Workers = 0,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Test the pipeline with small substitutes for models and data."
        ),
    ] = False,
) -> None:
    """Reproduce a published table: list its requirements, run what is possible, compare.

    You can stop it at any time; repeat the command to resume. It lists missing files with their
    sources.

        segarena reproduce amodal:3 --data DATA

        segarena reproduce rclicks:9 --dry-run

        segarena reproduce radioactive:3 --models SAM2 --datasets D1 --data DATA --weights WEIGHTS

    Exit code 0: all requested figures were measured; 1: some are missing or failed; 2: invalid request.
    """
    with one_line_errors("stopped; repeat the command to resume"):
        published = find_table(table)
        folder = out or Path("runs") / re.sub(r"\W+", "-", published.name)
        request = _Request(
            table=published,
            models=select_names("model", models or (), published.model_names),
            datasets=select_names("dataset", datasets or (), published.own_datasets),
            places=LocalFiles(
                data=_folder("--data", data),
                weights=_folder("--weights", weights),
                adapters=adapters,
                options=dict(map(_option, adapter_option or ())),
            ),
            out=folder / "dry-run" if dry_run else folder,
            limit=limit,
            workers=workers,
            is_dry=dry_run,
        )
        typer.echo(
            f"{published.name}: {published.title}\n{', '.join(filter(None, [published.paper, published.where]))}"
        )
        if published.absent:
            typer.secho(
                f"some figures of this table are missing here: {published.absent}", fg="yellow"
            )
        is_whole = request.measure() if published.measuring else request.run()
    if not is_whole:
        raise typer.Exit(FAILURES)


@dataclass(frozen=True, kw_only=True)
class _Request:
    """The requested part of a table, with settings; `measure` and `run` return whether the exit code is 0."""

    table: PublishedTable
    models: Sequence[str]
    datasets: Sequence[str]
    places: LocalFiles
    out: Path
    limit: int | None
    workers: Workers
    is_dry: bool

    def measure(self) -> bool:
        """Measure with the table's own function; return whether all figures were measured, and True in a dry run."""
        of_data = {
            name: dataset_requirements(self.table, name, self.places) for name in self.datasets
        }
        inputs = input_requirements(self.table, self.table.takes, self.places)
        self._show_requirements([need for needs in (*of_data.values(), inputs) for need in needs])
        folders = {
            name: Path(needs[0].place) for name, needs in of_data.items() if needs[0].is_present
        }
        if self.table.measuring is None or not (folders or self.is_dry):
            return self._report_nothing()
        with ProgressBar(
            self.table.name, Console(stderr=True), unit="images", workers=self.workers
        ) as bar:
            request = MeasurementRequest(
                folders={} if self.is_dry else folders,
                inputs={need.name: Path(need.place) for need in inputs if need.is_present},
                models=tuple(self.models),
                out=self.out,
                limit=self.limit,
                workers=self.workers,
                on_progress=bar.update,
            )
            found = self.table.measuring(request)
        shown = {key: value for key, value in found.items() if key[0] in self.models}
        self._show(shown, is_whole=self.limit is None)
        if self.is_dry:
            return True
        missing = unmeasured_figures(self.table, found, self.models, self.datasets)
        if missing:
            typer.secho(
                f"not measured: {count_text(len(missing), 'published figure')}", fg="yellow"
            )
        return not missing and len(folders) == len(self.datasets)

    def run(self) -> bool:
        """Run the benchmark of the table for each available model and dataset; return whether every run succeeded."""
        left_out = unmeasured_reasons(self.table)
        for line in left_out:
            typer.secho(f"not measured: {line}", fg="yellow")
        if len(left_out) == len(self.table.measures):
            return False
        jobs = plan_jobs(self.table, self.models, self.datasets, self.places)
        self._show_requirements([need for job in jobs for need in job.needs])
        has_chosen = len(self.models) < len(self.table.model_names)
        wanted = dry_run_jobs(self.table, jobs, own_models=has_chosen) if self.is_dry else jobs
        ready = [job for job in wanted if not job.lacks] if self.table.benchmark else []
        if not ready:
            return self._report_nothing()
        if not self.is_dry:
            self._show_costs(ready)
        found: dict[FigureKey, Measurement] = {}
        made: list[bool] = []
        for number, job in enumerate(ready, 1):
            path, values = self._run_one(job, f"{number} of {len(ready)}")
            found |= values
            made += [] if path is None else [has_all_samples(self.table, job, path)]
        self._show(add_means(self.table, found), is_whole=all(made))
        return len(made) == len(wanted)

    @property
    def _samples(self) -> int | None:
        """Limit on the samples of each dataset."""
        return self.table.stand_in.limit if self.is_dry and self.limit is None else self.limit

    def _run_one(
        self, job: ReproductionJob, position: str
    ) -> tuple[Path | None, Mapping[FigureKey, Measurement]]:
        """Run a job and return its folder and figures; if it fails, report the error and return no folder."""
        title = f"{position}: {job.model} on {job.dataset}"
        try:
            with ProgressBar(
                title, Console(stderr=True), rate="rounds", workers=self.workers
            ) as bar:
                path = run_job(
                    self.table,
                    job,
                    self.out,
                    limit=self._samples,
                    workers=self.workers,
                    on_progress=bar.update,
                )
            return path, read_measurements(self.table, job, path)
        except SegarenaError as error:
            typer.secho(f"{title}: {' '.join(str(error).split())}", fg="red", err=True)
            return None, {}

    def _show_requirements(self, needs: Sequence[Requirement]) -> None:
        show_sheet(
            requirements_sheet(
                self.table, sorted(dict.fromkeys(needs), key=lambda need: need.is_present)
            )
        )

    def _show_costs(self, jobs: Sequence[ReproductionJob]) -> None:
        """Print a cost forecast of the unfinished runs."""
        pending = [job for job in jobs if not is_finished(job, self.out)]
        typer.echo(f"{count_text(len(jobs), 'run')} possible, {len(jobs) - len(pending)} finished")
        hours = 0.0
        for job in pending:
            name = f"{job.model} on {job.dataset}"
            try:
                with Console(stderr=True).status(f"timing {name}"):
                    given: dict[str, Any] = {**evaluate_arguments(job), "limit": self._samples}
                    cost = forecast(self.table.benchmark, timed=1, workers=self.workers, **given)
            except SegarenaError as error:
                typer.secho(f"  {name}: no forecast; {error}", fg="yellow", err=True)
                continue
            hours += cost.hours
            passes = (
                f"{cost.encodes:,} encoder passes, at most {cost.predictions_at_most:,} predictions"
            )
            typer.echo(f"  {name}: {passes}, about {duration_text(3600 * cost.hours)}")
        if len(pending) > 1:
            typer.echo(f"together about {duration_text(3600 * hours)}")

    def _show(self, found: Mapping[FigureKey, Measurement], *, is_whole: bool) -> None:
        """Print measured values next to published ones, and write both as CSV."""
        is_dry = self.is_dry
        if is_dry:
            sheet = dry_run_sheet(self.table, found)
        else:
            sheet = figure_comparison_sheet(self.table, found, is_whole=is_whole)
        file = self.out / f"{sheet.name}.csv"
        show_sheet(sheet, file)
        for note in self.table.notes:
            typer.echo(note)
        typer.echo(f"as a table: {file}")

    def _report_nothing(self) -> bool:
        message = "nothing can be measured yet; --dry-run tests the pipeline with substitutes"
        if self.is_dry:
            message = "nothing can be run for this table"
        typer.secho(message, fg="yellow")
        return False


def _option(text: str) -> tuple[str, Any]:
    """Parse NAME=VALUE; a value that is not a Python literal stays text."""
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise InvalidInput(f"--adapter-option {text}: expected NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _folder(option: str, path: Path | None) -> Path | None:
    if path is not None and not path.expanduser().is_dir():
        raise InvalidInput(f"{option} {path}: expected a folder, found none")
    return path.expanduser() if path is not None else None
