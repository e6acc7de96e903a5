"""Specifications of plug-ins: reference, options and name.

Users write a plug-in as a call with literal arguments, on the command line, in files and in Python:
`grabcut`, `grabcut(iterations=2)`, `my_model.py:MyModel(scale=0.5)`. The first option needs no name:
`worker('python my_adapter.py')`. A name may precede it: `unlikely=depth(low=0.0, high=0.1)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from segarena.errors import PluginInvalid
from segarena.options import modernize_options


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """The specification of a plug-in.

    Attributes:
        reference: registered name, or `path/to/file.py:Name`.
        options: keyword arguments of its constructor; an option written without a name has the
            empty name and stands for the first parameter (see
            `segarena.options.name_first_option`).
        own_name: its name in this run, the NAME of `NAME=PLUGIN`; "" if not given.
    """

    reference: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    own_name: str = ""

    def __post_init__(self) -> None:
        """Convert option values of earlier versions."""
        object.__setattr__(self, "options", modernize_options(self.options))

    @classmethod
    def of(cls, plugin: PluginSpec | str) -> PluginSpec:
        """Return a specification; text is parsed."""
        return cls.parse(plugin) if isinstance(plugin, str) else plugin

    @classmethod
    def named(cls, plugin: PluginSpec | str) -> PluginSpec:
        """Return a specification with the name in the text."""
        return cls.parse_named(plugin) if isinstance(plugin, str) else plugin

    @classmethod
    def parse(cls, text: str) -> PluginSpec:
        """Parse `name`, `name(key=value, ...)` or `file.py:Name(key=value, ...)`.

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
        """Parse `NAME=PLUGIN`, or a plug-in without a name, whose name is its text.

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
        """Its name in a run: the explicit name, or else the text."""
        return self.own_name or str(self)

    def __str__(self) -> str:
        inner = ", ".join(
            f"{key}={value!r}" if key else repr(value) for key, value in self.options.items()
        )
        return f"{self.reference}({inner})" if inner else self.reference


Plugin: TypeAlias = PluginSpec | str
"""A plug-in as a specification or as text."""
