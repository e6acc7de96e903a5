"""`segarena toss`: audit lists of pairs, compute scores, recover the published partitions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segarena.engine.run_folder import RunFolder
from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.reports.cells import Cell
from segarena.reports.sheets import Sheet, frame_sheet
from segarena.reports.wording import count_text
from segarena.systems.oneshot.commands import bias_commands, build_commands
from segarena.systems.oneshot.commands.build_commands import build_pair_dataset
from segarena.systems.oneshot.commands.partition_correlation_tables import (
    information_sheet,
    partition_sheet,
    rule_sheet,
)
from segarena.systems.oneshot.list_analysis.list_audit import audit_lists as audit_pairs
from segarena.systems.oneshot.list_analysis.list_audit import findings_table, list_count_table
from segarena.systems.oneshot.list_analysis.partition_recovery import (
    read_statistics,
    recover_partitions,
)
from segarena.systems.oneshot.pairs.pair_table import drop_cross_class
from segarena.systems.oneshot.pairs.toss_lists import read_class_list, read_pair_lists
from segarena.systems.oneshot.scoring.pixel_counts import (
    PixelCounts,
    counts_from_csv,
    counts_from_mask_folder,
    counts_from_records,
)
from segarena.systems.oneshot.scoring.run_scores import ScoreOverRuns, score_runs, score_table
from segarena.systems.oneshot.scoring.score_breakdown import class_table, level_table
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.sheet_output import show_sheet

if TYPE_CHECKING:
    import polars as pl


app = typer.Typer(
    help="One-shot segmentation in tiers (TOSS): lists, scores, tiers of your own.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

_SHARES = ("value", "low", "high", "spread", "miou", "iou")
_PAIRS_HELP = "Lists of pairs, published or your own, or folders of lists with published names."


_OTHER_COMMANDS = (
    build_commands.build,
    build_commands.judge,
    bias_commands.spurious,
    bias_commands.bias,
    bias_commands.cnb,
    bias_commands.sgtss,
)
for _command in _OTHER_COMMANDS:
    app.command()(_command)


@app.callback()
def _toss() -> None:
    """One-shot segmentation in tiers (TOSS): lists, scores, tiers of your own."""


@app.command("audit")
def audit(
    lists: Annotated[list[Path], typer.Argument(help=_PAIRS_HELP)],
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            help="Check that all files of this dataset exist; example: pascal5i(path='DIR').",
        ),
    ] = None,
    train_classes: Annotated[
        Path | None,
        typer.Option(help="File with the classes that a model was trained on, one per line."),
    ] = None,
    class_list: Annotated[
        Path | None,
        typer.Option(help="File with the classes that the lists should contain, one per line."),
    ] = None,
    tiny: Annotated[
        int,
        typer.Option(
            min=0,
            help="Report classes with at most this many distinct query images in a partition or level.",
        ),
    ] = 5,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Also write the findings to this file: .csv, or .json with counts."
        ),
    ] = None,
) -> None:
    """Audit lists of pairs: wrong classes, self pairs, duplicates, tiny cells and leaks.

        segarena toss audit toss/tiers toss/fixedsplits

        segarena toss audit my_pairs.csv --dataset "oneshot-folder(path='mine')" --out audit.json

    Exit code 0: all lists could be read; 1: files are missing; 2: a list could not be read.
    """
    with one_line_errors():
        _check_out(out)
        pairs = read_pair_lists(lists)
        of = build_pair_dataset(dataset) if dataset else None
        found = audit_pairs(
            pairs,
            tiny=tiny,
            train_classes=read_class_list(train_classes) if train_classes else (),
            class_list=read_class_list(class_list) if class_list else None,
            files=of and of.source,
            dataset=of.pairs["dataset"][0] if of else "",
        )
        counts = list_count_table(pairs)
        show_sheet(frame_sheet("Pairs", _terminal_columns(counts.drop("tier"))))
        rows: list[tuple[Cell, ...]] = []
        for finding in found:
            list_name = finding.list or "all"
            rows.append((finding.kind, list_name, finding.count, finding.message))
        head = ("kind", "list", "count", "what")
        caption = count_text(len(found), "finding")
        show_sheet(
            Sheet(
                name="findings",
                caption=caption,
                head=head,
                rows=tuple(rows),
            )
        )
        if out is not None:
            table = findings_table(found)
            _write(out, table, {"findings": table.to_dicts(), "counts": counts.to_dicts()})
    if any(finding.kind == "missing-files" for finding in found):
        raise typer.Exit(FAILURES)


@app.command("score")
def score(
    what: Annotated[
        list[Path],
        typer.Argument(help="Run folders, one folder of masks, or one CSV file of counts."),
    ],
    lists: Annotated[
        list[Path] | None, typer.Option("--pairs", help="For counts: " + _PAIRS_HELP)
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", "-d", help="For a folder of masks: the one-shot dataset with its pairs."
        ),
    ] = None,
    variant: Annotated[str, typer.Option(help="Variant of SCS: published or paper.")] = "published",
    scs_weights: Annotated[
        str | None,
        typer.Option(
            help="Weights of SCS: 4 numbers a,b,c,d, or 7 with --variant paper. [default: the variant's]"
        ),
    ] = None,
    weights: Annotated[
        str, typer.Option(help="Weights of LCA: published, simplicity, or 4 numbers a,b,c,d.")
    ] = "published",
    order: Annotated[
        str,
        typer.Option(help="Order of partitions in the 4 numbers of --weights: paper or script."),
    ] = "paper",
    aggregate: Annotated[
        str, typer.Option(help="How to aggregate IoU: accumulate or per_pair.")
    ] = "accumulate",
    void: Annotated[
        str,
        typer.Option(
            help="Void pixels: ignore, background, or script (part of every union, as in the TOSS scripts)."
        ),
    ] = "ignore",
    empty_union: Annotated[
        str, typer.Option(help="Rule for empty unions: clamp, toss or pfenet.")
    ] = "clamp",
    strict_published: Annotated[
        bool,
        typer.Option(
            "--strict-published",
            help="Count missing partitions, levels and folds as IoU 0, as published.",
        ),
    ] = False,
    drop_cross_class: Annotated[
        bool,
        typer.Option(
            "--drop-cross-class",
            help="Leave out pairs whose support shows another class by mistake.",
        ),
    ] = False,
    repeats: Annotated[
        int, typer.Option(min=0, help="Bootstrap samples; 0 for no intervals.")
    ] = 1000,
    classes: Annotated[
        bool, typer.Option("--classes", help="Also show every class in every partition or level.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Also write the scores to this file: .csv, or .json with all tables.",
        ),
    ] = None,
) -> None:
    """Compute LCA, HCA, SCS, GS, class mIoU and FB-IoU from counts; nothing is segmented again.

        segarena toss score runs/toss-superpixels

        segarena toss score masks --dataset "pascal5i(path='DIR', pairs='toss/tiers')"

        segarena toss score counts.csv --pairs toss/tiers/suppcog --variant published

    Several run folders are scored together. A list that several of them contain is scored per run
    and reported as mean and spread. A tier that lacks pairs gets a line with the reason instead of
    scores. Exit code 0: all pairs have counts; 1: some pairs have none; 2: nothing can be scored.
    """
    with one_line_errors():
        _check_out(out)
        # `ScoreSettings` validates the words, so the command passes them on unchecked.
        words: dict[str, Any] = {"aggregate": aggregate, "empty_union": empty_union, "void": void}
        words |= {"variant": variant, "weights": _numbers("--weights", weights), "order": order}
        words["scs_weights"] = (
            None if scs_weights is None else _numbers("--scs-weights", scs_weights)
        )
        settings = ScoreSettings(**words, strict_published=strict_published, repeats=repeats)
        counted = [_counts(path, lists, dataset) for path in what]
        left_out = _show_scores(counted, settings, classes=classes, drop=drop_cross_class, out=out)
    if left_out:
        raise typer.Exit(FAILURES)


@app.command("recover")
def recover(
    statistics: Annotated[Path, typer.Argument(help="The published statistics (test_stats.csv).")],
    tiers: Annotated[
        Path, typer.Option(help="Folder with the lists of the Query Complexity tier.")
    ],
    neighbours: Annotated[
        int, typer.Option(min=1, help="Number of neighbours in the mutual information estimate.")
    ] = 3,
) -> None:
    """Recover the rule of the published partitions, and rank attributes by mutual information.

    segarena toss recover toss/analysis/test_stats.csv --tiers toss/tiers/attribute
    """
    with one_line_errors():
        found = recover_partitions(
            read_statistics(statistics), read_pair_lists([tiers]), neighbours=neighbours
        )
        typer.echo(
            f"{found.found} of {found.queries} query targets (a class in an image) have statistics; {found.unused} of "
            f"{found.rows} rows of statistics are not in any list"
        )
        show_sheet(rule_sheet(found))
        typer.echo(
            f"threshold 0.5: {found.missed} salient images are below it, "
            f"{found.surplus} other images above it"
        )
        show_sheet(partition_sheet(found))
        ranking = "as published" if found.has_published_ranking else "NOT as published"
        typer.echo(f"mutual information with one-shot IoU > 0.5, in nats; ranked {ranking}")
        show_sheet(information_sheet(found))


def _numbers(option: str, text: str) -> Any:
    if "," not in text:
        return text
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise InvalidInput(f"{option} {text}: expected a word, or numbers a,b,c,d") from error


def _counts(
    path: Path,
    lists: list[Path] | None,
    dataset: str | None,
) -> PixelCounts:
    if path.is_file():
        if not lists:
            raise InvalidInput(f"{path}: counts need --pairs, the lists to which their rows refer")
        return counts_from_csv(path, read_pair_lists(lists))
    if dataset is not None:
        return counts_from_mask_folder(path, build_pair_dataset(dataset))
    return counts_from_records(RunFolder.open(path).records())


def _score_tiers(
    runs: list[pl.DataFrame],
    settings: ScoreSettings,
    pairs: pl.DataFrame,
) -> tuple[list[ScoreOverRuns], list[str]]:
    """Return the scores of all tiers, and for each tier without scores a line with the reason.

    Raises:
        InvalidInput: no tier can be scored.
    """
    import polars as pl

    tiers: list[str] = pairs["tier"].unique().sort().to_list()
    try:
        return score_runs(runs, settings, pairs)[0], []
    except InvalidInput:
        if len(tiers) < 2:
            raise
    scores: list[ScoreOverRuns] = []
    problems: list[str] = []
    for tier in tiers:
        is_of_tier = pl.col("tier") == tier
        of_tier = [run.filter(is_of_tier) for run in runs]
        counted = [run for run in of_tier if run.height]
        try:
            scores += score_runs(counted, settings, pairs.filter(is_of_tier))[0]
        except InvalidInput as error:
            problems.append(f"{tier}: {error}")
    if not scores:
        raise InvalidInput("; ".join(problems))
    return scores, problems


def _show_scores(
    counted: list[PixelCounts],
    settings: ScoreSettings,
    *,
    classes: bool,
    drop: bool,
    out: Path | None,
) -> dict[str, str]:
    import polars as pl

    runs = [one.counts for one in counted]
    runs = [drop_cross_class(run) for run in runs] if drop else runs
    pairs = pl.concat([one.pairs for one in counted]).unique()
    scores, problems = _score_tiers(runs, settings, pairs)
    together = pl.concat(runs)
    levels = level_table(together, settings)
    cells = class_table(together, settings)
    typer.echo(f"mode: {settings.mode}")
    table = score_table(scores)
    shown = {
        "Scores": table,
        "Partitions and levels": levels,
        **({"Classes": cells} if classes else {}),
    }
    for title, each in shown.items():
        show_sheet(frame_sheet(f"{title}, percent", _terminal_columns(each), shares=_SHARES))
    for problem in problems:
        typer.secho(problem, fg="yellow", err=True)
    left_out = {name: why for one in counted for name, why in one.left_out.items()}
    for name in list(left_out)[:5]:
        typer.secho(f"left out: {name}: {left_out[name]}", fg="yellow", err=True)
    if left_out:
        typer.secho(
            f"pairs or samples without counts are not in any score ({len(left_out)})",
            fg="yellow",
            err=True,
        )
    if out is not None:
        tables = {
            "scores": table.to_dicts(),
            "levels": levels.to_dicts(),
            "classes": cells.to_dicts(),
        }
        _write(
            out,
            table,
            {"mode": settings.mode, "settings": asdict(settings), **tables, "left_out": left_out},
        )
    return left_out


def _terminal_columns(table: pl.DataFrame) -> pl.DataFrame:
    """Merge partition and level into one column, and drop the dataset column if all rows have the same dataset."""
    import polars as pl

    if "level" in table.columns:
        # A tier has partitions or levels, never both.
        cell = pl.coalesce("partition", "level").fill_null("").alias("cell")
        cells = table.select(cell)["cell"]
        index = table.columns.index("partition")
        table = table.drop("partition", "level").insert_column(index, cells)
    table = table.rename({"queries": "query images", "targets": "query targets"}, strict=False)
    if table["dataset"].n_unique() == 1:
        table = table.drop("dataset")
    return table


def _check_out(out: Path | None) -> None:
    if out is not None and out.suffix not in (".csv", ".json"):
        raise InvalidInput(f"--out {out}: expected a name ending in .csv or .json")


def _write(
    out: Path,
    table: pl.DataFrame,
    everything: dict[str, Any],
) -> None:
    """Write the table as CSV, or all tables as JSON, depending on the file name's ending."""
    import json

    if out.suffix == ".csv":
        write_atomic(out, table.write_csv())
        return
    text = json.dumps(everything, indent=1, ensure_ascii=False)
    write_atomic(out, f"{text}\n")
