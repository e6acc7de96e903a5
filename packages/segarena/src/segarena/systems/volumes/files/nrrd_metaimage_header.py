"""The headers of NRRD and MetaImage files, checked by ourselves before ITK sees them.

ITK's readers trust what a header says: a negative number of axes or an endless line ends the process, and a data file
may lie anywhere on the machine.

Source: the NRRD definition (teem) and the MetaIO documentation of ITK.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from segarena.errors import DatasetError, InvalidImage
from segarena.files.within import within

_HEADER_BYTES = 1 << 20
_LONGEST_LINE = 1000
_MOST_AXES = 8
_MOST_VOXELS = 1 << 40
_MOST_COMPONENTS = 1000
_HERE = "local"
_METAIMAGE_LISTS = {
    **dict.fromkeys(
        ("Offset", "Position", "Origin", "ElementSpacing", "ElementSize", "CenterOfRotation"), 1
    ),
    **dict.fromkeys(("TransformMatrix", "Rotation", "Orientation"), 2),
}
_NRRD_FIELD = re.compile(r"([A-Za-z][A-Za-z ()_-]*): (.*)")
_NRRD_ENCODINGS = ("raw", "txt", "text", "ascii", "hex", "gz", "gzip", "bz2", "bzip2")


def check_itk_header(path: Path) -> Path:
    """Return the file that holds the numbers of a NRRD or MetaImage file, if its header can be given to ITK.

    Raises:
        InvalidImage: the header makes no sense, or it names a data file that is not in the folder of the header.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER_BYTES)
        return (_nrrd if path.suffix.lower() == ".nrrd" else _metaimage)(head, path)
    except InvalidImage:
        raise
    except (OSError, ValueError, OverflowError, DatasetError) as error:
        raise InvalidImage(
            f"{path}: expected a sound header, got: {error}; copy or export it again"
        ) from error


def _metaimage(head: bytes, path: Path) -> Path:
    fields: dict[str, str] = {}
    for line in head.split(b"\n"):
        text = _text(line)
        key, is_field, value = (part.strip() for part in text.partition("="))
        if not is_field or key in fields:
            raise ValueError(
                f"{text[:60]!r} where a line 'Key = value' that is not there yet was expected"
            )
        fields[key] = value
        if key == "ElementDataFile":
            break
    axes = _number(fields.get("NDims"), "NDims", 1, _MOST_AXES)
    sizes = _numbers(fields.get("DimSize"), "DimSize", axes)
    components = _number(
        fields.get("ElementNumberOfChannels", "1"), "ElementNumberOfChannels", 1, _MOST_COMPONENTS
    )
    _check_voxels(math.prod(sizes) * components)
    _number(fields.get("HeaderSize", "-1"), "HeaderSize", -1, path.stat().st_size)
    for name, power in _METAIMAGE_LISTS.items():
        if name in fields:
            found = list(map(float, fields[name].split()))
            if len(found) != axes**power:
                raise ValueError(
                    f"{name} of {len(found)} numbers where {axes**power} were expected"
                )
    data = _data_file(fields.get("ElementDataFile", ""), path)
    _number(fields.get("CompressedDataSize", "0"), "CompressedDataSize", 0, data.stat().st_size)
    return data


def _nrrd(head: bytes, path: Path) -> Path:
    lines = head.split(b"\n")
    if not re.fullmatch(rb"NRRD000[1-5]\r?", lines[0]):
        raise ValueError("no NRRD file of version 1 to 5")
    fields: dict[str, str] = {}
    for line in lines[1:]:
        if not line.strip():
            break
        if line.startswith(b"#") or b":=" in line:  # remarks and named values, of any length
            continue
        text = _text(line)
        field = _NRRD_FIELD.fullmatch(text)
        if field is None or field[1].lower() in fields:
            raise ValueError(
                f"{text[:60]!r} where a line 'field: value' that is not there yet was expected"
            )
        fields[field[1].lower()] = field[2].strip()
    axes = _number(fields.get("dimension"), "dimension", 1, _MOST_AXES)
    _check_voxels(math.prod(_numbers(fields.get("sizes"), "sizes", axes)))
    encoding = fields.get("encoding", "").lower()
    if encoding not in _NRRD_ENCODINGS:
        raise ValueError(
            f"encoding {encoding!r:.60} where one of {', '.join(_NRRD_ENCODINGS)} was expected"
        )
    if fields.get("type", "").lower() == "block":
        raise ValueError("values of type block")
    for name in ("line skip", "lineskip", "byte skip", "byteskip"):
        _number(fields.get(name, "0"), name, -1, 1 << 40)
    if (
        "space directions" in fields
        and len(re.findall(r"\([^()]*\)|none", fields["space directions"])) != axes
    ):
        raise ValueError(f"other than {axes} space directions")
    return _data_file(fields.get("data file", fields.get("datafile", _HERE)), path)


def _check_voxels(count: int) -> None:
    if (
        count > _MOST_VOXELS
    ):  # what is allowed is checked later; beyond this ITK's own sums overflow
        raise ValueError(f"{count:,} voxels")


def _data_file(name: str, path: Path) -> Path:
    """Return the one file that holds the numbers; lists and patterns of files are not read."""
    if name.lower() == _HERE:
        return path
    if name.split(" ")[0] == "LIST" or "%" in name:
        raise ValueError(f"several data files, {name[:60]!r}")
    data = within(path.parent, name)
    if not data.is_file():
        raise ValueError(f"no data file {name[:60]!r} beside it")
    return data


def _text(line: bytes) -> str:
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"a line of {len(line):,} characters")
    return line.rstrip(b"\r").decode("latin-1")


def _number(text: str | None, name: str, low: int, high: int) -> int:
    if text is None or not re.fullmatch(r"[+-]?\d{1,18}", text) or not low <= int(text) <= high:
        raise ValueError(
            f"{name} {text!r:.60} where a whole number from {low} to {high:,} was expected"
        )
    return int(text)


def _numbers(text: str | None, name: str, count: int) -> list[int]:
    found = (text or "").split()
    if len(found) != count:
        raise ValueError(f"{name} of {len(found)} numbers where {count} were expected")
    return [_number(one, name, 1, 2**31 - 1) for one in found]
