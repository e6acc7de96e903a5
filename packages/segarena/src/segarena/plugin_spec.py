"""A plug-in as a specification: which one, with which options, under which name. That is how plug-ins travel.

Text is for people: they write it on the command line, in files and in Python, and `PluginSpec` reads it there once.

A plug-in is written as a call with literal arguments: `grabcut`, `grabcut(iterations=2)`,
`my_model.py:MyModel(scale=0.5)`. The first option needs no name: `worker('python my_adapter.py')`. Where a run has
several of a kind, each may get a name of its own: `unlikely=depth(low=0.0, high=0.1)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from segarena.errors import PluginInvalid
from segarena.options import in_todays_words


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """A plug-in to be built.

    Attributes:
        reference: registered name, or `path/to/file.py:Name`.
        options: keyword arguments of its constructor; under the empty name what was written without one, which is
            the first of them (see `segarena.options.with_names`).
        own_name: what this run calls it, the NAME of `NAME=PLUGIN`; empty where it was given none.
    """

    reference: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    own_name: str = ""

    def __post_init__(self) -> None:
        """Read options that have other words today."""
        object.__setattr__(self, "options", in_todays_words(self.options))

    @classmethod
    def of(cls, plugin: PluginSpec | str) -> PluginSpec:
        """Return what `plugin` specifies, read if it is text."""
        return cls.parse(plugin) if isinstance(plugin, str) else plugin

    @classmethod
    def named(cls, plugin: PluginSpec | str) -> PluginSpec:
        """Return what `plugin` specifies, with the name that the text gives it."""
        return cls.parse_named(plugin) if isinstance(plugin, str) else plugin

    @classmethod
    def parse(cls, text: str) -> PluginSpec:
        """Read `name`, `name(key=value, ...)` or `file.py:Name(key=value, ...)`.

        Raises:
            PluginInvalid: the text is not of that form.
        """
        match = re.fullmatch(r"([^()]+?)\s*(?:\((.*)\))?\s*", text.strip(), flags=re.DOTALL)
        if match is None:
            raise PluginInvalid(f"{text!r}: expected NAME or NAME(option=value, ...)")
        reference = match.group(1)
        arguments = match.group(2) or ""
        try:
            call = ast.parse(f"f({arguments})", mode="eval").body
            # Text after a closing parenthesis, as in `a(b=1)(c=2)`, makes it another expression than our own call.
            if (
                not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name))
                or len(call.args) > 1
            ):
                raise ValueError("all options but the first are written option=value")
            first = {"": ast.literal_eval(call.args[0])} if call.args else {}
            options = {
                str(keyword.arg): ast.literal_eval(keyword.value)
                for keyword in call.keywords
                if keyword.arg
            }
            if len(options) != len(call.keywords):  # `**more` has no name
                raise ValueError("each option is written once, as option=value")
        except (SyntaxError, ValueError) as error:
            raise PluginInvalid(
                f"{text!r}: expected NAME(option=value, ...) with plain values; {error}"
            ) from error
        return cls(reference, {**first, **options})

    @classmethod
    def parse_named(cls, text: str) -> PluginSpec:
        """Read `NAME=PLUGIN`, or a plug-in without a name, which is called exactly as it is written.

        Raises:
            PluginInvalid: as for `parse`.
        """
        match = re.match(r"\s*([\w.+-]+)\s*=\s*(?=\S)", text)
        if match:
            return replace(cls.parse(text[match.end() :]), own_name=match.group(1))
        spec = cls.parse(text)
        return spec if str(spec) == text else replace(spec, own_name=text)

    @property
    def name(self) -> str:
        """What a run calls it: its own name, or the way it is written."""
        return self.own_name or str(self)

    def __str__(self) -> str:
        inner = ", ".join(
            f"{key}={value!r}" if key else repr(value) for key, value in self.options.items()
        )
        return f"{self.reference}({inner})" if inner else self.reference


Plugin: TypeAlias = PluginSpec | str
"""A plug-in as people may give it: specified, or written."""
