"""Tables (sheets) of a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from segarena.reports.cells import Cell, CellMark, Column, Value, p_value_text
from segarena.reports.sheets import Sheet
from segarena_people.comparison.answer_features import COARSE_FEATURES, FEATURE_DEFINITIONS
from segarena_people.comparison.results import Estimate, FeatureResult, ScopeResult, UserResult
from segarena_people.comparison.segmenter_ranking import SegmenterRanking
from segarena_people.comparison.verdict_sentences import (
    feature_medians,
    feature_title,
    judge_user,
    short_number,
)
from segarena_people.measures.user_shift import BEHAVIOUR_MEASURES

NO_VALUE = Value(mean=math.nan)


def separation_sheet(scopes: Sequence[ScopeResult]) -> Sheet:
    """Tabulate the AUC of each user against people in each scope, next to the AUC between two people."""
    rows: list[tuple[Cell, ...]] = []
    for found in scopes:
        rows += _apart_rows(found)
    head = (
        "Answers",
        Column("Who", "text", key="who"),
        Column("AUC", "interval", definition=AUC_DEFINITION, higher_is_better=False),
        Column(
            "Coarse",
            "interval",
            key="coarse",
            definition=COARSE_DEFINITION,
            higher_is_better=False,
        ),
        Column("Beyond people", "interval", key="beyond", definition=BEYOND_DEFINITION),
        Column("n", "number", definition="number of answers per side"),
        Column(
            "Silent",
            "number",
            key="silent",
            definition="questions for which the user gave no prompt",
        ),
        Column("Verdict", "text", key="verdict"),
    )
    caption = (
        "Separability of simulated users from people, compared with that of people from each other."
    )
    notes = tuple(_note(scopes)) if rows else ()
    return Sheet(
        name="told-apart",
        caption=caption,
        head=head,
        rows=tuple(rows),
        notes=notes,
    )


AUC_DEFINITION = (
    "Given one answer by a person and one by the user, how often a classifier trained on other "
    "images picks the person's: 0.5 is "
    "guessing, 1 is always; if there are several people, the median over them"
)
COARSE_DEFINITION = (
    "the AUC with only the features that do not depend on the width of the drawing tool"
)
BEYOND_DEFINITION = (
    "AUC minus that between two people, or minus 0.5 if unknown; a user passes with at most 0.05"
)
_JUDGEMENT_MARKS: dict[str, CellMark] = {"passes": "better", "distinguishable": "worse"}


def _note(scopes: Sequence[ScopeResult]) -> list[str]:
    notes = [
        f"AUC: {AUC_DEFINITION}. A user passes if its AUC exceeds that between two people by at most 0.05."
    ]
    if any(found.scope.kind in COARSE_FEATURES for found in scopes):
        notes.append(f"Coarse: {COARSE_DEFINITION}.")
    if any(not found.pairs for found in scopes):
        notes.append(
            "If no two people answered often enough for the same images or patients, random halves of the answers are "
            "compared instead."
        )
    return notes


def _apart_rows(found: ScopeResult) -> list[tuple[Cell, ...]]:
    title = found.scope.title
    rows = list[tuple[Cell, ...]]()
    if found.pairs:
        n = min(one.n for one in found.pairs)
        values = [
            _range([one.auc for one in found.pairs]),
            _range([one.coarse for one in found.pairs]),
        ]
        who = f"people ({len(found.pairs)} pairs)" if len(found.pairs) > 1 else "two people"
        rows.append((title, who, *values, NO_VALUE, n, 0, ""))
    elif found.halves:
        values = [
            _range([one.auc for one in found.halves]),
            _range([one.coarse for one in found.halves]),
        ]
        rows.append((title, "random halves", *values, NO_VALUE, found.halves[0].n, 0, ""))
    for user in found.users:
        rows.append((title, user.user, *_apart_cells(user)))
    return rows


def _apart_cells(user: UserResult) -> tuple[Cell, ...]:
    silent = user.silent + user.refused
    if user.apart is None:
        reason = "too few answers" if user.answered else "no answers"
        return (NO_VALUE, NO_VALUE, NO_VALUE, 0, silent, reason)
    word = judge_user(user)
    mark: CellMark = _JUDGEMENT_MARKS.get(word, "unclear")
    if user.each:
        auc = _range([one.auc for one in user.each], mark)
        coarse = _range([one.coarse for one in user.each])
    else:
        together = user.together
        auc = _value(together.auc if together else None, mark)
        coarse = _value(together.coarse if together else None)
    above = user.beyond_people
    # Signed, because a user may also be closer to people than people are to each other.
    beyond = NO_VALUE if above is None else replace(_value(above), is_signed=True)
    return (auc, coarse, beyond, user.n, silent, word)


def _value(one: Estimate | None, mark: CellMark = "") -> Value:
    if one is None:
        return NO_VALUE
    return Value(
        mean=one.value,
        low=one.low,
        high=one.high,
        decimals=2,
        mark=mark,
    )


def _range(each: Sequence[Estimate | None], mark: CellMark = "") -> Value:
    """Return the median of the estimates that are not None, formatted with their range; no value without any."""
    values = sorted(one.value for one in each if one is not None)
    if not values:
        return NO_VALUE
    upper = len(values) // 2
    lower = (len(values) - 1) // 2
    middle = (values[lower] + values[upper]) / 2
    bounds = "" if len(values) == 1 else f"{values[0]:.2f} to {values[-1]:.2f}"
    return Value(
        mean=middle,
        low=values[0],
        high=values[-1],
        printed=f"{middle:.2f}",
        printed_bounds=bounds,
        mark=mark,
    )


def features_sheet(found: ScopeResult, user: UserResult) -> Sheet:
    """Tabulate all features of a user next to those of people, largest difference first."""
    definitions = FEATURE_DEFINITIONS[found.scope.kind]
    rows: list[tuple[Cell, ...]] = []
    for one in user.features:
        rows.append(
            (
                feature_title(one.name),
                Value(mean=one.people, decimals=2),
                Value(mean=one.user, decimals=2),
                Value(mean=one.above, decimals=2),
                Value(
                    mean=one.ks,
                    decimals=2,
                    mark="worse" if one.is_clear else "",
                ),
                Value(mean=max(0.0, one.lost), decimals=3),
                definitions[one.name],
            )
        )
    head = (
        "Feature",
        Column("People", "number", key="people", definition="median"),
        Column(user.user, "number", key="user", definition="median"),
        Column(
            "Greater",
            "number",
            key="greater",
            definition="how often the user's value is greater than the person's",
        ),
        Column(
            "KS",
            "number",
            definition="maximum difference between the two cumulative distributions; bold: significant at 1 %",
        ),
        Column(
            "Lost",
            "number",
            key="lost",
            definition="decrease of the classifier's AUC when the feature's values are permuted",
        ),
        Column("Definition", "words", key="what"),
    )
    caption = f"Features that distinguish {user.user} from people: {found.scope.title}."
    return Sheet(
        name=f"features-{slug(found.scope.title)}-{slug(user.user)}",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )


def top_features_sheet(scopes: Sequence[ScopeResult], most: int = 3) -> Sheet:
    """Tabulate up to `most` features in which each user clearly differs from people, with the medians of both."""
    rows: list[tuple[Cell, ...]] = []
    for found in scopes:
        for user in found.users:
            if user.features:
                clear = [feature for feature in user.features if feature.is_clear]
                differences = "; ".join(map(_why, clear[:most]))
                rows.append((found.scope.title, user.user, differences))
    head = ("Answers", "User", Column("Median of people → median of the user", "words", key="why"))
    return Sheet(
        name="why",
        caption="Features with the largest differences.",
        head=head,
        rows=tuple(rows),
    )


def _why(one: FeatureResult) -> str:
    people, user = feature_medians(one)
    return f"{feature_title(one.name)} {short_number(people)} → {short_number(user)}"


def tests_sheet(found: ScopeResult) -> Sheet:
    """Tabulate every user's two-sample tests, except for the classifier test."""
    rows: list[tuple[Cell, ...]] = []
    for user in found.users:
        for name, one in user.tests.items():
            rows.append(
                (
                    user.user,
                    name,
                    Value(mean=one.statistic, decimals=3),
                    p_value_text(one.p_value),
                    one.n,
                )
            )
    head = (
        "User",
        "Test",
        Column("Statistic", "number"),
        Column("p", "text"),
        Column("n", "number"),
    )
    caption = f"Other tests of whether both come from one distribution: {found.scope.title}."
    notes = (
        "p: share of random swaps of user and person within questions after which the answers "
        "differ at least as much; for KS from its "
        "formula. With many answers even small differences become significant; the AUC shows how large they are.",
    )
    return Sheet(
        name=f"tests-{slug(found.scope.title)}",
        caption=caption,
        head=head,
        rows=tuple(rows),
        notes=notes,
    )


def user_shift_sheet(found: ScopeResult) -> Sheet:
    """Tabulate the measures of user shift."""
    named = list(BEHAVIOUR_MEASURES)
    rows: list[tuple[Cell, ...]] = []
    for user in found.users:
        if user.shift:
            shifts = [_signed(user.shift.get(name)) for name in named]
            rows.append((user.user, *shifts))
    columns: list[Column] = []
    for name in named:
        columns.append(
            Column(f"Δ {name}", "interval", key=name, definition=BEHAVIOUR_MEASURES[name])
        )
    head = ("User", *columns)
    caption = f"User shift, user minus people: {found.scope.title}."
    notes = tuple(f"{name}: {definition}." for name, definition in BEHAVIOUR_MEASURES.items())
    return Sheet(
        name=f"shift-{slug(found.scope.title)}",
        caption=caption,
        head=head,
        rows=tuple(rows),
        notes=notes,
    )


def _signed(one: Estimate | None) -> Value:
    if one is None:
        return NO_VALUE
    return Value(
        mean=one.value,
        low=one.low,
        high=one.high,
        decimals=3,
        is_signed=True,
    )


def people_pairs_sheet(found: ScopeResult) -> Sheet:
    """Tabulate the AUC of each pair of people."""
    rows: list[tuple[Cell, ...]] = []
    for one in found.pairs:
        rows.append((one.first, one.second, _value(one.auc), _value(one.coarse), one.n))
    head = (
        "Person",
        "Other",
        Column("AUC", "interval"),
        Column("Coarse", "interval"),
        Column("n", "number"),
    )
    caption = (
        f"Separability of two people, on the questions that both answered: {found.scope.title}."
    )
    return Sheet(
        name=f"people-{slug(found.scope.title)}",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )


def slug(text: str) -> str:
    """Convert a text to a slug of at most 60 letters, digits and dashes."""
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
    return "-".join(words)[:60]


def segmenter_ranking_sheet(ranked: Sequence[SegmenterRanking]) -> Sheet:
    """Tabulate how each user's ranking of segmenters agrees with people's: Kendall's τ, winners and mean bias."""
    rows: list[tuple[Cell, ...]] = []
    for one in ranked:
        rows.append(
            (
                one.user,
                one.statistic,
                NO_VALUE if math.isnan(one.tau.value) else _value(one.tau),
                *one.winners,
                Value(mean=one.mean_bias, decimals=3, is_signed=True),
                one.dialogues,
            )
        )
    head = (
        "User",
        "Statistic",
        Column(
            "Kendall’s τ",
            "interval",
            key="tau",
            definition="1 means that people and the user rank all segmenters in the same order",
        ),
        Column("First with people", "text", key="first"),
        Column("First with the user", "text", key="first-simulated"),
        Column(
            "Mean bias",
            "number",
            key="bias",
            definition="user minus people, mean over segmenters",
        ),
        Column("Dialogues", "number", key="dialogues"),
    )
    caption = "Whether simulated users rank segmenters as people do."
    return Sheet(
        name="ranking",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )


def bias_sheet(ranked: Sequence[SegmenterRanking]) -> Sheet:
    """Tabulate the results of every segmenter with people and with each user."""
    rows: list[tuple[Cell, ...]] = []
    for one in ranked:
        for name, people, simulated, bias in zip(
            one.segmenters,
            one.people,
            one.simulated,
            one.bias,
            strict=True,
        ):
            rows.append(
                (one.user, one.statistic, name, _value(people), _value(simulated), _signed(bias))
            )
    head = (
        "User",
        "Statistic",
        "Segmenter",
        Column("With people", "interval", key="people"),
        Column("With the user", "interval", key="simulated"),
        Column(
            "Bias",
            "interval",
            key="bias",
            definition="user minus people, on the same dialogues",
        ),
    )
    caption = "Bias of the segmenters' results when a simulated user replaces people."
    return Sheet(
        name="bias",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )
