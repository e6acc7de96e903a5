"""Parser of untrusted XML: rejects document types, and limits elements before parsing to bound memory."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from segarena.errors import DatasetError
from segarena.files.limits import PIXEL_LIMIT_VARIABLE, xml_element_limit

_WORD = re.compile(rb"xmlns")
_NAMESPACE = re.compile(rb"xmlns[^=]{0,100}=\s{0,9}(\"[^\"]{0,100}\"|'[^']{0,100}')")
"""Declaration of a short namespace: expat stores it with each name, so a long one turns a megabyte into gigabytes."""


def parse_xml(data: bytes, source: Path | str) -> Element:
    """Return the root of a document.

    Args:
        data: the document.
        source: the file or address it comes from, for messages.

    Raises:
        DatasetError: the data are not XML in UTF-8, or have a document type (which could define entities),
            a namespace of more than 100 characters, or more tags and attributes than the limit.
    """
    marks = data.count(b"<") + data.count(b"=")
    if marks > xml_element_limit():
        raise DatasetError(
            f"{source}: expected at most {xml_element_limit():,} tags and attributes, got {marks:,}; "
            f"split it, or raise the limit with segarena --max-pixels or {PIXEL_LIMIT_VARIABLE}"
        )
    # The search below would miss declarations in UTF-16, whose bytes contain NULs.
    is_utf8 = b"\0" not in data
    declarations = _WORD.finditer(data)
    if not is_utf8 or not all(_NAMESPACE.match(data, each.start()) for each in declarations):
        raise DatasetError(
            f"{source}: expected XML in UTF-8 with short namespaces, got something else; get or export it again"
        )
    try:
        return fromstring(data, forbid_dtd=True)
    except DefusedXmlException as cause:
        raise DatasetError(
            f"{source}: expected XML without a document type, got one; entities in it are not expanded"
        ) from cause
    except (ParseError, ValueError, LookupError) as cause:
        raise DatasetError(
            f"{source}: expected XML, got something else ({cause}); get or export it again"
        ) from cause
