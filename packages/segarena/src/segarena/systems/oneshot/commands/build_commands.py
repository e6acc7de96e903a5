"""`segarena toss build` and `judge`: build tiers from images and evaluate segmenters on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from segarena.errors import DatasetMissing, InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.files.text_files import read_text
from segarena.plugin_spec import PluginSpec
from segarena.registry import build as build_plugin
from segarena.registry import plugins_by_name
from segarena.reports import write_report
from segarena.reports.cells import Cell
from segarena.reports.sheets import Sheet
from segarena.systems.oneshot.commands.fold_options import FoldsOption, read_folds
from segarena.systems.oneshot.datasets.folder import folder_source
from segarena.systems.oneshot.pairs.image_sources import ImageSource
from segarena.systems.oneshot.pairs.pair_dataset import PairDataset
from segarena.systems.oneshot.tier_building.build_tiers import TierBuild, build_tiers
from segarena.systems.oneshot.tier_building.generalization_tier import read_name_list
from segarena.systems.oneshot.tier_building.pair_sampling import PairQuotas
from segarena.systems.oneshot.tier_building.score_availability import impossible_scores
from segarena.systems.oneshot.tier_building.tier_build_options import BuildPlan
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.help_format import RARE
from segarena.terminal.progress import ProgressBar
from segarena.terminal.run_display import run_and_show
from segarena.terminal.sheet_output import show_sheet
from segarena.terminal.worker_options import ShareOption, with_worker_options
from segarena.work.jobs import Workers

IMAGES_HELP = "Folder with images/ and masks/CLASS/, or a one-shot dataset: pascal5i(path='DIR')."
SaliencyOption = Annotated[
    str,
    typer.Option(
        help="Saliency: boundary-contrast, spectral-residual, a folder of maps, or file.py:function."
    ),
]

DATASET_FILE = "dataset.txt"
_SHOWN = 5


@with_worker_options
def build(
    images: Annotated[str, typer.Argument(help=IMAGES_HELP)],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Output folder; finished stages in it are reused.")
    ] = Path("tiers"),
    folds: FoldsOption = "",
    saliency: SaliencyOption = "boundary-contrast",
    difficulty: Annotated[
        str,
        typer.Option(
            help="IoU of a reference: CSV (class, image, iou), folder of predicted masks, or a segmenter."
        ),
    ] = "superpixel-prototypes",
    easy_from: Annotated[
        str,
        typer.Option(
            help="Minimum IoU of the reference on an easy item: 0 to 1, median, or auto (0.75 for a CSV or a folder "
            "of masks, the median for a segmenter).",
            rich_help_panel=RARE,
        ),
    ] = "auto",
    salient_from: Annotated[
        str,
        typer.Option(
            help="Minimum salience of a salient item: 0 to 1, or median.",
            rich_help_panel=RARE,
        ),
    ] = "0.5",
    looks: Annotated[
        str,
        typer.Option(
            help="Appearance measure: colour-texture, or file.py:function.",
            rich_help_panel=RARE,
        ),
    ] = "colour-texture",
    similar_per: Annotated[
        str,
        typer.Option(
            help="Group whose mean similarity separates L2 from L3: fold or class.",
            rich_help_panel=RARE,
        ),
    ] = "fold",
    min_area: Annotated[
        int,
        typer.Option(
            min=0,
            help="Minimum area of a target, in pixels.",
            rich_help_panel=RARE,
        ),
    ] = 0,
    per_partition: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of pairs for each class and partition.",
            rich_help_panel=RARE,
        ),
    ] = 100,
    per_level: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of pairs for each class and level.",
            rich_help_panel=RARE,
        ),
    ] = 20,
    training: Annotated[
        Path | None,
        typer.Option(
            help="File of the classes that models have seen, one per line; adds the Generalization tier."
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="Classes that the Generalization tier always contains: an edited keep.txt.",
            rich_help_panel=RARE,
        ),
    ] = None,
    drop: Annotated[
        Path | None,
        typer.Option(
            help="Classes that the Generalization tier never contains: an edited drop.txt.",
            rich_help_panel=RARE,
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the dataset. [default: name of the folder]")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of all draws.")] = 0,
    workers: Workers = 0,
    share: ShareOption = False,
) -> None:
    """Build tiers from images and masks, without model weights or downloads.

    A mask `masks/CLASS/NAME.png` contains all objects of the class in `images/NAME.jpg`. Two
    commands lead to a report:

        segarena toss build photos --out tiers

        segarena toss judge tiers --segmenter superpixel-prototypes

    With a supervised network's IoU and a folder of saliency maps, as published:

        segarena toss build "pascal5i(path='DIR')" --folds pascal --difficulty deeplab.csv --saliency DIR/u2net

    The command starts by naming the scores (LCA, HCA, SCS, GS) that the images cannot support, and
    ends with the scores that the tiers support. An interrupted call resumes. Exit code 0: built
    (manifest.json lists cells with too few pairs); 1: built, but some images could not be used; 2:
    nothing can be built.
    """
    with one_line_errors("stopped; run the same command again to continue"):
        source, called, dataset = _open_images(images, out)
        classes_by_fold = read_folds(folds, {label for label, _ in source.items()})
        words: dict[str, Any] = {
            "similar_per": similar_per,
            "easy_from": easy_from,
            "salient_from": salient_from,
        }
        lists = {"training": training, "keep": keep, "drop": drop}
        classes: dict[str, Any] = {
            name: tuple(read_name_list(file)) for name, file in lists.items() if file is not None
        }
        plan = BuildPlan(
            name=name or called,
            folds=classes_by_fold,
            saliency=saliency,
            difficulty=difficulty,
            looks=looks,
            **{option: _number(text) for option, text in words.items()},
            **classes,
            min_area_px=min_area,
            quotas=PairQuotas(partition=per_partition, level=per_level),
            seed=seed,
        )
        _say_scores("these images do not support", impossible_scores(source.items(), plan))
        with ProgressBar("measure", Console(stderr=True), unit="images", workers=workers) as bar:
            built = build_tiers(
                source, out, plan, workers=workers, share=share, on_progress=bar.update
            )
        write_atomic(out / DATASET_FILE, f"{dataset}\n")
        _show(built, out, str(dataset))
    if built.manifest["left_out"]:
        raise typer.Exit(FAILURES)


@with_worker_options
def judge(
    tiers: Annotated[Path, typer.Argument(help="Output folder of `segarena toss build`.")],
    segmenter: Annotated[
        list[str],
        typer.Option(
            "--segmenter", "-s", help="Segmenter as for `segarena run`; repeat to compare several."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for runs and report. [default: TIERS/runs]"),
    ] = None,
    workers: Workers = 1,
) -> None:
    """Evaluate segmenters on built tiers and write one report.

        segarena toss judge tiers -s superpixel-prototypes -s saliency-only -s copy-support-mask

    This is the same as `segarena run toss` with the dataset in TIERS/dataset.txt, followed by
    `segarena report`.
    """
    import re

    with one_line_errors("stopped; run the same command again to continue"):
        if not (tiers / DATASET_FILE).is_file():
            raise DatasetMissing(
                f"{tiers}: expected {DATASET_FILE}, which 'segarena toss build' writes; found none"
            )
        dataset = read_text(tiers / DATASET_FILE, "the dataset of the tiers").strip()
        folder = out or tiers / "runs"
        runs: dict[str, Path] = {}
        for written in dict.fromkeys(segmenter):
            # Options of a segmenter may contain characters that are invalid in file names.
            folder_name = re.sub(r"[^\w.-]+", "-", written).strip("-") or "run"
            run = folder / folder_name
            number = 2
            while run in runs.values():
                run = folder / f"{folder_name}-{number}"
                number += 1
            runs[written] = run
        failures = 0
        for written, run in runs.items():
            failures += run_and_show(
                "toss",
                segmenter=written,
                dataset=dataset,
                workers=workers,
                out=run,
            )
        # This command made the runs itself, so the report may rebuild the plug-ins that they name.
        files = write_report(list(runs.values()), folder / "report", trust=True)
        typer.echo(f"report: {files.html}")
    if failures:
        raise typer.Exit(FAILURES)


def _open_images(images: str, out: Path) -> tuple[ImageSource, str, PluginSpec]:
    """Return the images and masks, the dataset's name, and its plug-in specification with the new pairs."""
    pairs = (out / "pairs.parquet").resolve().as_posix()
    source = open_image_source(images)
    folder = Path(images).expanduser()
    if folder.is_dir():
        path = folder.resolve()
        spec = PluginSpec("oneshot-folder", {"path": path.as_posix(), "pairs": pairs})
        return source, path.name, spec
    spec = PluginSpec.parse(images)
    options = {**spec.options, "pairs": pairs}
    return source, spec.reference, replace(spec, options=options)


def open_image_source(images: str) -> ImageSource:
    """Open a folder of images and masks (as `oneshot-folder` does) or a one-shot dataset.

    Raises:
        InvalidInput: the text names neither a folder nor a one-shot dataset.
        DatasetMissing: the folder lacks images or masks.
    """
    folder = Path(images).expanduser()
    if folder.is_dir():
        return folder_source(folder)
    spec = PluginSpec.parse(images)
    if not spec.options and spec.reference not in plugins_by_name("dataset"):
        raise InvalidInput(
            f"{images}: expected an existing folder, or a one-shot dataset such as pascal5i(path='DIR')"
        )
    return build_pair_dataset(spec).source


def build_pair_dataset(written: str | PluginSpec) -> PairDataset:
    """Build a one-shot dataset from its plug-in specification; raise `InvalidInput` for any other dataset."""
    found = build_plugin("dataset", written)
    if not isinstance(found, PairDataset):
        raise InvalidInput(
            f"dataset {written}: expected a one-shot dataset, such as pascal5i or oneshot-folder"
        )
    return found


def _say_scores(how: str, scores: Mapping[str, str]) -> None:
    for name, why in scores.items():
        typer.secho(f"{how}: {name}: {why}", fg="yellow")


def _number(text: str) -> Any:
    """Parse a number; return other text unchanged, because the plan validates words."""
    try:
        return float(text)
    except ValueError:
        return text


def _show(
    built: TierBuild,
    out: Path,
    dataset: str,
) -> None:
    manifest = built.manifest
    rows: list[tuple[Cell, ...]] = []
    for row in manifest["counts"]:
        fold = "" if row["fold"] is None else row["fold"]
        cell = row["partition"] or row["level"] or ""
        rows.append((row["tier"], fold, cell, row["pairs"], row["queries"], row["classes"]))
    caption = f"{built.pairs.height} pairs of {built.items.height} items"
    head = ("tier", "fold", "cell", "pairs", "query images", "classes")
    show_sheet(
        Sheet(
            name="built",
            caption=caption,
            head=head,
            rows=tuple(rows),
        )
    )
    thresholds = manifest["thresholds"]
    typer.echo(
        f"easy from {thresholds['easy_from']:.3f} ({manifest['plan']['difficulty']}), "
        f"salient from {thresholds['salient_from']:.3f} ({manifest['plan']['saliency']})"
    )
    if manifest["shortfalls"]:
        typer.echo(
            f"cells with fewer pairs than requested: {len(manifest['shortfalls'])}; manifest.json lists them"
        )
    for item, why in list(manifest["left_out"].items())[:_SHOWN]:
        typer.secho(f"left out: {item}: {why}", fg="yellow", err=True)
    if manifest["left_out"]:
        typer.secho(
            f"items that could not be used: {len(manifest['left_out'])}", fg="yellow", err=True
        )
    missing = manifest["missing_scores"]
    typer.echo(
        f"scores: {', '.join(name for name in ('LCA and HCA', 'SCS', 'GS') if name not in missing) or 'none'}"
    )
    _say_scores("not available", missing)
    typer.echo(
        f"evaluate segmenters on these tiers: segarena toss judge {out} --segmenter superpixel-prototypes"
    )
    typer.echo(f'or:               segarena run toss --dataset "{dataset}" --segmenter NAME')
