"""Validation of NRRD and MetaImage headers before ITK reads the files.

ITK's readers trust the header: a negative number of axes or an endless line crashes the process, and the header may
name a data file anywhere on the machine.

Source: the NRRD definition (teem) and the MetaIO documentation of ITK.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from segarena.errors import DatasetError, InvalidImage
from segarena.files.safe_paths import safe_join

_HEADER_BYTES = 1 << 20
_LONGEST_LINE = 1000
_MOST_AXES = 8
_MOST_VOXELS = 1 << 40
_MOST_COMPONENTS = 1000
_HERE = "local"
# Fields with one value per axis, and fields with a matrix.
_METAIMAGE_VECTORS = (
    "Offset",
    "Position",
    "Origin",
    "ElementSpacing",
    "ElementSize",
    "CenterOfRotation",
)
_METAIMAGE_MATRICES = ("TransformMatrix", "Rotation", "Orientation")
_NRRD_FIELD = re.compile(r"([A-Za-z][A-Za-z ()_-]*): (.*)")
_NRRD_ENCODINGS = ("raw", "txt", "text", "ascii", "hex", "gz", "gzip", "bz2", "bzip2")


def check_itk_header(path: Path) -> Path:
    """Validate the header of an NRRD or MetaImage file, and return the file that contains the voxel values.

    Raises:
        InvalidImage: the header is invalid, or it names a data file outside its own folder.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER_BYTES)
        if path.suffix.lower() == ".nrrd":
            return _check_nrrd(head, path)
        return _check_metaimage(head, path)
    except InvalidImage:
        raise
    except (OSError, ValueError, OverflowError, DatasetError) as error:
        raise InvalidImage(
            f"{path}: expected a valid header, got: {error}; copy or export it again"
        ) from error


def _check_metaimage(head: bytes, path: Path) -> Path:
    fields: dict[str, str] = {}
    for line in head.split(b"\n"):
        text = _text(line)
        key, equals_sign, value = (part.strip() for part in text.partition("="))
        if not equals_sign or key in fields:
            raise ValueError(f"{text[:60]!r} instead of a line 'Key = value' with a new key")
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
    for name in _METAIMAGE_VECTORS:
        _check_floats(fields, name, axes)
    for name in _METAIMAGE_MATRICES:
        _check_floats(fields, name, axes**2)
    data = _data_file(fields.get("ElementDataFile", ""), path)
    _number(fields.get("CompressedDataSize", "0"), "CompressedDataSize", 0, data.stat().st_size)
    return data


def _check_floats(
    fields: dict[str, str],
    name: str,
    count: int,
) -> None:
    """Raise ValueError unless a field is absent or contains `count` numbers."""
    if name not in fields:
        return
    found = [float(text) for text in fields[name].split()]
    if len(found) != count:
        raise ValueError(f"{name} with {len(found)} numbers instead of {count}")


def _parse_nrrd_fields(lines: list[bytes]) -> dict[str, str]:
    """Return the header fields by lower-case name; the header ends at an empty line."""
    fields: dict[str, str] = {}
    for line in lines:
        if not line.strip():
            break
        # Comments and key-value pairs may have any length.
        if line.startswith(b"#") or b":=" in line:
            continue
        text = _text(line)
        field = _NRRD_FIELD.fullmatch(text)
        if field is None or field[1].lower() in fields:
            raise ValueError(f"{text[:60]!r} instead of a line 'field: value' with a new field")
        fields[field[1].lower()] = field[2].strip()
    return fields


def _check_nrrd(head: bytes, path: Path) -> Path:
    lines = head.split(b"\n")
    if not re.fullmatch(rb"NRRD000[1-5]\r?", lines[0]):
        raise ValueError("a file that is not NRRD of version 1 to 5")
    fields = _parse_nrrd_fields(lines[1:])
    axes = _number(fields.get("dimension"), "dimension", 1, _MOST_AXES)
    _check_voxels(math.prod(_numbers(fields.get("sizes"), "sizes", axes)))
    encoding = fields.get("encoding", "").lower()
    if encoding not in _NRRD_ENCODINGS:
        raise ValueError(
            f"encoding {encoding!r:.60} instead of one of {', '.join(_NRRD_ENCODINGS)}"
        )
    if fields.get("type", "").lower() == "block":
        raise ValueError("values of type block")
    for name in ("line skip", "lineskip", "byte skip", "byteskip"):
        _number(fields.get(name, "0"), name, -1, 1 << 40)
    if "space directions" in fields:
        directions = re.findall(r"\([^()]*\)|none", fields["space directions"])
        if len(directions) != axes:
            raise ValueError(f"other than {axes} space directions")
    return _data_file(fields.get("data file", fields.get("datafile", _HERE)), path)


def _check_voxels(count: int) -> None:
    # Beyond this limit, ITK's own size computation overflows; the limit on readable sizes is
    # checked later.
    if count > _MOST_VOXELS:
        raise ValueError(f"{count:,} voxels")


def _data_file(name: str, path: Path) -> Path:
    """Return the file that contains the voxel values; raise ValueError for lists and patterns of files."""
    if name.lower() == _HERE:
        return path
    if name.split(" ")[0] == "LIST" or "%" in name:
        raise ValueError(f"several data files, {name[:60]!r}")
    data = safe_join(path.parent, name)
    if not data.is_file():
        raise ValueError(f"no data file {name[:60]!r} next to it")
    return data


def _text(line: bytes) -> str:
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"a line of {len(line):,} characters")
    return line.rstrip(b"\r").decode("latin-1")


def _number(
    text: str | None,
    name: str,
    low: int,
    high: int,
) -> int:
    if text is None or not re.fullmatch(r"[+-]?\d{1,18}", text) or not low <= int(text) <= high:
        raise ValueError(f"{name} {text!r:.60} instead of a whole number from {low} to {high:,}")
    return int(text)


def _numbers(
    text: str | None,
    name: str,
    count: int,
) -> list[int]:
    words = (text or "").split()
    if len(words) != count:
        raise ValueError(f"{name} with {len(words)} numbers instead of {count}")
    return [_number(word, name, 1, 2**31 - 1) for word in words]
