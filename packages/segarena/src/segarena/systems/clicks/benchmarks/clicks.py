"""The click benchmark: number of clicks needed to reach a given IoU.

This is the standard protocol of interactive image segmentation, used by RITM and its successors and
as the baseline of RClicks. In each round the simulated user clicks once, at the point of the largest
error that is farthest from the error's edge. A dialogue has up to 20 rounds.
"""

from __future__ import annotations

from segarena.benchmark_rules import Statistic
from segarena.options import Protocol
from segarena.plugin_spec import PluginSpec
from segarena.registry import benchmark
from segarena.roles import Benchmark


@benchmark("clicks")
def click_benchmark(
    *,
    rounds: int = 20,
    stop_at_iou: float | None = None,
    protocol: Protocol = "careful",
) -> Benchmark:
    """Evaluate click by click: NoC, NoF, AuC, and the IoU after selected numbers of clicks.

    Args:
        rounds: the maximum number of clicks per dialogue.
        stop_at_iou: end a dialogue once its IoU reaches this value. Statistics at higher thresholds
            are then undefined, so by default dialogues continue to the last click.
        protocol: "careful" ends a dialogue when no error is left, and counts a target that reaches
            the threshold at the last click as solved. "published" reproduces the published tables:
            after a perfect mask the user keeps clicking (0, 0), and a target that needs the last
            click counts as failed.

    Source: RClicks, sections 3 and 4; `docs/benchmarks.md` lists every difference from the
    published code.
    """
    user_options: dict[str, str] = {}
    solved_at_last = "solved"
    if protocol == "published":
        user_options["when_solved"] = "published"
        solved_at_last = "failure"
    stop_at = None if stop_at_iou is None else ("iou", stop_at_iou)
    return Benchmark(
        name="clicks",
        users=(PluginSpec("centre", user_options),),
        metrics=(PluginSpec("iou"), PluginSpec("boundary_iou")),
        rounds=rounds,
        stop_at=stop_at,
        protocol=protocol,
        paper="Sofiiuk et al., Reviving Iterative Training with Mask Guidance, ICIP 2022; RClicks, NeurIPS 2024",
        options={"solved_at_last": solved_at_last},
        summary=_summary(rounds),
    )


def _summary(rounds: int) -> tuple[Statistic, ...]:
    iou_rounds = sorted({1, min(5, rounds), rounds})
    ious = [Statistic(name=f"IoU@{k}", kind="at_round", round=k) for k in iou_rounds]
    return (
        Statistic(
            name="NoC@85",
            kind="noc",
            threshold=0.85,
            higher_is_better=False,
        ),
        Statistic(
            name="NoC@90",
            kind="noc",
            threshold=0.90,
            higher_is_better=False,
        ),
        Statistic(
            name="NoF@90",
            kind="nof",
            threshold=0.90,
            higher_is_better=False,
        ),
        *ious,
        Statistic(name="AuC", kind="auc"),
        Statistic(
            name=f"BIoU@{rounds}",
            kind="at_round",
            metric="boundary_iou",
            round=rounds,
        ),
    )
