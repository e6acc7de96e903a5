"""The verdict: one sentence per dataset on which run leads and by how much, or that it is unclear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from segarena.benchmark_rules import Statistic
from segarena.reports.cells import p_value_text
from segarena.reports.chart_series import run_column_names
from segarena.reports.display_names import metric_name
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import SIGNIFICANCE_LEVEL, user_names
from segarena.reports.standings import Standing, best_user, by_data, standings
from segarena.reports.wording import bounds_text, count_text, value_text
from segarena.statistics.intervals import PairedDifference
from segarena.statistics.round_statistics import find_statistic

MAX_VERDICT_DATASETS = 3
"""For more datasets, a table is easier to read than sentences."""

MIN_TESTABLE_SAMPLES = 6
"""With fewer samples, the smallest p-value of the sign-flip test is above 5 %."""


@dataclass(frozen=True, slots=True)
class UnitWords:
    """The words of a page for a round, a target and a sample."""

    round: str
    target: str
    sample: str


def verdict_texts(runs: Sequence[Run], statistic: Statistic, words: UnitWords) -> list[str]:
    """Return one sentence for each dataset on which some run has a value of the statistic.

    A sentence names the dataset and the user if there are several.
    """
    user = best_user(runs, statistic)
    groups = by_data(runs)
    columns = run_column_names(runs)
    texts: list[str] = []
    for data, group in list(groups.items())[:MAX_VERDICT_DATASETS]:
        found = standings(group, user, statistic)
        if not found:
            continue
        conditions: list[str] = []
        names = {run.label: run.label for run in group}
        if len(groups) > 1:
            conditions.append(f"on {data}")
            names = {run.label: columns[run] for run in group}
        if len(user_names(runs)) > 1:
            conditions.append(f"with {user}")
        sentence = _Verdict(statistic, words, user, names).text(found)
        if conditions:
            condition = " ".join(conditions)
            sentence = f"{condition[0].upper()}{condition[1:]}, {sentence}"
        texts.append(sentence)
    return texts


class _Verdict:
    """Writer of the sentence about the runs on one dataset; `names` maps labels to printed names."""

    def __init__(
        self, statistic: Statistic, words: UnitWords, user: str, names: Mapping[str, str]
    ) -> None:
        self.statistic = statistic
        self.kind = find_statistic(statistic.kind)
        self.words = words
        self.user = user
        self.names = names

    def text(self, found: Sequence[Standing]) -> str:
        """Return the sentence for standings that are sorted from the best to the worst."""
        best, *others = found
        if not others:
            samples = len({sample for _, sample, _ in best.run.targets(self.user)})
            return f"{self._level(best)} on {self._size(best.mean.n, samples)}."
        second = others[0].run.label
        lead = best.leads[second]
        size = self._size(lead.n, lead.clusters)
        # The parenthesis stays open: callers append a second p-value or a remark.
        ahead = f"{self._lead(best, second)} on {size} ({p_value_text(lead.p_value)}"
        if len(others) == 1:
            if lead.p_value <= SIGNIFICANCE_LEVEL:
                return f"{ahead})."
            return self._undecided(best, second, ahead, lead)
        unclear: list[str] = []
        for label, p_value in best.adjusted.items():
            if p_value > SIGNIFICANCE_LEVEL:
                unclear.append(self.names[label])
        if not unclear:
            every = "both others" if len(others) == 2 else f"all {len(others)} others"
            name = self.names[best.run.label]
            adjusted = p_value_text(best.adjusted[second])
            return f"{name} is ahead of {every}: {ahead}; adjusted for all pairs {adjusted})."
        clear = len(others) - len(unclear)
        if clear == 0:
            rest = ""
        elif clear == 1:
            rest = ", but it is ahead of the other"
        else:
            rest = f", but it is ahead of the other {clear}"
        pairs = len(found) * len(others) // 2
        tested = f"with all {pairs} pairs tested together"
        return (
            f"{self._level(best)}, the best mean; {tested}, it does not differ significantly from "
            f"{_enumeration(unclear)}{rest}."
        )

    def _undecided(self, best: Standing, second: str, ahead: str, lead: PairedDifference) -> str:
        names = f"{self.names[best.run.label]} and {self.names[second]}"
        remark = ""
        # With fewer samples even equal signs everywhere have p > 0.05 in a sign-flip test.
        if lead.clusters < MIN_TESTABLE_SAMPLES:
            remark = (
                f"; fewer than six {self.words.sample}s are too few for any significant difference"
            )
        return f"{names} do not differ significantly: {ahead}{remark})."

    def _level(self, standing: Standing) -> str:
        mean = standing.mean
        bounds = bounds_text(self.statistic, mean.low, mean.high)
        value = f"{value_text(self.statistic, mean.mean)} {bounds}".strip()
        return f"{self.names[standing.run.label]} {self._filled(self.kind.level, value=value)}"

    def _lead(self, standing: Standing, other: str) -> str:
        lead = standing.leads[other]
        size = value_text(self.statistic, abs(lead.difference)).replace(" %", " pp")
        ahead = self.names[standing.run.label]
        behind = self.names[other]
        # On the targets of both runs, the order may differ from that of the means over all targets.
        if lead.difference < 0:
            lead = lead.turned()
            ahead, behind = behind, ahead
        bounds = bounds_text(self.statistic, lead.low, lead.high).replace("-", "−")
        comparison = self._filled(self.kind.lead, size=size, other=behind)
        return f"{ahead} {comparison} {bounds}".strip()

    def _filled(self, template: str, **values: str) -> str:
        return template.format(
            name=self.statistic.name,
            threshold=self.statistic.threshold,
            word=self.words.round,
            metric=metric_name(self.statistic.metric),
            **values,
        )

    def _size(self, targets: int, samples: int) -> str:
        target_count = count_text(targets, self.words.target)
        return f"{target_count} in {count_text(samples, self.words.sample)}"


def _enumeration(names: Sequence[str]) -> str:
    """Return names as "a", "a and b" or "a, b, c and 3 more"."""
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} more"]
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
