"""TOSS: benchmark of one-shot segmenters in three tiers: hard queries, misleading supports, new classes.

A dialogue has one round: the supports of a pair, and one prediction. Scores are computed from the
pixel counts in the records, so scoring by another variant needs no new run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from segarena.benchmark_rules import Statistic
from segarena.options import Protocol
from segarena.plugin_spec import PluginSpec
from segarena.registry import benchmark
from segarena.roles import Benchmark
from segarena.systems.oneshot.scoring.score_settings import (
    EmptyUnionRule,
    IouAggregate,
    LcaWeights,
    ScoreSettings,
    ScsVariant,
    VoidRule,
)

PROTOCOL_SETTINGS: dict[str, dict[str, Any]] = {
    "careful": {},
    "published": {"void": "script", "empty_union": "toss", "strict_published": True},
    "paper": {"variant": "paper"},
}
"""Settings of each protocol that differ from the defaults of `ScoreSettings`."""

RECORDED_SETTINGS = (
    "variant",
    "scs_weights",
    "aggregate",
    "void",
    "empty_union",
    "weights",
    "order",
    "strict_published",
)
"""Settings that a run records and that its reports read from the record."""


@benchmark("toss")
def toss(
    *,
    protocol: Protocol | Literal["paper"] = "careful",
    variant: ScsVariant | None = None,
    aggregate: IouAggregate | None = None,
    void: VoidRule | None = None,
    empty_union: EmptyUnionRule | None = None,
    weights: LcaWeights | None = None,
    scs_weights: Sequence[float] | None = None,
) -> Benchmark:
    """Evaluate one-shot segmenters by LCA, HCA, SCS and GS on the fixed pairs of a one-shot dataset.

    The summary shows the mean IoU over the pairs whose support shows the class. The scores are not
    means over pairs, so the report shows them in its first section; see `scoring/tier_scores.py`.
    The last six options choose conventions of these scores; None chooses the convention of the
    protocol.

    Args:
        protocol: "careful" for the defaults, "published" for the conventions of the scripts,
            "paper" for SCS by the paper's equation.
        variant: variant of SCS, "published" or "paper".
        aggregate: "accumulate" or "per_pair".
        void: "ignore", "background" or "script".
        empty_union: "clamp", "toss" or "pfenet".
        weights: weights of LCA: "published", "simplicity" or four numbers.
        scs_weights: weights of SCS: four numbers, or seven with the variant "paper"; None uses
            the weights of the variant.

    Raises:
        InvalidInput: the weights are neither a known word nor the right number of values.

    Source: TOSS, section 4; `docs/toss.md` lists the differences between the paper and its scripts.
    """
    settings = _settings(protocol, variant, aggregate, void, empty_union, weights, scs_weights)
    return Benchmark(
        name="toss",
        users=(PluginSpec("support"),),
        metrics=(PluginSpec("iou"), PluginSpec("void")),
        rounds=1,
        summary=(Statistic(name="IoU", kind="at_round", round=1),),
        dataset=PluginSpec("oneshot-demo"),
        protocol=protocol,
        paper="Patel et al., What Ails One-Shot Image Segmentation: A Data Perspective",
        options=_recorded_options(settings),
    )


def _settings(
    protocol: str,
    variant: Any,
    aggregate: Any,
    void: Any,
    empty_union: Any,
    weights: Any,
    scs_weights: Any,
) -> ScoreSettings:
    options = {
        "variant": variant,
        "aggregate": aggregate,
        "void": void,
        "empty_union": empty_union,
        "weights": _plain_weights(weights),
        "scs_weights": _plain_weights(scs_weights),
    }
    given = {name: value for name, value in options.items() if value is not None}
    return ScoreSettings(**{**PROTOCOL_SETTINGS[protocol], **given})


def _plain_weights(weights: Any) -> Any:
    """Convert a sequence of numbers to a tuple; return a word or None unchanged."""
    if weights is None or isinstance(weights, str):
        return weights
    return tuple(float(weight) for weight in weights)


def _recorded_options(settings: ScoreSettings) -> dict[str, Any]:
    """Return the settings that a run records, without those that are None."""
    recorded: dict[str, Any] = {}
    for name in RECORDED_SETTINGS:
        value = getattr(settings, name)
        if value is None:
            continue
        # JSON has no tuples, so the record holds weights as a list.
        recorded[name] = list(value) if isinstance(value, tuple) else value
    return recorded
