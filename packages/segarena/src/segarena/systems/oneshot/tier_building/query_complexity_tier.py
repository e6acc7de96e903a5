"""First tier, Query Complexity: queries grouped by difficulty and salience, supports from all partitions."""

from __future__ import annotations

from segarena.systems.oneshot.pairs.pair_table import PARTITIONS
from segarena.systems.oneshot.tier_building.pair_sampling import (
    MeasuredItems,
    PairQuotas,
    PairRow,
    TierSample,
    sample_pairs,
)

TIER = "query-complexity"


def draw_query_complexity(
    items: MeasuredItems,
    quotas: PairQuotas,
    dataset: str,
) -> TierSample:
    """Return pairs with queries of each partition, and supports in equal shares from all non-empty partitions."""

    def is_allowed(query: PairRow, support: PairRow) -> bool:
        return quotas.allow_self or query is not support

    sample = TierSample()
    for label in items.classes:
        rng = items.rng(label, TIER)
        own = items.of_class[label]
        items_by_partition: dict[str, list[PairRow]] = {name: [] for name in PARTITIONS}
        for row in own:
            # Items without a difficulty have no partition.
            if row["partition"] in items_by_partition:
                items_by_partition[row["partition"]].append(row)
        support_groups = [group for group in items_by_partition.values() if group]
        for partition, queries in items_by_partition.items():
            rows: list[PairRow] = []
            for number, supports in enumerate(support_groups):
                # The offset staggers the rounding down, so that the shares add up to the quota.
                share = (quotas.partition + number) // len(support_groups)
                rows += sample_pairs(items, rng, queries, supports, share, is_allowed)
            cell = {"tier": TIER, "partition": partition, "dataset": dataset}
            rows = [{**cell, **row} for row in rows]
            sample.add_cell(rows, quotas.partition, tier=TIER, cell=partition, label=label)
    return sample
