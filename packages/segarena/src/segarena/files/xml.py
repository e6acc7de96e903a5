"""XML from elsewhere: without document types, and counted before it is parsed, so that no file fills the memory."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from segarena.errors import DatasetError
from segarena.files.limits import VARIABLE, most_elements

_WORD = re.compile(rb"xmlns")
_NAMESPACE = re.compile(rb"xmlns[^=]{0,100}=\s{0,9}(\"[^\"]{0,100}\"|'[^']{0,100}')")
"""A short one: expat keeps the whole namespace with each name, so a long one makes gigabytes of a megabyte."""


def parse_xml(data: bytes, place: Path | str) -> Element:
    """Return the root of a document.

    Args:
        data: the document.
        place: the file or address it is from, for messages.

    Raises:
        DatasetError: it is no XML; or has a document type, in which entities could be hidden, a namespace of more than
            100 letters, or more elements and attributes than `files.limits` allows.
    """
    marks = data.count(b"<") + data.count(b"=")
    if marks > most_elements():
        raise DatasetError(
            f"{place}: expected at most {most_elements():,} tags and attributes, got {marks:,}; split it, or raise the "
            f"limit with segarena --max-pixels or {VARIABLE}"
        )
    # In UTF-16, which has NULs, the words would not be found.
    if b"\0" in data or not all(
        _NAMESPACE.match(data, found.start()) for found in _WORD.finditer(data)
    ):
        raise DatasetError(
            f"{place}: expected XML in UTF-8 with short namespaces, got others; get or export it again"
        )
    try:
        return fromstring(data, forbid_dtd=True)
    except DefusedXmlException as cause:
        raise DatasetError(
            f"{place}: expected XML without a document type, got one; entities in it are not expanded"
        ) from cause
    except (ParseError, ValueError, LookupError) as cause:
        raise DatasetError(
            f"{place}: expected XML, got something else ({cause}); get or export it again"
        ) from cause
