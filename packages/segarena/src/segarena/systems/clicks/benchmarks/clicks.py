"""The click benchmark: number of clicks until the mask is good enough.

The field's standard protocol for interactive segmentation of images (RITM and its descendants; the
baseline of RClicks): one click a round, up to 20, by a user that clicks the middle of the largest
error.
"""

from __future__ import annotations

from segarena.benchmark_rules import Statistic
from segarena.options import Protocol
from segarena.plugin_spec import PluginSpec
from segarena.registry import benchmark
from segarena.roles import Benchmark


@benchmark("clicks")
def click_benchmark(
    *, rounds: int = 20, stop_at_iou: float | None = None, protocol: Protocol = "careful"
) -> Benchmark:
    """Evaluate click by click: NoC, NoF, AuC and IoU after chosen clicks.

    Args:
        rounds: the maximum number of clicks per dialogue.
        stop_at_iou: end a dialogue once its IoU is this high; statistics at higher thresholds are
            then not defined, so the default goes on to the last click.
        protocol: "careful": a dialogue ends when no error is left, and a target solved exactly at
            the last click is solved. "published": the user goes on clicking (0, 0) after
            perfection, and a target that needs the last click counts as failed, as in the published
            tables.

    Source: RClicks, sections 3 and 4; `docs/benchmarks.md` names every difference to the published
    code.
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
        Statistic(name="NoC@85", kind="noc", threshold=0.85, higher_is_better=False),
        Statistic(name="NoC@90", kind="noc", threshold=0.90, higher_is_better=False),
        Statistic(name="NoF@90", kind="nof", threshold=0.90, higher_is_better=False),
        *ious,
        Statistic(name="AuC", kind="auc"),
        Statistic(name=f"BIoU@{rounds}", kind="at_round", metric="boundary_iou", round=rounds),
    )
