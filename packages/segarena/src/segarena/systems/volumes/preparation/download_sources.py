"""How to obtain the files of a set: from Zenodo, TCIA, IDC or plain addresses, or by hand from a page."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from segarena.errors import DatasetError, DatasetMissing
from segarena.files.xml import parse_xml

if TYPE_CHECKING:
    from segarena.systems.volumes.preparation.download_client import DownloadClient

NBIA_API_URL = "https://services.cancerimagingarchive.net/nbia-api/services/v1"
_S3_LINE = re.compile(r"s3://(?P<bucket>[\w.-]+)/(?P<prefix>[\w./-]+?)/?\*?(?=\s|$)", re.MULTILINE)
_PAGE_BYTES = 16_000_000
"""Of a bucket's listing: a page names at most 1000 files, each by at most 1024 bytes."""
_MOST_PAGES = 1000
"""Of one series: a million files."""

Answer = TypeVar("Answer")


class _Links(msgspec.Struct):
    itself: str = msgspec.field(name="self")


class _ZenodoFile(msgspec.Struct):
    key: str
    size: int
    checksum: str
    links: _Links


class _ZenodoAnswer(msgspec.Struct):
    files: list[_ZenodoFile]


class _TciaSeries(msgspec.Struct):
    uid: str = msgspec.field(name="SeriesInstanceUID")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file to fetch."""

    url: str
    path: str  # below the download folder
    size_bytes: int | None = None  # None when the server does not say beforehand
    md5: str | None = None  # hexadecimal; None when nobody states it
    folder: str | None = (
        None  # unpack the file, a zip, to this folder below the download folder, and drop the zip
    )


class DownloadSource(Protocol):
    """Something that knows which files to fetch."""

    @property
    def page(self) -> str:
        """Where a person finds it."""
        ...

    @property
    def needs(self) -> str:
        """What one has to do oneself before it can be fetched; "" when nothing."""
        ...

    def files(self, folder: Path, web: DownloadClient) -> list[RemoteFile]:
        """Return every file to fetch to `folder`.

        Raises:
            DatasetMissing: something must be put into `folder` by hand first; the message says what.
            DatasetError: the list of files cannot be had.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ZenodoRecord:
    """A record of Zenodo; sizes and md5 come from its REST API."""

    record: int
    base_url: str = "https://zenodo.org"
    needs: str = ""

    @property
    def page(self) -> str:
        """The record's page."""
        return f"{self.base_url}/records/{self.record}"

    def files(self, folder: Path, web: DownloadClient) -> list[RemoteFile]:
        """Return the files of the record."""
        url = f"{self.base_url}/api/records/{self.record}"
        answer = _told(
            web.read(url), _ZenodoAnswer, url, "files with key, size, checksum and links.self"
        )
        return [
            RemoteFile(
                url=file.links.itself,
                path=_plain_name(file.key, url),
                size_bytes=file.size,
                md5=file.checksum.removeprefix("md5:"),
            )
            for file in answer.files
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class TciaCollection:
    """All series of a TCIA collection, listed by the NBIA API."""

    collection: str
    page: str
    base_url: str = NBIA_API_URL
    needs: str = ""

    def files(self, folder: Path, web: DownloadClient) -> list[RemoteFile]:
        """Return one zip per series."""
        url = f"{self.base_url}/getSeries?{urllib.parse.urlencode({'Collection': self.collection, 'format': 'json'})}"
        answer = _told(
            web.read(url), list[_TciaSeries], url, "a list of series with their SeriesInstanceUID"
        )
        return [_series(self.base_url, series.uid) for series in answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class TciaManifests:
    """The series that .tcia manifests in the download folder list."""

    page: str
    manifests: int
    base_url: str = NBIA_API_URL

    @property
    def needs(self) -> str:
        """The manifests."""
        return f"{self.manifests} .tcia manifests (images and segmentations) from {self.page}"

    def files(self, folder: Path, web: DownloadClient) -> list[RemoteFile]:
        """Return one zip per series of all manifests."""
        manifests = sorted(folder.glob("*.tcia"))
        if len(manifests) < self.manifests:
            raise DatasetMissing(
                f"{folder}: expected {self.manifests} .tcia manifests, found {len(manifests)}; "
                f"save those of images and segmentations from {self.page} there"
            )
        # Images and segmentations may list the same series.
        uids = dict.fromkeys(chain.from_iterable(map(_listed_series, manifests)))
        return [_series(self.base_url, uid) for uid in uids]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdcManifest:
    """The series that an s5cmd manifest of the Imaging Data Commons lists, over HTTPS from its public buckets."""

    collection: str  # as IDC writes it
    bucket_url: str = (
        "https://{bucket}.s3.amazonaws.com"  # the bucket's address, with `{bucket}` for its name
    )
    page: str = field(
        default="https://portal.imaging.datacommons.cancer.gov/explore/", kw_only=True
    )

    @property
    def needs(self) -> str:
        """The manifest."""
        return f"the s5cmd manifest (AWS) of the collection {self.collection} from {self.page}"

    def files(self, folder: Path, web: DownloadClient) -> list[RemoteFile]:
        """Return every file of every listed series, with md5 where the bucket states it."""
        manifests = sorted(folder.glob("*.s5cmd"))
        if not manifests:
            raise DatasetMissing(
                f"{folder}: expected {self.needs} as a file *.s5cmd there, found none"
            )
        text = "\n".join(_lines(manifest) for manifest in manifests)
        found = list(dict.fromkeys(match.groups() for match in _S3_LINE.finditer(text)))
        if not found:
            raise DatasetError(
                f"{manifests[0]}: expected lines like 'cp s3://idc-open-data/SERIES/* .', found none"
            )
        return list(
            chain.from_iterable(self._list(bucket, prefix, web) for bucket, prefix in found)
        )

    def _list(self, bucket: str, prefix: str, web: DownloadClient) -> Iterator[RemoteFile]:
        base = self.bucket_url.format(bucket=bucket)
        token = ""
        for _ in range(_MOST_PAGES):
            query = {
                "list-type": "2",
                "prefix": f"{prefix}/",
                **({"continuation-token": token} if token else {}),
            }
            url = f"{base}/?{urllib.parse.urlencode(query)}"
            page = parse_xml(web.read(url, most_bytes=_PAGE_BYTES), url)
            for entry in page.iterfind("{*}Contents"):
                key = entry.findtext("{*}Key", "")
                tag = entry.findtext("{*}ETag", "").strip('"')
                size = entry.findtext("{*}Size", "0")
                if not re.fullmatch("[0-9]{1,18}", size):
                    raise DatasetError(
                        f"{url}: expected the size of {key} in bytes, got {size[:80]!r}"
                    )
                yield RemoteFile(
                    url=f"{base}/{urllib.parse.quote(key)}",
                    path=f"{_plain_name(prefix.rsplit('/', 1)[-1], url)}/{_plain_name(key.rsplit('/', 1)[-1], url)}",
                    size_bytes=int(size),
                    # The tag of an object uploaded in pieces has a dash and is not its md5.
                    md5=tag if re.fullmatch("[0-9a-f]{32}", tag) else None,
                )
            token = page.findtext("{*}NextContinuationToken", "")
            if not token:
                return
        raise DatasetError(
            f"{base}: expected at most {_MOST_PAGES:,} pages that list {prefix}, got more; not fetched"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualDownload:
    """Files that only a person at a browser can fetch."""

    page: str
    wanted: tuple[str, ...]

    @property
    def needs(self) -> str:
        """The files."""
        return f"{', '.join(self.wanted)} from {self.page}"

    def files(self, folder: Path, web: DownloadClient) -> list[RemoteFile]:
        """Return nothing when the files are there.

        Raises:
            DatasetMissing: they are not; the message says what to put where.
        """
        missing = [pattern for pattern in self.wanted if not any(folder.rglob(pattern))]
        if missing:
            raise DatasetMissing(
                f"{folder}: this set cannot be fetched automatically; download {', '.join(missing)} from {self.page} "
                f"with a browser, put it there, and run the same command without --fetch"
            )
        return []


def _series(base_url: str, uid: str) -> RemoteFile:
    if not re.fullmatch(r"[0-9.]{1,64}", uid):
        raise DatasetError(f"{uid!r}: expected a DICOM series UID, digits and dots")
    return RemoteFile(
        url=f"{base_url}/getImage?SeriesInstanceUID={uid}", path=f"{uid}.zip", folder=uid
    )


def _listed_series(manifest: Path) -> list[str]:
    _, _, text = _lines(manifest).partition("ListOfSeriesToDownload=")
    if not text.strip():
        raise DatasetError(
            f"{manifest}: expected a TCIA manifest with ListOfSeriesToDownload=, found no series in it"
        )
    return text.split()


def _lines(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{file}: expected a manifest as text, got: {error}") from error


def _told(text: bytes, kind: type[Answer], url: str, expected: str) -> Answer:
    """Return what an answer in JSON says; nothing of it is kept that was not asked for."""
    try:
        return msgspec.json.decode(text, type=kind, strict=False)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{url}: expected {expected}, got something else ({error}); try again later"
        ) from error


def _plain_name(name: str, url: str) -> str:
    if name in ("", ".", "..") or re.search(r"[/\\:\0]", name):
        raise DatasetError(f"{url}: expected plain file names, got {name!r}")
    return name
