"""`segarena toss spurious`, `bias`, `cnb` and `sgtss`: biases of a method and of its training data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segarena.engine.run_folder import RunFolder
from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.reports.sheets import frame_sheet
from segarena.systems.oneshot.bias.class_negation import (
    background_presence,
    leave_out_images,
    negation_correlations,
    negation_table,
    read_evidence,
)
from segarena.systems.oneshot.bias.spurious_supports import (
    SUPPORT_KINDS,
    salience_table,
    spurious_pairs,
    spurious_table,
)
from segarena.systems.oneshot.bias.training_selection import (
    measure_training_shares,
    select_training_images,
)
from segarena.systems.oneshot.commands.build_commands import (
    IMAGES_HELP,
    SaliencyOption,
    open_image_source,
)
from segarena.systems.oneshot.commands.fold_options import FoldsOption, read_folds
from segarena.systems.oneshot.commands.partition_correlation_tables import correlation_sheet
from segarena.systems.oneshot.pairs.pair_table import write_pairs
from segarena.systems.oneshot.pairs.toss_lists import read_pair_lists
from segarena.systems.oneshot.saliency import build_saliency
from segarena.systems.oneshot.scoring.pixel_counts import counts_from_records
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings
from segarena.systems.oneshot.tier_building.generalization_tier import read_name_list
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.progress import ProgressBar
from segarena.terminal.sheet_output import show_sheet
from segarena.terminal.worker_options import with_worker_options
from segarena.work.jobs import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl

TrainingImagesOption = Annotated[
    Path | None, typer.Option(help="File with the names of the training images, one per line.")
]


def spurious(
    lists: Annotated[
        list[Path],
        typer.Argument(
            help="Lists of pairs, published or your own, or folders of lists with published names."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Table to write: .parquet, .jsonl or .csv.")
    ] = Path("spurious.parquet"),
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="normal, other-class, null-mask, no-image or other-class-null-mask; may be repeated. [default: all]"
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of pairs per list; they are sampled with the seed."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed of the sampled pairs and supports.")
    ] = 0,
) -> None:
    """Write pairs with spurious supports, to test whether a method uses its supports (Table 2A).

    segarena toss spurious DIR/fixedsplits/pascal5i --limit 1000 --out spurious.parquet

    segarena run toss -s NAME -d "pascal5i(path='DIR', pairs='spurious.parquet')" --out runs/spurious

    segarena toss bias runs/spurious
    """
    import polars as pl

    with one_line_errors():
        pairs = read_pair_lists(lists)
        if limit is not None:
            parts = pairs.partition_by("list", maintain_order=True)
            drawn: list[pl.DataFrame] = []
            for part in parts:
                count = min(limit, part.height)
                drawn.append(part.sample(count, seed=seed, shuffle=False))
            pairs = pl.concat(drawn)
        made = spurious_pairs(pairs, kind or tuple(SUPPORT_KINDS), seed=seed)
        write_pairs(made, out)
        typer.echo(f"{made.height} pairs in {made['list'].n_unique()} lists: {out}")


def bias(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of `segarena run toss`.")],
    salient_from: Annotated[
        float, typer.Option(min=0, max=1, help="Minimum salience of a salient target.")
    ] = 0.5,
    repeats: Annotated[
        int, typer.Option(min=0, help="Bootstrap samples; 0 for no intervals.")
    ] = 1000,
) -> None:
    """Report the bias of runs: mIoU by kind of support (Table 2A) and by salience (Table 2B).

    segarena toss bias runs/superpixels runs/saliency-only
    """
    import polars as pl

    with one_line_errors():
        settings = ScoreSettings(repeats=repeats)
        left_out = 0
        found: dict[str, list[tuple[str, pl.DataFrame]]] = {"support": [], "salience": []}
        for run in runs:
            counted = counts_from_records(RunFolder.open(run).records())
            left_out += len(counted.left_out)
            is_kind = (
                pl.col("list")
                .str.extract(r"/([^/]+)$")
                .is_in(list(SUPPORT_KINDS))
                .fill_null(value=False)
            )
            is_plain = ~is_kind | pl.col("list").str.ends_with("/normal")
            plain = counted.counts.filter(
                is_plain, ~pl.col("cross_class"), pl.col("tier") != "support-cognizance"
            )
            if counted.counts.filter(is_kind).height:
                found["support"].append((run.name, spurious_table(counted.counts, settings)))
            if plain["salience"].count():
                found["salience"].append(
                    (run.name, salience_table(plain, settings, salient_from=salient_from))
                )
        if not any(found.values()):
            raise InvalidInput(
                "these runs contain no measure of bias: neither lists written by 'segarena toss spurious' nor salience"
            )
        typer.echo(f"mode: {settings.mode}")
        _show_groups(
            "mIoU against the requested class, by kind of support, percent", found["support"]
        )
        _show_groups(
            f"mIoU of targets with salience of at least {salient_from} and of all others, percent",
            found["salience"],
        )
    if left_out:
        typer.secho(
            f"{left_out} pairs or samples have no counts and are not in any table",
            fg="yellow",
            err=True,
        )
        raise typer.Exit(FAILURES)


def cnb(
    statistics: Annotated[
        Path,
        typer.Argument(
            help="The published test_stats.csv, or CSV with class, image, supervised, one_shot."
        ),
    ],
    folds: FoldsOption = "pascal",
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            help=f"All training data. {IMAGES_HELP} [default: the images in the table]",
        ),
    ] = None,
    train: TrainingImagesOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder for the table and the lists of images to leave out."
        ),
    ] = None,
) -> None:
    """Measure class negation: the drop in IoU of classes that were background in training.

        segarena toss cnb DIR/analysis/test_stats.csv --folds pascal --out cnb

    For each fold, the command counts the training images that show a class the fold tests. With
    --out, it also lists them in a file per fold, so that you can train again without them.
    """
    with one_line_errors():
        evidence = read_evidence(statistics)
        if dataset:
            items = list(open_image_source(dataset).items())
        else:
            items = list(evidence.select("class", "image").iter_rows())
        classes_by_fold = read_folds(folds, {label for label, _ in items})
        images = _names(train)
        table = negation_table(
            evidence, background_presence(items, _fold_of(classes_by_fold), images=images)
        )
        shares = ("supervised", "one_shot", "drop", "salience", "presence")
        show_sheet(frame_sheet("Classes, percent", table, shares=shares, decimals=1))
        show_sheet(correlation_sheet(negation_correlations(table)))
        lists: dict[int, list[str]] = {}
        for fold in range(len(classes_by_fold)):
            lists[fold] = leave_out_images(items, _fold_of(classes_by_fold), fold, images=images)
        for fold, names in lists.items():
            typer.echo(
                f"fold {fold}: training images with a class that this fold tests: {len(names)}"
            )
        if out is not None:
            write_atomic(out / "classes.csv", table.write_csv())
            for fold, names in lists.items():
                _write_names(out / f"leave_out_fold{fold}.txt", names)


@with_worker_options
def sgtss(
    images: Annotated[str, typer.Argument(help=IMAGES_HELP)],
    folds: FoldsOption = "pascal",
    saliency: SaliencyOption = "boundary-contrast",
    soft: Annotated[
        bool,
        typer.Option(
            "--soft", help="Weight pixels by the saliency map instead of thresholding it at 0.5."
        ),
    ] = False,
    train: TrainingImagesOption = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for tables and lists.")] = Path(
        "sgtss"
    ),
    workers: Workers = 0,
) -> None:
    """Select training images whose salient region belongs mostly to training classes (SGTSS).

        segarena toss sgtss "pascal5i(path='DIR')" --folds pascal --saliency DIR/u2net --out sgtss

    An image is dropped if the share of its salient region in training classes is below the median
    of its fold. An interrupted call resumes.
    """
    from rich.console import Console

    bar = ProgressBar("measure", Console(stderr=True), unit="images", workers=workers)
    with one_line_errors("stopped; run the same command again to continue"), bar:
        source = open_image_source(images)
        build_saliency(saliency)  # rejects an unknown saliency method before anything is measured
        classes_by_fold = read_folds(folds, {label for label, _ in source.items()})
        if not classes_by_fold:
            raise InvalidInput(
                "--folds: without folds, training leaves out no class, so there is nothing to select"
            )
        for fold in range(len(classes_by_fold)):
            shares = measure_training_shares(
                source,
                _fold_of(classes_by_fold),
                fold,
                saliency,
                out / "stages",
                images=_names(train),
                is_soft=soft,
                workers=workers,
                on_progress=bar.update,
            )
            table = select_training_images(shares)
            write_atomic(out / f"fold{fold}.csv", table.write_csv())
            _write_names(out / f"fold{fold}.txt", table.filter(table["kept"])["image"].to_list())
            empty = table["share"].null_count()
            typer.echo(
                f"fold {fold}: {int(table['kept'].sum())} of {table.height} training images are kept"
                + (f", {empty} of them without anything salient" if empty else "")
            )


def _fold_of(folds: Sequence[Sequence[str]]) -> Callable[[str], int | None]:
    """Return a function that maps a class to the fold that tests it, or to None if no fold does."""
    fold_by_class: dict[str, int] = {}
    for fold, labels in enumerate(folds):
        fold_by_class.update(dict.fromkeys(labels, fold))
    return fold_by_class.get


def _names(file: Path | None) -> list[str] | None:
    return None if file is None else read_name_list(file)


def _write_names(file: Path, names: Iterable[str]) -> None:
    write_atomic(file, "".join(f"{name}\n" for name in names))


def _show_groups(title: str, found: Sequence[tuple[str, pl.DataFrame]]) -> None:
    import polars as pl

    tables: list[pl.DataFrame] = []
    for run, table in found:
        tables.append(table.insert_column(0, pl.lit(run).alias("run")))
    if tables:
        whole = pl.concat(tables)
        show_sheet(frame_sheet(title, whole, shares=("miou", "low", "high"), decimals=1))
