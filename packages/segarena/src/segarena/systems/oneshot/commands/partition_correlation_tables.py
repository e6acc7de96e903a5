"""Terminal tables of the published partitions and of correlations over classes."""

from __future__ import annotations

from collections.abc import Sequence

from segarena.reports.cells import Cell, Value
from segarena.reports.sheets import Sheet
from segarena.systems.oneshot.bias.class_negation import ColumnCorrelation
from segarena.systems.oneshot.list_analysis.partition_recovery import (
    ATTRIBUTE_NAMES,
    PUBLISHED_INFORMATION,
    PartitionRecovery,
)


def rule_sheet(found: PartitionRecovery) -> Sheet:
    """Return a table of how well simple rules agree with the published partitions."""
    rules = (
        ("easy is supervised IoU >= 0.75", found.easy),
        ("salient is salience IoU >= 0.5", found.salient),
        ("both", found.both),
        (f"salient is salience IoU >= {found.best_threshold:.4f}, the best cut", found.best),
    )
    rows = tuple((rule, Value(mean=share, decimals=1, is_share=True)) for rule, share in rules)
    return Sheet(
        name="rules",
        caption="Published partition",
        head=("rule", "agrees, %"),
        rows=rows,
    )


def partition_sheet(found: PartitionRecovery) -> Sheet:
    """Return a table of each partition's mean one-shot IoU and simplicity in the published statistics."""
    rows: list[tuple[Cell, ...]] = []
    for name, mean in found.partition_means.items():
        simplicity = Value(mean=found.simplicity[name], decimals=2)
        rows.append((name, Value(mean=mean), simplicity))
    head = ("partition", "mean one-shot IoU", "simplicity weight")
    return Sheet(
        name="partitions",
        caption="Partitions",
        head=head,
        rows=tuple(rows),
    )


def information_sheet(found: PartitionRecovery) -> Sheet:
    """Return a table of the mutual information between each attribute and success, highest first."""
    ranked = sorted(found.information.items(), key=lambda pair: -pair[1])
    rows: list[tuple[Cell, ...]] = []
    for name, value in ranked:
        # Four decimals, as the paper prints them.
        measured = Value(mean=value, decimals=4)
        printed = Value(mean=PUBLISHED_INFORMATION[name], decimals=4)
        rows.append((ATTRIBUTE_NAMES[name], measured, printed))
    return Sheet(
        name="information",
        caption="Information",
        head=("attribute", "here", "published"),
        rows=tuple(rows),
    )


def correlation_sheet(found: Sequence[ColumnCorrelation]) -> Sheet:
    """Return a table of the correlations between columns of the table of classes."""
    rows: list[tuple[Cell, ...]] = []
    for each in found:
        columns = f"{each.one} and {each.other}"
        pearson = Value(mean=each.pearson, decimals=2)
        spearman = Value(mean=each.spearman, decimals=2)
        rows.append((columns, each.given, pearson, spearman, each.classes))
    head = ("of", "given", "Pearson", "Spearman", "classes")
    caption = "Correlations over classes"
    return Sheet(
        name="correlations",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )
