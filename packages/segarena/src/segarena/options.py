"""Options of plug-ins, read from their signatures and docstrings: names, types, defaults and meanings.

The signature is the only declaration: the registry checks values against its annotations, a run
records its defaults, and `segarena list` and the command line display both with the docstring.
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
"""Types that can be written as literals. Only their values are checked; objects of other types are accepted."""

Protocol: TypeAlias = Literal["careful", "published"]
"""Values of an option `protocol`: corrected rules, or exactly those behind published numbers."""

_CALLED_CAREFUL_BEFORE = ("segarena", "corrected")

_WORDS: dict[Any, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "text",
}
_SCALAR_TYPES: dict[Any, tuple[type, ...]] = {
    bool: (bool,),
    int: (int,),
    float: (int, float),
    str: (str,),
}
_PYTHON_WORDS = {"true": "True", "false": "False", "none": "None"}
_SEQUENCES = (list, tuple, Sequence, Collection, Iterable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a plug-in.

    Attributes:
        name: name of the parameter.
        hint: resolved annotation; Any if missing or unresolvable.
        default: `inspect.Parameter.empty` for a required option.
        meaning: text under "Args" or "Options" in the docstring; "" if there is none.
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
        if self.is_required:
            return self.name
        return f"{self.name}={self.default!r}"

    def fault(self, value: Any) -> str:
        """Return the error of a value, with expected type and actual value; "" if the value is valid."""
        if _fits(value, self.hint):
            return ""
        message = f"{self.name}: expected {describe_type(self.hint)}; got {value!r}"
        words = [choice for choice in choices(self.hint) if isinstance(choice, str)]
        near = suggest_names(value, words)
        if near:
            return f"{message}, {near}"
        return message


# Cached, because every start reads the signatures of all plug-ins, and resolving annotations is
# slow.
@cache
def options_of(factory: Callable[..., Any]) -> tuple[Option, ...]:
    """Return the options of a class or function in the order of its signature, without `*args` and `**kwargs`."""
    scope = getattr(inspect.unwrap(_function(factory)), "__globals__", {})
    meanings: dict[str, str] = {}
    # Base classes first, so that a class may override the description of an inherited option.
    for documented in reversed(_documented_objects(factory, scope)):
        docstring = inspect.cleandoc(documented.__doc__ or "")
        meanings |= _meanings(docstring)
    options: list[Option] = []
    for parameter in inspect.signature(factory).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        option = Option(
            name=parameter.name,
            hint=_resolve(parameter.annotation, scope),
            default=parameter.default,
            meaning=meanings.get(parameter.name, ""),
        )
        options.append(option)
    return tuple(options)


def format_options(factory: Callable[..., Any]) -> str:
    """Return the options of a plug-in as text: `name` if required, else `name=default`."""
    return ", ".join(map(str, options_of(factory)))


def find_option_error(factory: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """Return the first error in the options `given` to `factory`; "" if they are valid.

    It checks names (and suggests similar ones for an unknown name), missing options, choices of a
    `Literal`, and plain values of another type, such as `superpixels='many'` for an int. An int is
    accepted as a float, a list as a tuple.
    """
    known = {option.name: option for option in options_of(factory)}
    try:
        inspect.signature(factory).bind(**given)
    except TypeError as error:
        hints = [f"it takes {format_options(factory) or 'no options'}"]
        unknown_names = [name for name in given if name not in known]
        if unknown_names:
            near = suggest_names(unknown_names[0], known)
            if near:
                hints.insert(0, near)
        # Python 3.12 and newer say "keyword-only argument".
        message = str(error).replace("required keyword-only argument", "required argument")
        return f"{message}; {' '.join(hints)}"
    for name, value in given.items():
        if name in known:
            fault = known[name].fault(value)
            if fault:
                return fault
    return ""


def name_first_option(factory: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in which the name of the first parameter replaces the empty name.

    Raises:
        InvalidInput: `factory` has no options, or the first one is also passed by name.
    """
    if "" not in given:
        return dict(given)
    options = options_of(factory)
    if not options:
        raise InvalidInput(f"expected no options, because there are none, got {given['']!r}")
    if options[0].name in given:
        raise InvalidInput(
            f"{given['']!r} needs the name of an option; available: {format_options(factory)}"
        )
    named: dict[str, Any] = {}
    for name, value in given.items():
        named[name or options[0].name] = value
    return named


def parse_option(option: Option, texts: Sequence[str]) -> Any:
    """Parse an option that occurs once or several times on a command line.

    Literals (`3`, `0.5`, `(0, 3)`, `true`, `none`) are parsed if the option accepts their type. All other
    values stay text, which the registry then checks. Several texts become a list; so does one text if the
    option accepts it only as an item of a list.
    """
    if len(texts) > 1:
        item_hint = _item_of(option.hint)
        return [_read(text, item_hint) for text in texts]
    value = _read(texts[0], option.hint)
    # A list with one item is written like a single value.
    if not _fits(value, option.hint) and _fits([value], option.hint):
        return [value]
    return value


def modernize_options(written: Any) -> Any:
    """Replace a former name of the careful protocol in options or in the description of a run."""
    if isinstance(written, Mapping):
        current = {key: modernize_options(value) for key, value in written.items()}
        if current.get("protocol") in _CALLED_CAREFUL_BEFORE:
            current["protocol"] = "careful"
        return current
    if isinstance(written, list):
        return [modernize_options(value) for value in written]
    return written


def parse_protocol(word: str) -> Protocol:
    """Return the protocol with a current or former name.

    Raises:
        InvalidInput: the protocol is unknown.
    """
    match modernize_options({"protocol": word})["protocol"]:
        case "careful" | "published" as known:
            return known
        case other:
            raise InvalidInput(f"protocol: expected 'careful' or 'published'; got {other!r}")


def suggest_names(
    word: Any,
    known: Iterable[str],
    *,
    cutoff: float = 0.5,
) -> str:
    """Return "did you mean 'this'?" for up to three known words with a similarity of at least `cutoff`, else ""."""
    near = difflib.get_close_matches(str(word), list(known), n=3, cutoff=cutoff)
    if not near:
        return ""
    alternatives = " or ".join(map(repr, near))
    return f"did you mean {alternatives}?"


def choices(hint: Any) -> tuple[Any, ...]:
    """Return the values of all `Literal`s in an annotation, including those nested in other types."""
    hint = _plain_hint(hint)
    if get_origin(hint) is Literal:
        return get_args(hint)
    values: dict[Any, None] = {}
    for inner in get_args(hint):
        values.update(dict.fromkeys(choices(inner)))
    return tuple(values)


def describe_type(hint: Any) -> str:
    """Describe an annotation: "a whole number or None", "one of 'stop', 'published'"."""
    hint = _plain_hint(hint)
    origin = get_origin(hint)
    inner = get_args(hint)
    if origin is Literal:
        values = ", ".join(map(repr, inner))
        return f"one of {values}" if len(inner) > 1 else values
    if _is_union(origin):
        distinct = dict.fromkeys(describe_type(member) for member in inner)
        return " or ".join(distinct)
    if hint is type(None):
        return "None"
    if origin in _SEQUENCES or hint in _SEQUENCES:
        return _describe_list(origin, inner)
    if _is_mapping(origin or hint):
        return "a table {key: value}"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def _describe_list(origin: Any, inner: Sequence[Any]) -> str:
    items = [item for item in inner if item is not Ellipsis]
    if not items:
        return "a list"
    # `tuple[int, int]` has a length, `tuple[int, ...]` and lists have none.
    has_length = origin is tuple and Ellipsis not in inner
    count = f" of {len(items)}" if has_length else ""
    return f"a list{count}, each {describe_type(items[0])}"


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value matches an annotation; True for a value or annotation of an unknown type."""
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
    if hint in _SCALAR_TYPES:
        # In Python, True and False are integers too.
        is_other_bool = isinstance(value, bool) and hint is not bool
        return isinstance(value, _SCALAR_TYPES[hint]) and not is_other_bool
    if origin in _SEQUENCES or hint in _SEQUENCES:
        return isinstance(value, (list, tuple)) and _items_fit(value, origin, inner)
    if inspect.isclass(hint) and issubclass(hint, PurePath):
        return isinstance(value, str)
    if _is_mapping(origin or hint):
        return isinstance(value, dict)
    return True


def _read(text: str, hint: Any) -> Any:
    """Return `text` parsed as a Python literal; return it unchanged if it is no literal or does not match `hint`."""
    literal = _PYTHON_WORDS.get(text.lower(), text)
    try:
        value = ast.literal_eval(literal)
    except (SyntaxError, ValueError):
        return text
    return value if _fits(value, hint) else text


def _item_of(hint: Any) -> Any:
    """Return the annotation of the items if an annotation allows a list, else the annotation itself."""
    hint = _plain_hint(hint)
    if _is_union(get_origin(hint)):
        members = tuple(_item_of(member) for member in get_args(hint))
        return Union[members]  # noqa: UP007 - `|` cannot join a tuple of types
    if get_origin(hint) in _SEQUENCES:
        return get_args(hint)[0]
    return hint


def _items_fit(
    values: Sequence[Any],
    origin: Any,
    inner: tuple[Any, ...],
) -> bool:
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
    while True:
        if hasattr(hint, "__metadata__"):
            hint = hint.__origin__
        elif hasattr(hint, "__value__"):
            hint = hint.__value__
        else:
            break
    if hint is None:
        return type(None)
    return hint


def _function(factory: Callable[..., Any]) -> Any:
    if inspect.isclass(factory):
        return factory.__init__
    return factory


def _documented_objects(factory: Callable[..., Any], scope: dict[str, Any]) -> tuple[Any, ...]:
    """Return the objects whose docstrings explain options: a class and its bases, or a function and its return type."""
    if inspect.isclass(factory):
        return inspect.getmro(factory)
    return_annotation = inspect.signature(factory).return_annotation
    return (factory, _resolve(return_annotation, scope))


def _resolve(annotation: Any, scope: dict[str, Any]) -> Any:
    """Return a resolved annotation; Any if it is missing or uses names that only type checkers import."""
    if annotation is inspect.Parameter.empty:
        return Any
    holder = types.SimpleNamespace(__annotations__={"option": annotation})
    try:
        return get_type_hints(holder, scope, {})["option"]
    except Exception:  # an annotation that cannot be evaluated may raise any type
        return Any


def _meanings(docstring: str) -> dict[str, str]:
    """Return the descriptions in the section "Args" (or "Options") of a docstring, by name of the option."""
    section = re.search(
        r"^(?:Args|Options):\n((?:[ \t]+.*\n?|\n)+)", docstring + "\n", flags=re.MULTILINE
    )
    if section is None:
        return {}
    found = re.findall(
        r"^    (\w+):\s*((?:.*\n?)(?:^     +.*\n?)*)", section.group(1), flags=re.MULTILINE
    )
    return {name: " ".join(text.split()) for name, text in found}
