"""The verdict: for each dataset, short sentences on the results of the runs, the leading run and its lead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from segarena.benchmark_rules import Statistic
from segarena.reports.cells import p_value_text
from segarena.reports.chart_series import run_column_names
from segarena.reports.display_names import metric_name
from segarena.reports.failures_and_final_quality import (
    best_elsewhere_text,
    companions_of_run,
    solved_text,
    threshold_text,
    worse_texts,
)
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import (
    SIGNIFICANCE_LEVEL,
    TargetKey,
    noc_counts,
    statistic_difference,
    target_values,
    user_names,
)
from segarena.reports.standings import Standing, best_user, by_data, standings
from segarena.reports.wording import (
    bounds_text,
    count_text,
    enumeration,
    name_with_words,
    rough_text,
    sentences_text,
    value_text,
    with_remark,
)
from segarena.statistics.intervals import PairedDifference
from segarena.statistics.round_statistics import find_statistic

MAX_VERDICT_DATASETS = 3
"""Maximum number of datasets with a text; for more, a table is easier to read."""

MIN_TESTABLE_SAMPLES = 6
"""With fewer samples, the smallest possible p-value of the sign-flip test is above 5 %."""

MAX_NAMED_GAPS = 3
"""Maximum number of runs that a sentence names after the best one; one more is named if it is the last."""


@dataclass(frozen=True, slots=True)
class UnitWords:
    """Words of a page for a round, a target and a sample, and descriptions of prompts by user name."""

    round: str
    target: str
    sample: str
    users: Mapping[str, str] = field(default_factory=dict[str, str])


def verdict_texts(
    runs: Sequence[Run],
    statistic: Statistic,
    words: UnitWords,
) -> list[str]:
    """Return a text for each of the first `MAX_VERDICT_DATASETS` datasets; those without a value are skipped.

    Its first sentence names the dataset if there are several, and the user if there are several.
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
            conditions.append(f"with {name_with_words(user, words.users)}")
        text = _Verdict(statistic, words, user, names).text(found)
        if conditions:
            condition = " ".join(conditions)
            text = f"{condition[0].upper()}{condition[1:]}, {text}"
        texts.append(text)
    return texts


class _Verdict:
    """Builds the text about the runs on one dataset; `names` maps labels to display names."""

    def __init__(
        self,
        statistic: Statistic,
        words: UnitWords,
        user: str,
        names: Mapping[str, str],
    ) -> None:
        self.statistic = statistic
        self.kind = find_statistic(statistic.kind)
        self.words = words
        self.user = user
        self.names = names

    def text(self, found: Sequence[Standing]) -> str:
        """Return the sentences for standings that are sorted from best to worst."""
        if len(found) == 1:
            return self._one(found[0])
        if self._is_unreached(found):
            return self._nobody(found)
        if len(found) == 2:
            return self._two(*found)
        return self._many(found)

    def _one(self, standing: Standing) -> str:
        samples = self._samples(standing)
        rough = ""
        if self._solved(standing.run) != 0:
            rough = rough_text(samples, self.words.sample, "the interval is")
        return sentences_text(with_remark(self._level(standing, samples), rough))

    def _nobody(self, found: Sequence[Standing]) -> str:
        """Return the sentences for runs that do not reach the threshold on any target."""
        best = found[0]
        names = [self.names[standing.run.label] for standing in found]
        subject = f"neither {names[0]} nor {names[1]}" if len(names) == 2 else "none of the runs"
        goal = threshold_text(self.statistic, metric_name(self.statistic.metric))
        limit = count_text(best.run.rounds, self.words.round)
        size = self._size(best.mean.n, self._samples(best))
        text = f"{subject[0].upper()}{subject[1:]} reaches {goal} within {limit} on any of {size}"
        return sentences_text(text, self._ends_highest(found))

    def _two(self, best: Standing, other: Standing) -> str:
        lead = best.leads[other.run.label]
        ahead = best
        behind = other
        # On the targets that both runs finished, the order may differ from the order by means over
        # all targets.
        if lead.difference < 0:
            lead = lead.turned()
            ahead = other
            behind = best
        # Use the same test as rankings and boards, in which every sample has equal weight.
        p_value = best.adjusted[other.run.label]
        comparison = self._filled(
            self.kind.lead, size=self._difference(lead), other=self.names[behind.run.label]
        )
        size = self._size(lead.n, lead.clusters)
        counted = self._counted([ahead, behind])
        text = f"{self.names[ahead.run.label]} {comparison}{counted} on {size}"
        by_sample, weights = self._p_texts(lead, p_value)
        verdict = ""
        other_differences = ""
        too_few = ""
        if p_value > SIGNIFICANCE_LEVEL:
            names = f"{self.names[best.run.label]} and {self.names[other.run.label]}"
            verdict = f"{names} do not differ significantly ({by_sample})"
            other_differences = self._other_differences(ahead.run, behind.run)
            # With fewer samples, a sign-flip test gives p > 0.05 even if all signs agree.
            if lead.clusters < MIN_TESTABLE_SAMPLES:
                too_few = f"Fewer than six {self.words.sample}s are too few for any significant difference"
        else:
            text = f"{text} ({by_sample})"
        if not math.isnan(lead.low):
            text = with_remark(
                text, rough_text(lead.clusters, self.words.sample, "the interval is")
            )
        unreached = ""
        if self._solved(behind.run) == 0:
            goal = threshold_text(self.statistic, metric_name(self.statistic.metric))
            unreached = f"{self.names[behind.run.label]} reaches {goal} on none of them"
        worse = self._worse(ahead.run, behind.run)
        contrast = ""
        if worse:
            contrast = f"However, {self.names[ahead.run.label]} {' and '.join(worse)}"
        return sentences_text(
            verdict, text, weights, too_few, unreached, contrast, other_differences
        )

    def _other_differences(self, run: Run, other: Run) -> str:
        """Name the statistics that differ significantly although the deciding one does not; "" if there are none."""
        names: list[str] = []
        p_values: list[float] = []
        for statistic in run.summary:
            if statistic == self.statistic:
                continue
            found = statistic_difference(run, other, self.user, statistic)
            if found.p_value <= SIGNIFICANCE_LEVEL:
                names.append(statistic.name)
                p_values.append(found.p_value)
        if not names:
            return ""
        p_text = p_value_text(max(p_values))
        if len(names) > 1:
            p_text = f"{p_text.replace('=', '≤')}, each tested alone"
        return f"{self.statistic.name} decides, but they differ in {enumeration(names, most=len(names))} ({p_text})"

    def _many(self, found: Sequence[Standing]) -> str:
        best, *others = found
        ahead_of: list[str] = []
        unclear: list[str] = []
        for standing in others:
            label = standing.run.label
            is_clear = best.adjusted[label] <= SIGNIFICANCE_LEVEL
            group = ahead_of if is_clear else unclear
            group.append(label)
        # n runs have n (n - 1) / 2 pairs.
        pairs = len(found) * len(others) // 2
        tested = f"With all {pairs} pairs tested together, it"
        clear = ""
        if ahead_of:
            clear = f"{tested} is ahead of {self._gaps(best, ahead_of)}"
            tested = "It"
        unclear_text = ""
        if unclear:
            unclear_text = (
                f"{tested} does not differ significantly from {self._gaps(best, unclear)}"
            )
        samples = self._samples(best)
        level = f"{self._level(best, samples)}, the best mean of {len(found)} runs"
        rough = rough_text(samples, self.words.sample, "the intervals are")
        return sentences_text(
            with_remark(level, rough), clear, unclear_text, self._best_elsewhere(found)
        )

    def _gaps(self, best: Standing, labels: Sequence[str]) -> str:
        """List runs with their distance to the best one and the adjusted p-value; further runs share a range."""
        texts: list[str] = []
        # A single remaining run is named too, because "1 more" would be no shorter.
        named = labels if len(labels) <= MAX_NAMED_GAPS + 1 else labels[:MAX_NAMED_GAPS]
        for label in named:
            gap = self._filled(self.kind.gap, size=self._difference(best.leads[label]))
            p_text = p_value_text(best.adjusted[label])
            texts.append(f"{self.names[label]} (by {gap}, {p_text})")
        rest = labels[len(named) :]
        if rest:
            differences = [best.leads[label].difference for label in rest]
            low = self._amount(min(differences))
            high = self._amount(max(differences))
            span = low if low == high else f"{low} to {high}"
            gap = self._filled(self.kind.gap, size=span)
            texts.append(f"{len(rest)} more (by {gap})")
        return enumeration(texts, most=len(texts))

    def _level(self, standing: Standing, samples: int) -> str:
        """Describe the result of a run; for a number of clicks, also on how many targets it reached the threshold."""
        name = self.names[standing.run.label]
        size = self._size(standing.mean.n, samples)
        if self.statistic.kind != "noc":
            # An area under the curve over n rounds has n - 1 steps.
            steps = str(max(1, standing.run.rounds - 1))
            level = self._filled(self.kind.level, value=self._value(standing), steps=steps)
            return f"{name} {level} on {size}"
        counts, unsolved = noc_counts(standing.run, self.user, self.statistic)
        solved = int(counts.sum())
        total = solved + unsolved
        goal = threshold_text(self.statistic, metric_name(self.statistic.metric))
        # Without repeats each target has one dialogue, so targets can be counted instead.
        if total == standing.mean.n:
            reached = solved_text(solved, total, self.words.target)
            where = f"on {reached} in {count_text(samples, self.words.sample)}"
        else:
            # Repeats of a dialogue may differ in whether they reach the threshold.
            where = f"in {solved_text(solved, total, 'dialogue')} about {size}"
        if not solved:
            limit = count_text(standing.run.rounds, self.words.round)
            return f"{name} reaches {goal} {where} within {limit}"
        value = f"{self._value(standing)} {self.words.round}s on average"
        return f"{name} reaches {goal} {where}, after {value}{self._counted([standing])}"

    def _value(self, standing: Standing) -> str:
        mean = standing.mean
        bounds = bounds_text(self.statistic, mean.low, mean.high)
        return f"{value_text(self.statistic, mean.mean)} {bounds}".strip()

    def _difference(self, lead: PairedDifference) -> str:
        """Format the size of a lead with its interval."""
        bounds = bounds_text(self.statistic, lead.low, lead.high).replace("-", "−")
        return f"{self._amount(lead.difference)} {bounds}".strip()

    def _amount(self, difference: float) -> str:
        # The difference of two percentages is in percentage points.
        text = value_text(self.statistic, abs(difference)).replace(" %", " pp")
        return f"−{text}" if difference < 0 else text

    def _p_texts(self, lead: PairedDifference, p_value: float) -> tuple[str, str]:
        """Format the p-value, and a sentence about the p-value per target; the sentence is "" if both are equal."""
        by_sample = p_value_text(p_value)
        by_target = p_value_text(lead.p_value)
        if by_target == by_sample:
            return by_sample, ""
        explanation = (
            f"The test gives each {self.words.sample} equal weight, as on boards; "
            f"with equal weight for each {self.words.target}, as in the interval, {by_target}"
        )
        return by_sample, explanation

    def _counted(self, found: Sequence[Standing]) -> str:
        """Explain how a NoC counts unsolved targets; empty if all are solved, or for other statistics."""
        if self.statistic.kind != "noc":
            return ""
        unsolved = 0
        for standing in found:
            unsolved += noc_counts(standing.run, self.user, self.statistic)[1]
        return f" (unsolved counted as {found[0].run.rounds})" if unsolved else ""

    def _solved(self, run: Run) -> int | None:
        """Return the number of dialogues that reached the threshold of a NoC; None for other statistics."""
        if self.statistic.kind != "noc":
            return None
        counts, _ = noc_counts(run, self.user, self.statistic)
        return int(counts.sum())

    def _is_unreached(self, found: Sequence[Standing]) -> bool:
        return all(self._solved(standing.run) == 0 for standing in found)

    def _worse(self, ahead: Run, behind: Run) -> list[str]:
        """Describe in which statistics the leading run is worse, on the targets that both runs finished."""
        companions = companions_of_run(ahead, self.statistic)
        values: list[float] = []
        others: list[float] = []
        for statistic in companions.all():
            mean, other = self._shared_means([ahead, behind], statistic)
            values.append(mean)
            others.append(other)
        return worse_texts(companions, values, others)

    def _best_elsewhere(self, found: Sequence[Standing]) -> str:
        runs = [standing.run for standing in found]
        companions = companions_of_run(runs[0], self.statistic)
        values = [self._shared_means(runs, statistic) for statistic in companions.all()]
        text = best_elsewhere_text(companions, [self.names[run.label] for run in runs], values)
        return f"However, {text}" if text else ""

    def _ends_highest(self, found: Sequence[Standing]) -> str:
        """Compare the final quality of the best four runs, none of which reaches the threshold."""
        runs = [standing.run for standing in found]
        final = companions_of_run(runs[0], self.statistic).final
        if final is None:
            return ""
        means = self._shared_means(runs, final)
        best_first = sorted(range(len(runs)), key=lambda index: -means[index])
        texts: list[str] = []
        for index in best_first[: MAX_NAMED_GAPS + 1]:
            texts.append(f"{value_text(final, means[index])} for {self.names[runs[index].label]}")
        return f"{final.name} is {enumeration(texts)}"

    def _shared_means(self, runs: Sequence[Run], statistic: Statistic) -> list[float]:
        """Return the mean of each run over the targets that all runs finished; NaN if there are none."""
        tables = [target_values(run, self.user, statistic) for run in runs]
        shared = set[TargetKey](tables[0]).intersection(*tables[1:])
        means: list[float] = []
        for table in tables:
            values = [table[key] for key in shared]
            means.append(math.fsum(values) / len(values) if values else math.nan)
        return means

    def _samples(self, standing: Standing) -> int:
        return len({sample for _, sample, _ in standing.run.targets(self.user)})

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
