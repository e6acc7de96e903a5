"""Readable output on terminals whose encoding lacks characters, such as ASCII and Latin-1.

Commands print arrows, dashes, plus-minus signs and the names of people's files. In an encoding that
lacks such a character, Python would raise UnicodeEncodeError at the end of a finished run. Boxes of
tables need nothing here: rich draws them with ASCII characters unless the encoding is a UTF.
"""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper

_HANDLER = "segarena.readable"

_ASCII = "segarena-ascii"
"""ASCII under another name: click sends UTF-8 to streams whose encoding is called ASCII."""

_REPLACEMENTS = {
    "▲": "^",
    "▼": "v",
    "△": "^",
    "▽": "v",
    "↑": "^",
    "↓": "v",
    "→": "->",
    "←": "<-",
    "–": "-",
    "—": "-",
    "−": "-",
    "±": "+-",
    "·": "-",
    "•": "-",
    "…": "...",
    "×": "x",
    "°": " deg",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "≠": "!=",
    "√": "sqrt ",
    "†": "+",
    "‡": "++",
    "§": "section ",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "„": '"',
    "«": '"',
    "»": '"',
    "✓": "yes",
    "✗": "no",
    "█": "#",
    "━": "-",
    "─": "-",
    "│": "|",
    "├": "+",
    "└": "+",
    "╸": "-",
    "╺": "-",
    "Δ": "Delta",
    "π": "pi",
    "τ": "tau",
    "µ": "u",
    "μ": "u",
    "ß": "ss",
    "æ": "ae",
    "Æ": "Ae",
    "ø": "o",
    "Ø": "O",
}
"""Symbols of the project's output, and letters that Unicode does not decompose."""

_FIRST_RAW_BYTE = 0xDC80
_LAST_RAW_BYTE = 0xDCFF
"""Code points by which Python represents the bytes of a file name that is not valid UTF-8."""


def make_output_encodable() -> None:
    """Replace characters that stdout or stderr cannot encode by readable ones, from now on.

    Processes that are started later print such characters as escapes, if this process's
    stdout is not UTF-8. Streams with an error handler other than Python's defaults are unchanged.
    """
    codecs.register_error(_HANDLER, _replace_unencodable)
    codecs.register(_find_ascii)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    for stream in (sys.stdout, sys.stderr):
        # A test or an embedding program may have replaced the stream, or closed it.
        if isinstance(stream, TextIOWrapper) and _may_replace(stream):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding=_ASCII if is_ascii else None, errors=_HANDLER)
    if not encoding.lower().startswith("utf"):
        # Only this process knows the handler above. Set for worker processes, which inherit it.
        os.environ["PYTHONIOENCODING"] = f"{encoding}:backslashreplace"


def _find_ascii(name: str) -> codecs.CodecInfo | None:
    """Return the ASCII codec for the name `_ASCII`; the codec registry asks for every unknown name."""
    if name.replace("_", "-") != _ASCII:
        return None
    ascii_codec = codecs.lookup("ascii")
    return codecs.CodecInfo(
        name=_ASCII,
        encode=ascii_codec.encode,
        decode=ascii_codec.decode,
        incrementalencoder=ascii_codec.incrementalencoder,
        incrementaldecoder=ascii_codec.incrementaldecoder,
        streamreader=ascii_codec.streamreader,
        streamwriter=ascii_codec.streamwriter,
    )


def _may_replace(stream: TextIOWrapper) -> bool:
    if stream.errors in ("strict", "backslashreplace"):
        return True
    # Python chooses this handler under LC_ALL=C. In UTF-8 it has no characters to replace, and
    # prints the bytes of a file's name unchanged.
    return stream.errors == "surrogateescape" and not stream.encoding.lower().startswith("utf")


def _replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Return replacements for the characters at which encoding failed, and the position after them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    text = "".join(_readable(character, error.encoding) for character in characters)
    return text, error.end


def _readable(character: str, encoding: str) -> str:
    """Return the nearest text that the encoding can represent, or an escape sequence if there is none."""
    import unicodedata  # takes a megabyte of memory, which UTF-8 terminals do not need

    replacement = _REPLACEMENTS.get(character)
    if replacement is not None:
        return replacement
    code = ord(character)
    if _FIRST_RAW_BYTE <= code <= _LAST_RAW_BYTE:
        return f"\\x{code & 0xFF:02x}"
    # A letter with an accent becomes the letter, a superscript becomes the digit. An Arabic or a
    # Chinese character has no such form.
    decomposed = unicodedata.normalize("NFKD", character)
    kept = [part for part in decomposed if not unicodedata.combining(part)]
    base = "".join(_REPLACEMENTS.get(part, part) for part in kept)
    try:
        base.encode(encoding)
    except UnicodeEncodeError:
        base = ""
    if base or unicodedata.combining(character):
        return base
    return character.encode("ascii", "backslashreplace").decode("ascii")
