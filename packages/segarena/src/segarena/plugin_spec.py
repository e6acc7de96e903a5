"""Specifications of plug-ins: reference, options and name.

Users write a plug-in as a call with literal arguments, on the command line, in files and in Python:
`grabcut`, `grabcut(iterations=2)`, `my_model.py:MyModel(scale=0.5)`. The first option may be given
without its name: `worker('python my_adapter.py')`. The plug-in may be named:
`unlikely=depth(low=0.0, high=0.1)`. Plain words and paths need no quotes: `folder(path=photos/city)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from segarena.errors import PluginInvalid
from segarena.options import modernize_options

_NAMED_VALUE = re.compile(r"\s*([^\W\d]\w*)\s*=\s*(.*?)\s*", re.DOTALL)
# Words and paths with at least one letter. Without parentheses, so that nothing looks like a call.
_WORD = re.compile(r"[\w./~+-]*[^\W\d_][\w./~+-]*")
_CONSTANT = re.compile(r"true|false|none|null|nan|[+-]?inf(inity)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """The specification of a plug-in.

    Attributes:
        reference: registered name, or `path/to/file.py:Name`.
        options: keyword arguments of its constructor; an option written without a name has the
            empty name and stands for the first parameter (see
            `segarena.options.name_first_option`).
        own_name: name of the plug-in in this run, the NAME of `NAME=PLUGIN`; "" if not given.
    """

    reference: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    own_name: str = ""

    def __post_init__(self) -> None:
        """Convert option values that earlier versions wrote."""
        object.__setattr__(self, "options", modernize_options(self.options))

    @classmethod
    def of(cls, plugin: PluginSpec | str) -> PluginSpec:
        """Return `plugin` as a specification; parse it if it is text."""
        if isinstance(plugin, str):
            return cls.parse(plugin)
        return plugin

    @classmethod
    def named(cls, plugin: PluginSpec | str) -> PluginSpec:
        """Return `plugin` as a specification; parse it if it is text, which may start with `NAME=`."""
        if isinstance(plugin, str):
            return cls.parse_named(plugin)
        return plugin

    @classmethod
    def parse(cls, text: str) -> PluginSpec:
        """Parse `name`, `name(key=value, ...)` or `file.py:Name(key=value, ...)`.

        Raises:
            PluginInvalid: the text does not have that form.
        """
        match = re.fullmatch(r"([^()]+?)\s*(?:\((.*)\))?\s*", text.strip(), flags=re.DOTALL)
        if match is None:
            raise PluginInvalid(f"{text!r}: expected NAME or NAME(option=value, ...)")
        reference = match.group(1)
        arguments = match.group(2) or ""
        try:
            options = _parse_arguments(_quote_words(arguments))
        except (SyntaxError, ValueError) as error:
            raise PluginInvalid(
                f"{text!r}: expected NAME(option=value, ...) with plain values; {error}"
            ) from error
        return cls(reference, options)

    @classmethod
    def parse_named(cls, text: str) -> PluginSpec:
        """Parse `NAME=PLUGIN`, or a plug-in without a name, which is then named by its text.

        Raises:
            PluginInvalid: see `parse`.
        """
        match = re.match(r"\s*([\w.+-]+)\s*=\s*(?=\S)", text)
        if match:
            return replace(cls.parse(text[match.end() :]), own_name=match.group(1))
        spec = cls.parse(text)
        return spec if str(spec) == text else replace(spec, own_name=text)

    @property
    def name(self) -> str:
        """Name of the plug-in in a run: the explicit name, or else the text."""
        return self.own_name or str(self)

    def __str__(self) -> str:
        if not self.options:
            return self.reference
        arguments: list[str] = []
        for key, value in self.options.items():
            # The first option may have no name.
            arguments.append(f"{key}={value!r}" if key else repr(value))
        return f"{self.reference}({', '.join(arguments)})"


def _quote_words(arguments: str) -> str:
    """Return arguments with quotes around plain words and paths, as in `path=photos/2024-05`.

    Raises:
        ValueError: a value is neither a literal nor a plain word, or a constant in a spelling that Python lacks;
            the message says how to write it.
    """
    parts: list[str] = []
    for part in _split_arguments(arguments):
        match = _NAMED_VALUE.fullmatch(part)
        name, value = match.groups() if match else ("", part.strip())
        if not value or _is_literal(value) or value.startswith("**"):
            parts.append(part)
            continue
        if _CONSTANT.fullmatch(value):
            raise ValueError(
                f"{name}={value}: write True, False, None or a number, or quote a string"
            )
        if not _WORD.fullmatch(value):
            raise ValueError(f"a string needs quotes, as in {name}{'=' if name else ''}{value!r}")
        parts.append(f"{name}={value!r}" if name else repr(value))
    return ",".join(parts)


def _split_arguments(arguments: str) -> list[str]:
    """Split arguments at the commas outside quotes and brackets."""
    parts = [""]
    quote = ""
    depth = 0
    is_escaped = False
    for character in arguments:
        if is_escaped:
            is_escaped = False
        elif quote:
            is_escaped = character == "\\"
            if character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if character == "," and not quote and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _is_literal(value: str) -> bool:
    try:
        ast.literal_eval(value)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return False
    return True


def _parse_arguments(arguments: str) -> dict[str, Any]:
    """Return the options of a call, the unnamed first one under "".

    Raises:
        SyntaxError, ValueError: the text does not consist of plain arguments, or an option occurs twice.
    """
    call = ast.parse(f"f({arguments})", mode="eval").body
    # Text after the closing parenthesis, as in `a(b=1)(c=2)`, turns the text into something other
    # than one call.
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or len(call.args) > 1:
        raise ValueError("all options but the first are written as option=value")
    options: dict[str, Any] = {}
    for argument in call.args:
        options[""] = ast.literal_eval(argument)
    for keyword in call.keywords:
        # `**more` has no keyword.
        if not keyword.arg or keyword.arg in options:
            raise ValueError("each option may occur only once, as option=value")
        options[keyword.arg] = ast.literal_eval(keyword.value)
    return options


Plugin: TypeAlias = PluginSpec | str
"""A plug-in as a specification or as text."""
