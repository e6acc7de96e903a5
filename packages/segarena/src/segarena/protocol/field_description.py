"""Description of a field of a phase, from which forms, command-line options, rules and docs are generated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

FormSection: TypeAlias = Literal["main", "details"]
"""Where a form shows a field: always, or in the section that opens on demand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDescription:
    """Texts and properties of a field, written once next to its type.

    The default and the bounds are those of the field itself.

    Attributes:
        label: label of the field on a form; also the topic of its rule unless `topic` is set.
        meaning: effect of the field, as a sentence without a full stop, for docs, options and forms.
        unset: the effect of an empty field, such as "no limit"; "" if the default states it.
        words: text on a form for each value of a field with a few values.
        option: name of the command-line option if it differs from the field; None for the field's own name.
        in_options: whether `segarena challenge new` has an option for it.
        in_forms: whether the organiser's page shows it.
        section: section of the form.
        is_fixed: whether the field cannot change once the phase has runs, because it affects scores.
        topic: heading of its rule on pages; rules of one topic are shown together.
        rule: the rule for participants; "{}" stands for the value.
        unset_rule: the rule if the field is empty; "" for none.
        rules: the rule for each value, instead of `rule`; values that are not listed have no rule.
        has_rule: whether pages show the field among the rules at all.
        noun: name of the counted things, such as "run", from which rules form the plural.
    """

    label: str
    meaning: str
    unset: str = ""
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    option: str | None = None
    in_options: bool = True
    in_forms: bool = True
    section: FormSection = "main"
    is_fixed: bool = False
    topic: str = ""
    rule: str = ""
    unset_rule: str = ""
    rules: Mapping[str, str] = field(default_factory=dict[str, str])
    has_rule: bool = True
    noun: str = ""
