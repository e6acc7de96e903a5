"""What is known of a file before it is fetched."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file to fetch.

    Attributes:
        path: below the download folder.
        size_bytes: None when the server does not say beforehand.
        md5: hexadecimal; None when nobody states it.
        folder: unpack the file, a zip, to this folder below the download folder, and drop the zip.
    """

    url: str
    path: str
    size_bytes: int | None = None
    md5: str | None = None
    folder: str | None = None
