"""Form inputs, command-line options, rules and docs, derived from the field descriptions of a phase.

Command-line options (`with_phase_options`), fields of the organiser's form (`form_inputs`), rules for participants
(`phase_rules`) and the table in the docs (`phase_table`) all read the annotations of `Phase`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

import msgspec
import typer

from segarena.protocol.challenge_info import PhaseRules
from segarena.protocol.field_description import FieldDescription
from segarena.reports.wording import count_text
from segarena.terminal.help_format import RARE
from segarena_server.challenges.datetimes import utc_text
from segarena_server.challenges.description import Phase

InputKind: TypeAlias = Literal["choice", "moment", "number", "text"]

_TRUTH_WORDS = {"false": "no", "true": "yes"}
_OPTION_DEFAULTS = {"name": "test"}
"""Values of required fields when a challenge is created from command-line options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseField:
    """A field of a phase.

    Attributes:
        name: name of the field.
        description: its texts and properties.
        kind: its type without `Annotated` and None, such as a class, a `Literal` or a tuple.
        values: all values of a `Literal` or bool, as strings; () for other types.
        bounds: bounds in mathematical notation, such as ">= 1, <= 6"; "" for none.
        is_required: whether it has no default.
        default: its default; None if it is required.
    """

    name: str
    description: FieldDescription
    kind: Any
    values: tuple[str, ...]
    bounds: str
    is_required: bool
    default: Any

    @property
    def default_text(self) -> str:
        """The default as shown in a form; "" for none."""
        return field_text(self.default)

    @property
    def option(self) -> str:
        """The command-line option without its dashes."""
        return self.description.option or self.name.replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class FormInput:
    """A field of the organiser's form.

    Attributes:
        name: name of the field.
        label: text next to it.
        help: text below it; "" for a choice.
        kind: kind of the input element.
        choices: values with their labels, for a choice.
        default: initial value; "" for none.
        section: section of the form.
        is_fixed: whether it cannot change once the phase has runs.
    """

    name: str
    label: str
    help: str
    kind: InputKind
    choices: tuple[tuple[str, str], ...]
    default: str
    section: str
    is_fixed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRule:
    """A rule of a phase as participants read it.

    Attributes:
        topic: heading of the rule.
        text: one or more sentences.
    """

    topic: str
    text: str


@functools.cache
def phase_fields(phase_type: type[msgspec.Struct] = Phase) -> tuple[PhaseField, ...]:
    """Return the fields of a phase in order.

    Raises:
        TypeError: a field has no description.
    """
    return tuple(_phase_field(field) for field in msgspec.structs.fields(phase_type))


def fixed_fields(phase_type: type[msgspec.Struct] = Phase) -> tuple[str, ...]:
    """Return the names of the fields that cannot change once a phase has runs."""
    return tuple(field.name for field in phase_fields(phase_type) if field.description.is_fixed)


def field_text(value: Any) -> str:
    """Format the value of a field for forms and options, with times in UTC; "" for None."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case datetime():
            return utc_text(value)
        case float():
            return f"{value:.12g}"
        case tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def form_inputs(phase_type: type[msgspec.Struct] = Phase) -> tuple[FormInput, ...]:
    """Return the fields of the organiser's form."""
    return tuple(
        _form_input(field) for field in phase_fields(phase_type) if field.description.in_forms
    )


def phase_rules(
    phase: PhaseRules, rules_type: type[PhaseRules] = PhaseRules
) -> tuple[PhaseRule, ...]:
    """Return the rules of a phase as participants read them, by topic.

    Args:
        phase: the phase with the rules in force.
        rules_type: the type whose fields are rules; other fields of a phase, such as its dataset, are not.
    """
    sentences: dict[str, list[str]] = {}
    for field in phase_fields(rules_type):
        if not field.description.has_rule:
            continue
        sentence = _rule(field, getattr(phase, field.name))
        if sentence:
            topic = field.description.topic or field.description.label
            sentences.setdefault(topic, []).append(sentence)
    if phase.closes is None:
        sentences.pop("At the end", None)
    if phase.kind == "practice":
        # A practice phase lists every run.
        sentences.pop("Ranked", None)
    return tuple(PhaseRule(topic=topic, text=" ".join(texts)) for topic, texts in sentences.items())


def phase_table(phase_type: type[msgspec.Struct] = Phase) -> str:
    """Return the fields of a phase as a Markdown table, for the docs."""
    rows = ["| of a phase | default | takes | meaning |", "| --- | --- | --- | --- |"]
    for field in phase_fields(phase_type):
        default = "required" if field.is_required else f"`{_json_text(field.default)}`"
        meaning = field.description.meaning
        if field.description.unset:
            meaning = f"{meaning}; by default {field.description.unset}"
        rows.append(f"| `{field.name}` | {default} | {_takes(field)} | {meaning} |")
    return "\n".join(rows) + "\n"


def with_phase_options(
    phase_type: type[msgspec.Struct] = Phase,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds an option to a command for each field of a phase that has one.

    The command receives them as `phase_options`: strings by field, for
    `segarena_server.challenges.form_fields.parse_form`.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        fields = [field for field in phase_fields(phase_type) if field.description.in_options]
        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.name != "phase_options"]
        # A field of a phase may have the same name as an option of the command.
        names = {field.name: f"phase_{field.name}" for field in fields}

        @functools.wraps(command)
        def run(**given: Any) -> None:
            texts = {field: field_text(given.pop(name)) for field, name in names.items()}
            command(**given, phase_options=texts)

        parameters = [*own, *(_option_parameter(field, names[field.name]) for field in fields)]
        run.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue] - read by Typer
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _phase_field(field: msgspec.structs.FieldInfo) -> PhaseField:
    description: FieldDescription | None = None
    bounds: list[str] = []
    for note in _annotations(field.type):
        if isinstance(note, FieldDescription):
            description = note
        elif isinstance(note, msgspec.Meta):
            bounds.extend(_bounds(note))
    if description is None:
        raise TypeError(f"{field.name}: expected a FieldDescription in its annotation, got none")
    kind = _bare_type(field.type)
    values: tuple[str, ...] = ()
    if get_origin(kind) is Literal:
        values = get_args(kind)
    elif kind is bool:
        values = ("false", "true")
    return PhaseField(
        name=field.name,
        description=description,
        kind=kind,
        values=values,
        bounds=", ".join(bounds),
        is_required=field.required,
        default=None if field.required else field.default,
    )


def _annotations(kind: Any) -> Iterator[object]:
    """Yield the metadata of every `Annotated` inside a type."""
    if get_origin(kind) is Annotated:
        inner, *notes = get_args(kind)
        yield from _annotations(inner)
        yield from notes
    elif get_origin(kind) is not Literal:
        for part in get_args(kind):
            yield from _annotations(part)


def _bare_type(kind: Any) -> Any:
    """Return a type without `Annotated` and None."""
    if get_origin(kind) is Annotated:
        return _bare_type(get_args(kind)[0])
    parts = [part for part in get_args(kind) if part is not type(None)]
    if type(None) in get_args(kind) and len(parts) == 1:
        return _bare_type(parts[0])
    return kind


def _bounds(meta: msgspec.Meta) -> Iterator[str]:
    for sign, bound in ((">=", meta.ge), (">", meta.gt), ("<=", meta.le), ("<", meta.lt)):
        if bound is not None:
            # All limits of int and float fields are whole numbers.
            yield f"{sign} {int(bound):,}"


def _form_input(field: PhaseField) -> FormInput:
    about = field.description
    choices = _choices(field)
    kind: InputKind = "text"
    if choices:
        kind = "choice"
    elif field.kind is datetime:
        kind = "moment"
    elif field.kind in (int, float):
        kind = "number"
    shown = about.meaning
    if kind != "choice" and (about.unset or field.default_text):
        shown = f"{shown}. Empty: {about.unset or field.default_text}"
    return FormInput(
        name=field.name,
        label=about.label,
        help="" if kind == "choice" else f"{shown}.",
        kind=kind,
        choices=choices,
        default=field.default_text,
        section=about.section,
        is_fixed=about.is_fixed,
    )


def _choices(field: PhaseField) -> tuple[tuple[str, str], ...]:
    words: Mapping[str, str] = field.description.words
    if words:
        return tuple(words.items())
    if field.kind is bool:
        return tuple(_TRUTH_WORDS.items())
    return tuple((value, value) for value in field.values)


def _rule(field: PhaseField, value: Any) -> str:
    """Return the sentence about the value of a field, or "" if there is none."""
    about = field.description
    text = field_text(value)
    if text in about.rules:
        return about.rules[text]
    if value is None:
        return about.unset_rule
    if about.rule:
        return about.rule.format(count_text(value, about.noun) if about.noun else text)
    if about.rules:
        return ""
    return f"{text}."


def _takes(field: PhaseField) -> str:
    """Describe the values that a field accepts, for the docs."""
    if field.kind is datetime:
        return "a time with an offset from UTC, `2026-06-01T12:00:00Z`"
    if field.kind is bool:
        return "`true` or `false`"
    if field.values:
        return ", ".join(f"`{_json_text(value)}`" for value in field.values)
    if field.kind in (int, float):
        kind = "a whole number" if field.kind is int else "a number"
        return f"{kind} {field.bounds}" if field.bounds else kind
    if get_origin(field.kind) is tuple:
        item = _bare_type(get_args(field.kind)[0])
        return "a list of " + ", ".join(f"`{_json_text(value)}`" for value in get_args(item))
    return "text"


def _json_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _option_parameter(field: PhaseField, name: str) -> inspect.Parameter:
    about = field.description
    help_text = about.meaning
    if field.kind is datetime:
        help_text = f"{help_text}: 2026-06-01 or 2026-06-01T12:00+02:00"
    elif get_origin(field.kind) is tuple:
        help_text = f"{help_text}; separate several by commas"
    if about.unset:
        help_text = f"{help_text}; by default {about.unset}"
    default: Any = _OPTION_DEFAULTS.get(field.name, field.default)
    kind: Any = field.kind
    if kind not in (int, float, bool):
        # The form's parser reads dates, lists and values of a `Literal`, and phrases the errors.
        kind = str
        default = field_text(default) or None
    declared = f"--{field.option}"
    if default is True:
        declared = f"{declared}/--no-{field.option}"
    if default is None:
        kind = kind | None
    panel = RARE if about.section == "details" else None
    option = typer.Option(declared, help=f"{help_text}.", rich_help_panel=panel)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option],
    )
