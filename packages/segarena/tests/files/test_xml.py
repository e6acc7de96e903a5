"""XML is counted before it is parsed, and rejected if it would need too much memory."""

import tracemalloc

import pytest

from segarena.errors import DatasetError
from segarena.files import limits
from segarena.files.xml import parse_xml


def test_a_document_is_read_with_names_and_text():
    root = parse_xml(b'<a x="1"><b>two</b>three</a>', "a.xml")
    assert (root.tag, root.get("x"), root.findtext("b"), root[0].tail) == ("a", "1", "two", "three")


@pytest.mark.parametrize(
    "text", [b"", b"<a>", b"\xff\xfe", b'<?xml version="1.0" encoding="no"?><a/>', b"<a b=1/>"]
)
def test_what_is_no_xml_is_one_line(text):
    with pytest.raises(DatasetError, match=r"a\.xml: expected XML, got something else"):
        parse_xml(text, "a.xml")


def test_a_document_type_is_refused_unread():
    with pytest.raises(DatasetError, match="without a document type"):
        parse_xml(b'<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]><a>&c;</a>', "a.xml")


LONG = b"n" * 20_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            b"<a>" + b"<b/>" * 200_000 + b"</a>",
            "at most 50,000 tags and attributes, got 200,002.*--max-pixels",
        ),
        (b"<b>" * 200_000 + b"</b>" * 200_000, "at most 50,000 tags"),
        (
            b"<a " + b" ".join(b"b%d=''" % number for number in range(200_000)) + b"/>",
            "at most 50,000 tags",
        ),
        # Every name is kept with its namespace: 20 kB for each of these 8 bytes.
        (
            b"<a xmlns='"
            + LONG
            + b"'>"
            + b"".join(b"<b%d/>" % number for number in range(20_000))
            + b"</a>",
            "short",
        ),
        (
            b"<a xmlns:n='"
            + LONG
            + b"' "
            + b" ".join(b"n:b%d=''" % number for number in range(20_000))
            + b"/>",
            "short",
        ),
        ("<a xmlns='b'/>".encode("utf-16"), "UTF-8"),
    ],
    ids=["wide", "deep", "attributes", "namespace", "namespace of attributes", "UTF-16"],
)
def test_what_would_take_more_memory_than_the_limit_allows_is_not_parsed(text, said, monkeypatch):
    monkeypatch.setenv(limits.PIXEL_LIMIT_VARIABLE, "2000000")
    tracemalloc.start()
    with pytest.raises(DatasetError, match=rf"a\.xml: expected .*{said}"):
        parse_xml(text, "a.xml")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


def test_a_short_namespace_is_part_of_names():
    assert (
        parse_xml(b'<a xmlns="http://x" xmlns:n="http://y"><n:b/></a>', "a.xml")[0].tag
        == "{http://y}b"
    )
