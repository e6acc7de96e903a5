"""Terminal tables of the published partitions and of correlations over classes."""

from __future__ import annotations

from collections.abc import Sequence

from segarena.reports.cells import Value
from segarena.reports.sheets import Sheet
from segarena.systems.oneshot.bias.class_negation import ColumnCorrelation
from segarena.systems.oneshot.list_analysis.partition_recovery import (
    ATTRIBUTE_NAMES,
    PUBLISHED_INFORMATION,
    PartitionRecovery,
)


def rule_sheet(found: PartitionRecovery) -> Sheet:
    """Return the agreement of simple rules with the published partition."""
    rules = (
        ("easy is supervised IoU >= 0.75", found.easy),
        ("salient is salience IoU >= 0.5", found.salient),
        ("both", found.both),
        (f"salient is salience IoU >= {found.best_threshold:.4f}, the best cut", found.best),
    )
    rows = tuple((rule, Value(mean=share, decimals=1, is_share=True)) for rule, share in rules)
    return Sheet(name="rules", caption="Published partition", head=("rule", "agrees, %"), rows=rows)


def partition_sheet(found: PartitionRecovery) -> Sheet:
    """Return mean one-shot IoU and simplicity of each partition in the published statistics."""
    rows = tuple(
        (name, Value(mean=mean), Value(mean=found.simplicity[name], decimals=2))
        for name, mean in found.partition_means.items()
    )
    head = ("partition", "mean one-shot IoU", "simplicity weight")
    return Sheet(name="partitions", caption="Partitions", head=head, rows=rows)


def information_sheet(found: PartitionRecovery) -> Sheet:
    """Return the mutual information of each attribute with success, the most informative first."""
    ranked = sorted(found.information.items(), key=lambda pair: -pair[1])
    rows = tuple(
        (
            ATTRIBUTE_NAMES[name],
            Value(mean=value, decimals=4),
            Value(mean=PUBLISHED_INFORMATION[name], decimals=4),
        )
        for name, value in ranked
    )
    return Sheet(
        name="information",
        caption="Information",
        head=("attribute", "here", "published"),
        rows=rows,
    )


def correlation_sheet(found: Sequence[ColumnCorrelation]) -> Sheet:
    """Return the correlations of columns of the table of classes."""
    rows = tuple(
        (
            f"{each.one} and {each.other}",
            each.given,
            Value(mean=each.pearson, decimals=2),
            Value(mean=each.spearman, decimals=2),
            each.classes,
        )
        for each in found
    )
    head = ("of", "given", "Pearson", "Spearman", "classes")
    return Sheet(name="correlations", caption="Correlations over classes", head=head, rows=rows)
