"""Options of plug-ins, read from their signatures and docstrings: names, types, defaults, meanings.

The signature is the only declaration: the registry checks values against the annotations, a run
records the defaults, and `segarena list` and the command line show them with the docstring.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from segarena.errors import InvalidInput

PLAIN_TYPES = (type(None), bool, int, float, str, list, tuple, dict)
"""Types that can be written as literals. Only their values are checked; other objects are accepted."""

Protocol: TypeAlias = Literal["careful", "published"]
"""Values of an option `protocol`: careful rules, or those of the published numbers."""

_CALLED_CAREFUL_BEFORE = ("segarena", "corrected")

_WORDS: dict[Any, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "text",
}
_SEQUENCES = (list, tuple, Sequence, Collection, Iterable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a plug-in.

    Attributes:
        name: name of the parameter.
        hint: its resolved annotation; Any if missing or unresolvable.
        default: `inspect.Parameter.empty` for a required option.
        meaning: its text under "Args" in the docstring.
    """

    name: str
    hint: Any
    default: Any
    meaning: str

    @property
    def is_required(self) -> bool:
        """Whether the option is required."""
        return self.default is inspect.Parameter.empty

    def __str__(self) -> str:
        return self.name if self.is_required else f"{self.name}={self.default!r}"

    def fault(self, value: Any) -> str:
        """Return the error of a value (expected type and actual value); "" if valid."""
        if _fits(value, self.hint):
            return ""
        near = suggest_names(
            value, [known for known in choices(self.hint) if isinstance(known, str)]
        )
        return f"{self.name}: expected {describe_type(self.hint)}; got {value!r}" + (
            f", {near}" if near else ""
        )


@cache
def options_of(factory: Callable[..., Any]) -> tuple[Option, ...]:
    """Return the options of a class or function in the order of its signature, without `*args` and `**kwargs`."""
    scope = getattr(inspect.unwrap(_function(factory)), "__globals__", {})
    meanings: dict[str, str] = {}
    for one in reversed(_explaining(factory, scope)):
        meanings |= _meanings(inspect.cleandoc(one.__doc__ or ""))
    return tuple(
        Option(
            name=parameter.name,
            hint=_resolved(parameter.annotation, scope),
            default=parameter.default,
            meaning=meanings.get(parameter.name, ""),
        )
        for parameter in inspect.signature(factory).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    )


def format_options(factory: Callable[..., Any]) -> str:
    """Return the options of a plug-in as text: `name` if required, else `name=default`."""
    return ", ".join(map(str, options_of(factory)))


def find_option_error(factory: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """Return the first error in the options `given` to `factory`; "" if valid.

    Looked at are names (with near ones for a name that it does not take), missing ones, choices of a `Literal`, and
    plain values of another type: `superpixels='many'` for an int. Whole numbers are numbers, lists are tuples.
    """
    known = {option.name: option for option in options_of(factory)}
    try:
        inspect.signature(factory).bind(**given)
    except TypeError as error:
        unknown = next((suggest_names(name, known) for name in given if name not in known), "")
        return (
            f"{error}; "
            + (f"{unknown} " if unknown else "")
            + f"it takes {format_options(factory) or 'no options'}"
        )
    faults = (known[name].fault(value) for name, value in given.items() if name in known)
    return next(filter(None, faults), "")


def name_first_option(factory: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in which the unnamed one has the name of the first parameter.

    Raises:
        InvalidInput: `factory` has no options, or the first one is also given by name.
    """
    if "" not in given:
        return dict(given)
    first = next((option.name for option in options_of(factory)), "")
    if not first or first in given:
        raise InvalidInput(
            f"{given['']!r} is given without a name; it takes {format_options(factory) or 'no options'}"
        )
    return {first if name == "" else name: value for name, value in given.items()}


def parse_option(option: Option, texts: Sequence[str]) -> Any:
    """Return the value of an option that occurs once or several times on a command line.

    Literals (`3`, `0.5`, `(0, 3)`, `true`, `none`) are parsed if the option accepts their type. All other
    values stay text, which the registry then checks.
    """
    if len(texts) == 1:
        value = _read(texts[0], option.hint)
        if not _fits(value, option.hint) and _fits([value], option.hint):
            return [value]
        return value
    return [_read(text, _item_of(option.hint)) for text in texts]


def modernize_options(written: Any) -> Any:
    """Return options or the description of a run with the current name of the careful protocol."""
    if isinstance(written, Mapping):
        found = {key: modernize_options(value) for key, value in written.items()}
        if found.get("protocol") in _CALLED_CAREFUL_BEFORE:
            return {**found, "protocol": "careful"}
        return found
    if isinstance(written, list):
        return [modernize_options(value) for value in written]
    return written


def parse_protocol(word: str) -> Protocol:
    """Return the protocol with a current or former name.

    Raises:
        InvalidInput: there is no such protocol.
    """
    match modernize_options({"protocol": word})["protocol"]:
        case "careful" | "published" as known:
            return known
        case other:
            raise InvalidInput(f"protocol: expected 'careful' or 'published'; got {other!r}")


def suggest_names(word: Any, known: Iterable[str], *, cutoff: float = 0.5) -> str:
    """Return "did you mean 'this'?" for known words with a similarity of at least `cutoff`, or ""."""
    near = difflib.get_close_matches(str(word), list(known), n=3, cutoff=cutoff)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""


def choices(hint: Any) -> tuple[Any, ...]:
    """Return the values of all `Literal`s in an annotation, including items of sequences."""
    hint = _plain_hint(hint)
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(dict.fromkeys(value for inner in get_args(hint) for value in choices(inner)))


def describe_type(hint: Any) -> str:
    """Return an annotation in words: "a whole number or None", "one of 'stop', 'published'"."""
    hint = _plain_hint(hint)
    origin = get_origin(hint)
    inner = get_args(hint)
    if origin is Literal:
        return ("one of " if len(inner) > 1 else "") + ", ".join(map(repr, inner))
    if _is_union(origin):
        return " or ".join(dict.fromkeys(describe_type(one) for one in inner))
    if hint is type(None):
        return "None"
    if origin in _SEQUENCES or hint in _SEQUENCES:
        items = [one for one in inner if one is not Ellipsis]
        if origin is tuple and Ellipsis not in inner and items:
            count = f" of {len(items)}"
        else:
            count = ""
        return f"a list{count}" + (f", each {describe_type(items[0])}" if items else "")
    if _is_mapping(origin or hint):
        return "a table {key: value}"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value matches an annotation; non-literal values and unknown annotations match."""
    hint = _plain_hint(hint)
    origin = get_origin(hint)
    inner = get_args(hint)
    if not isinstance(value, PLAIN_TYPES) or isinstance(hint, TypeVar):
        return True
    if _is_union(origin):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(known) and value == known for known in inner)
    if hint is type(None):
        return value is None
    if hint is float or hint is int:
        return isinstance(value, (int, float) if hint is float else int) and not isinstance(
            value, bool
        )
    if hint is bool or hint is str:
        return isinstance(value, hint)
    if origin in _SEQUENCES or hint in _SEQUENCES:
        return isinstance(value, (list, tuple)) and _items_fit(value, origin, inner)
    if inspect.isclass(hint) and issubclass(hint, PurePath):
        return isinstance(value, str)
    return isinstance(value, dict) if _is_mapping(origin or hint) else True


def _read(text: str, hint: Any) -> Any:
    """Return the parsed literal if it matches the annotation, else the text."""
    try:
        value = ast.literal_eval(
            {"true": "True", "false": "False", "none": "None"}.get(text.lower(), text)
        )
    except (SyntaxError, ValueError):
        return text
    return value if _fits(value, hint) else text


def _item_of(hint: Any) -> Any:
    """Return the annotation of the items, if an annotation allows a list."""
    hint = _plain_hint(hint)
    if _is_union(get_origin(hint)):
        return Union[tuple(_item_of(one) for one in get_args(hint))]  # noqa: UP007 -- put together here
    return get_args(hint)[0] if get_origin(hint) in _SEQUENCES else hint


def _items_fit(values: Sequence[Any], origin: Any, inner: tuple[Any, ...]) -> bool:
    if not inner:
        return True
    if origin is tuple and Ellipsis not in inner:
        return len(values) == len(inner) and all(map(_fits, values, inner))
    return all(_fits(value, inner[0]) for value in values)


def _is_union(origin: Any) -> bool:
    return origin is Union or origin is types.UnionType


def _is_mapping(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, Mapping)


def _plain_hint(hint: Any) -> Any:
    """Return an annotation without `Annotated[...]` and with `type` aliases resolved."""
    while hasattr(hint, "__metadata__") or hasattr(hint, "__value__"):
        hint = hint.__origin__ if hasattr(hint, "__metadata__") else hint.__value__
    return type(None) if hint is None else hint


def _function(factory: Callable[..., Any]) -> Any:
    return factory.__init__ if inspect.isclass(factory) else factory


def _explaining(factory: Callable[..., Any], scope: dict[str, Any]) -> tuple[Any, ...]:
    """Return the objects whose docstrings explain options: a class and its bases, or a function and its return type."""
    if inspect.isclass(factory):
        return inspect.getmro(factory)
    return (factory, _resolved(inspect.signature(factory).return_annotation, scope))


def _resolved(annotation: Any, scope: dict[str, Any]) -> Any:
    """Return a resolved annotation; Any if it uses names that only type checkers import."""
    if annotation is inspect.Parameter.empty:
        return Any
    holder = types.SimpleNamespace(__annotations__={"option": annotation})
    try:
        return get_type_hints(holder, scope, {})["option"]
    except Exception:  # whatever a text that is no expression of this scope raises
        return Any


def _meanings(docstring: str) -> dict[str, str]:
    """Return the sentences of a docstring's "Args" (or "Options"), by option."""
    section = re.search(
        r"^(?:Args|Options):\n((?:[ \t]+.*\n?|\n)+)", docstring + "\n", flags=re.MULTILINE
    )
    if section is None:
        return {}
    found = re.findall(
        r"^    (\w+):\s*((?:.*\n?)(?:^     +.*\n?)*)", section.group(1), flags=re.MULTILINE
    )
    return {name: " ".join(text.split()) for name, text in found}
