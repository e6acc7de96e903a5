"""Sources of a dataset's files: Zenodo, TCIA, IDC or plain URLs, or a web page for manual download."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from segarena.errors import DatasetError, DatasetMissing
from segarena.files.xml import parse_xml

NBIA_API_URL = "https://services.cancerimagingarchive.net/nbia-api/services/v1"
_S3_LINE = re.compile(r"s3://(?P<bucket>[\w.-]+)/(?P<prefix>[\w./-]+?)/?\*?(?=\s|$)", re.MULTILINE)
_PAGE_BYTES = 16_000_000
"""Size limit for one page of a bucket listing, which contains at most 1000 names of at most 1024 bytes each."""
_MOST_PAGES = 1000
"""Maximum number of listing pages for one series; enough for a million files."""

_Answer = TypeVar("_Answer")


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
    """A file to download."""

    url: str
    path: str  # below the download folder
    size_bytes: int | None = None  # None when the server does not state it
    md5: str | None = None  # hexadecimal; None when the source does not state it
    # For a zip file: the folder below the download folder to which it is unpacked; the zip is then
    # deleted.
    folder: str | None = None


class DocumentReader(Protocol):
    """Reader of small documents on the web, such as `download_client.DownloadClient`."""

    def read(self, url: str, *, most_bytes: int = ...) -> bytes:
        """Return a document of at most `most_bytes`."""
        ...


class DownloadSource(Protocol):
    """A source that lists the files of a set."""

    @property
    def page(self) -> str:
        """Web page of the source."""
        ...

    @property
    def needs(self) -> str:
        """Files that you must save manually before the download; "" if none."""
        ...

    def files(self, folder: Path, reader: DocumentReader) -> list[RemoteFile]:
        """Return every file to download to `folder`.

        Raises:
            DatasetMissing: a file must first be put into `folder` manually; the message names it.
            DatasetError: the list of files cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ZenodoRecord:
    """A Zenodo record; sizes and MD5 checksums come from its REST API."""

    record: int
    base_url: str = "https://zenodo.org"
    needs: str = ""

    @property
    def page(self) -> str:
        """Web page of the record."""
        return f"{self.base_url}/records/{self.record}"

    def files(self, folder: Path, reader: DocumentReader) -> list[RemoteFile]:
        """Return the files of the record."""
        url = f"{self.base_url}/api/records/{self.record}"
        expected = "files with key, size, checksum and links.self"
        record = _decode_json(reader.read(url), _ZenodoAnswer, url, expected)
        files: list[RemoteFile] = []
        for file in record.files:
            remote = RemoteFile(
                url=file.links.itself,
                path=_check_plain_name(file.key, url),
                size_bytes=file.size,
                md5=file.checksum.removeprefix("md5:"),
            )
            files.append(remote)
        return files


@dataclass(frozen=True, slots=True, kw_only=True)
class TciaCollection:
    """All series of a TCIA collection, listed by the NBIA API."""

    collection: str
    page: str
    base_url: str = NBIA_API_URL
    needs: str = ""

    def files(self, folder: Path, reader: DocumentReader) -> list[RemoteFile]:
        """Return one zip per series."""
        query = urllib.parse.urlencode({"Collection": self.collection, "format": "json"})
        url = f"{self.base_url}/getSeries?{query}"
        document = reader.read(url)
        expected = "a list of series with their SeriesInstanceUID"
        listed = _decode_json(document, list[_TciaSeries], url, expected)
        return [_series_archive(self.base_url, series.uid) for series in listed]


@dataclass(frozen=True, slots=True, kw_only=True)
class TciaManifests:
    """The series listed in the .tcia manifests of the download folder."""

    page: str
    manifests: int
    base_url: str = NBIA_API_URL

    @property
    def needs(self) -> str:
        """The manifests that you must save in the download folder."""
        return f"{self.manifests} .tcia manifests (images and segmentations) from {self.page}"

    def files(self, folder: Path, reader: DocumentReader) -> list[RemoteFile]:
        """Return one zip per series of all manifests."""
        manifests = sorted(folder.glob("*.tcia"))
        if len(manifests) < self.manifests:
            raise DatasetMissing(
                f"{folder}: expected {self.manifests} .tcia manifests, found {len(manifests)}; "
                f"save the manifests for images and for segmentations from {self.page} there"
            )
        # The manifests for images and for segmentations may list the same series.
        uids: dict[str, None] = {}
        for manifest in manifests:
            uids.update(dict.fromkeys(_listed_series(manifest)))
        return [_series_archive(self.base_url, uid) for uid in uids]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdcManifest:
    """The series in an s5cmd manifest of the Imaging Data Commons, downloaded from its public buckets by HTTPS."""

    collection: str  # IDC's name of the collection
    bucket_url: str = "https://{bucket}.s3.amazonaws.com"  # with `{bucket}` for the bucket's name
    page: str = field(
        default="https://portal.imaging.datacommons.cancer.gov/explore/", kw_only=True
    )

    @property
    def needs(self) -> str:
        """The manifest that you must save in the download folder."""
        return f"the s5cmd manifest (AWS) of the collection {self.collection} from {self.page}"

    def files(self, folder: Path, reader: DocumentReader) -> list[RemoteFile]:
        """Return every file of every listed series, with its MD5 checksum if the bucket states it."""
        manifests = sorted(folder.glob("*.s5cmd"))
        if not manifests:
            raise DatasetMissing(
                f"{folder}: expected {self.needs} as a file *.s5cmd there, found none"
            )
        text = "\n".join(_read_manifest(manifest) for manifest in manifests)
        locations = list(dict.fromkeys(match.groups() for match in _S3_LINE.finditer(text)))
        if not locations:
            raise DatasetError(
                f"{manifests[0]}: expected lines like 'cp s3://idc-open-data/SERIES/* .', found none"
            )
        files: list[RemoteFile] = []
        for bucket, prefix in locations:
            files.extend(self._list_prefix(bucket, prefix, reader))
        return files

    def _list_prefix(
        self,
        bucket: str,
        prefix: str,
        reader: DocumentReader,
    ) -> Iterator[RemoteFile]:
        """Yield the files below a prefix of a bucket, page by page."""
        base = self.bucket_url.format(bucket=bucket)
        query = {"list-type": "2", "prefix": f"{prefix}/"}
        for _ in range(_MOST_PAGES):
            url = f"{base}/?{urllib.parse.urlencode(query)}"
            page = parse_xml(reader.read(url, most_bytes=_PAGE_BYTES), url)
            for entry in page.iterfind("{*}Contents"):
                key = entry.findtext("{*}Key", "")
                tag = entry.findtext("{*}ETag", "").strip('"')
                size = entry.findtext("{*}Size", "0")
                if not re.fullmatch("[0-9]{1,18}", size):
                    raise DatasetError(
                        f"{url}: expected the size of {key} in bytes, got {size[:80]!r}"
                    )
                series = _check_plain_name(prefix.rsplit("/", 1)[-1], url)
                name = _check_plain_name(key.rsplit("/", 1)[-1], url)
                # The ETag of an object that was uploaded in parts contains a dash and is not its
                # MD5 checksum.
                is_md5 = re.fullmatch("[0-9a-f]{32}", tag) is not None
                yield RemoteFile(
                    url=f"{base}/{urllib.parse.quote(key)}",
                    path=f"{series}/{name}",
                    size_bytes=int(size),
                    md5=tag if is_md5 else None,
                )
            token = page.findtext("{*}NextContinuationToken", "")
            if not token:
                return
            query["continuation-token"] = token
        raise DatasetError(
            f"{base}: expected at most {_MOST_PAGES:,} pages that list {prefix}, got more; download cancelled"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualDownload:
    """Files that you can only download manually, with a browser."""

    page: str
    wanted: tuple[str, ...]

    @property
    def needs(self) -> str:
        """The files that you must download manually."""
        return f"{', '.join(self.wanted)} from {self.page}"

    def files(self, folder: Path, reader: DocumentReader) -> list[RemoteFile]:
        """Check that the files are in the folder, and return an empty list.

        Raises:
            DatasetMissing: files are missing; the message names them and the folder.
        """
        missing = [pattern for pattern in self.wanted if not any(folder.rglob(pattern))]
        if missing:
            raise DatasetMissing(
                f"{folder}: this dataset cannot be downloaded automatically; download "
                f"{', '.join(missing)} from {self.page} with a browser, put it "
                "there, and run the same command without --fetch"
            )
        return []


def _series_archive(base_url: str, uid: str) -> RemoteFile:
    if not re.fullmatch(r"[0-9.]{1,64}", uid):
        raise DatasetError(f"{uid!r}: expected a DICOM series UID, digits and dots")
    return RemoteFile(
        url=f"{base_url}/getImage?SeriesInstanceUID={uid}", path=f"{uid}.zip", folder=uid
    )


def _listed_series(manifest: Path) -> list[str]:
    _, _, text = _read_manifest(manifest).partition("ListOfSeriesToDownload=")
    if not text.strip():
        raise DatasetError(
            f"{manifest}: expected a TCIA manifest with ListOfSeriesToDownload=, found no series in it"
        )
    return text.split()


def _read_manifest(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{file}: expected a manifest as text, got: {error}") from error


def _decode_json(
    text: bytes,
    kind: type[_Answer],
    url: str,
    expected: str,
) -> _Answer:
    """Return the fields of `kind` from a JSON document; its other fields are ignored."""
    try:
        return msgspec.json.decode(text, type=kind, strict=False)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{url}: expected {expected}, got something else ({error}); try again later"
        ) from error


def _check_plain_name(name: str, url: str) -> str:
    if name in ("", ".", "..") or re.search(r"[/\\:\0]", name):
        raise DatasetError(f"{url}: expected plain file names, got {name!r}")
    return name
