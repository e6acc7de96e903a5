"""What came out, in a sentence for each dataset: who is ahead by how much, or that nobody can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from segarena.reports.chart_series import run_column_names
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import SIGNIFICANCE_LEVEL, user_names
from segarena.reports.sheets import p_value_text
from segarena.reports.standings import Standing, best_user, by_data, standings
from segarena.reports.wording import bounds_text, count_text, metric_name, value_text
from segarena.roles import Statistic
from segarena.statistics.intervals import PairedDifference
from segarena.statistics.over_rounds import over_rounds

MAX_VERDICT_DATASETS = 3
"""Of more datasets a table says more than sentences."""

MIN_TESTABLE_SAMPLES = 6
"""With fewer samples the paired test can refuse nothing at 5 %."""


@dataclass(frozen=True, slots=True)
class UnitWords:
    """What a page calls a round, a target and a sample."""

    round: str
    target: str
    sample: str


def verdict_texts(runs: Sequence[Run], statistic: Statistic, words: UnitWords) -> list[str]:
    """Return a sentence for each dataset that has a value of the statistic that decides."""
    user = best_user(runs, statistic)
    groups = by_data(runs)
    columns = run_column_names(runs)
    texts: list[str] = []
    for data, group in list(groups.items())[:MAX_VERDICT_DATASETS]:
        found = standings(group, user, statistic)
        if found:
            where = [f"on {data}"] if len(groups) > 1 else []
            where += [f"with {user}"] if len(user_names(runs)) > 1 else []
            names = {run.label: columns[run] if len(groups) > 1 else run.label for run in group}
            told = _Verdict(statistic, words, user, names).text(found)
            said = ", ".join([" ".join(where), told] if where else [told])
            texts.append(said if not where else said[0].upper() + said[1:])
    return texts


class _Verdict:
    """Writes the sentence about runs on one dataset."""

    def __init__(
        self, statistic: Statistic, words: UnitWords, user: str, names: Mapping[str, str]
    ) -> None:
        self.statistic = statistic
        self.kind = over_rounds(statistic.kind)
        self.words = words
        self.user = user
        self.names = names

    def text(self, found: Sequence[Standing]) -> str:
        """Return the sentence; the best comes first."""
        best, *others = found
        if not others:
            samples = len({sample for _, sample, _ in best.run.targets(self.user)})
            return f"{self._level(best)} on {self._sample(best.mean.n, samples)}."
        second = others[0].run.label
        lead = best.leads[second]
        ahead = f"{self._ahead(best, second)} on {self._sample(lead.n, lead.clusters)} ({p_value_text(lead.p_value)}"
        if len(others) == 1:
            if lead.p_value <= SIGNIFICANCE_LEVEL:
                return f"{ahead})."
            return self._undecided(best, second, ahead, lead)
        unclear = [
            self.names[label]
            for label, p_value in best.adjusted.items()
            if p_value > SIGNIFICANCE_LEVEL
        ]
        if not unclear:
            every = "both others" if len(others) == 2 else f"all {len(others)} others"
            name = self.names[best.run.label]
            p_value = best.adjusted[second]
            return f"{name} is ahead of {every}: {ahead}; of all pairs {p_value_text(p_value)})."
        clear = len(others) - len(unclear)
        if clear:
            rest = f", and is ahead of {'the other' if clear == 1 else f'the other {clear}'}"
        else:
            rest = ""
        pairs = len(found) * len(others) // 2
        together = f"with all {pairs} pairs tested together it cannot be told apart from {_listed(unclear)}"
        return f"{self._level(best)}, the best mean; {together}{rest}."

    def _undecided(self, best: Standing, second: str, ahead: str, lead: PairedDifference) -> str:
        if lead.clusters < MIN_TESTABLE_SAMPLES:
            few = f"; fewer than six {self.words.sample}s never can tell"
        else:
            few = ""
        return f"{self.names[best.run.label]} and {self.names[second]} cannot be told apart: {ahead}{few})."

    def _level(self, standing: Standing) -> str:
        mean = standing.mean
        bounds = bounds_text(self.statistic, mean.low, mean.high)
        value = f"{value_text(self.statistic, mean.mean)} {bounds}".strip()
        return f"{self.names[standing.run.label]} {self._filled(self.kind.level, value=value)}"

    def _ahead(self, standing: Standing, other: str) -> str:
        lead = standing.leads[other]
        size = value_text(self.statistic, abs(lead.difference)).replace(" %", " pp")
        # The means may stand in another order than the targets of both.
        mine = self.names[standing.run.label]
        its = self.names[other]
        names = (mine, its) if lead.difference >= 0 else (its, mine)
        shown = lead if lead.difference >= 0 else lead.turned()
        bounds = bounds_text(self.statistic, shown.low, shown.high).replace("-", "−")
        return (
            f"{names[0]} {self._filled(self.kind.lead, size=size, other=names[1])} {bounds}".strip()
        )

    def _filled(self, sentence: str, **given: str) -> str:
        words = {"word": self.words.round, "metric": metric_name(self.statistic.metric)}
        return sentence.format(
            name=self.statistic.name, threshold=self.statistic.threshold, **words, **given
        )

    def _sample(self, targets: int, samples: int) -> str:
        return (
            f"{count_text(targets, self.words.target)} in {count_text(samples, self.words.sample)}"
        )


def _listed(names: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and 3 more"."""
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
