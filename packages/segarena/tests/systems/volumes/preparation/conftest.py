"""Small files in the real formats: a server, volumes, CT series and DICOM segmentations."""

import hashlib
import itertools
import json
import threading
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
import SimpleITK as sitk
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.pixels import pack_bits
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, SegmentationStorage

AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


class Handler(BaseHTTPRequestHandler):
    """Serves `files`, with ranges; first the faults of a path in `trouble`, one per request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = (
        True  # head and body are sent apart, and would wait 40 ms for each other
    )

    def log_message(self, *_):
        pass

    def do_GET(self):
        served = self.server.served
        served.requests.append((self.path, self.headers.get("Range")))
        trouble = served.trouble.get(self.path)
        if trouble:
            what = trouble.pop(0)
            if isinstance(what, tuple):
                return self.answer(what[0], b"", what[1])
            if what > 599:  # so many bytes, then the line goes dead
                return self.answer(200, served.files[self.path], stop_after=what - 1000)
            return self.answer(what, b"")
        if self.path not in served.files:
            return self.answer(404, b"")
        body, asked = served.files[self.path], self.headers.get("Range")
        if asked and served.has_ranges:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                return self.answer(416, b"")
            return self.answer(
                206, body[start:], {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"}
            )
        return self.answer(200, body)

    def answer(self, status, body, headers=None, stop_after=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if self.server.served.says_length or not body:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body[:stop_after])
        self.close_connection = True


@pytest.fixture
def server():
    """A web server on this machine: `url`, `files` by path, `trouble` by path, and the received `requests`."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.served = SimpleNamespace(
        url=f"http://127.0.0.1:{http.server_port}",
        files={},
        trouble={},
        requests=[],
        has_ranges=True,
        says_length=True,
    )
    thread = threading.Thread(
        target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    yield http.served
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def web():
    """A client that does not wait; `waits` are the seconds that it would have waited."""
    from segarena.systems.volumes.preparation.download_client import DownloadClient

    waits = []
    return SimpleNamespace(web=DownloadClient(sleep=waits.append), waits=waits)


@pytest.fixture
def zenodo(server):
    """Serve files as a Zenodo record; return the record's source."""
    from segarena.systems.volumes.preparation.download_sources import ZenodoRecord

    def serve(files):
        entries = []
        for name, body in files.items():
            server.files[f"/files/{name}"] = body
            entries.append(
                {
                    "key": name,
                    "size": len(body),
                    "checksum": f"md5:{hashlib.md5(body).hexdigest()}",
                    "links": {"self": f"{server.url}/files/{name}"},
                }
            )
        server.files["/api/records/1"] = json.dumps({"files": entries}).encode()
        return ZenodoRecord(record=1, base_url=server.url)

    return serve


@pytest.fixture
def write_volume():
    """Write an array (plane, row, column) as a volume file, and return its path."""

    def write(path, array, spacing=(1.0, 1.0, 1.0), origin=(0.0, 0.0, 0.0), direction=None):
        image = sitk.GetImageFromArray(np.asarray(array))
        image.SetSpacing(spacing)
        image.SetOrigin(origin)
        if direction is not None:
            image.SetDirection(direction)
        path.parent.mkdir(parents=True, exist_ok=True)
        sitk.WriteImage(image, str(path))
        return path

    return write


@pytest.fixture
def read_array():
    """Return the array (plane, row, column) of a volume file."""
    return lambda path: sitk.GetArrayFromImage(sitk.ReadImage(str(path)))


@pytest.fixture
def new_uid():
    """Return a new UID at every call, in ascending order."""
    numbers = itertools.count(1001)
    return lambda: f"1.2.826.0.1.{next(numbers)}"


def _dataset(sop_class, uid):
    ds = Dataset()
    ds.file_meta = FileMetaDataset()
    ds.file_meta.MediaStorageSOPClassUID = sop_class
    ds.file_meta.MediaStorageSOPInstanceUID = uid
    ds.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    ds.SOPClassUID, ds.SOPInstanceUID = sop_class, uid
    ds.ContentDate = date(2020, 1, 1).strftime("%Y%m%d")
    return ds


@pytest.fixture
def write_ct(new_uid):
    """Write Hounsfield units (plane, row, column) as a CT series, one file per slice in mixed order.

    Returns what a segmentation needs to know about it.
    """

    def write(
        folder,
        hounsfield,
        *,
        patient="P1",
        study=None,
        description="chest",
        spacing=(2.0, 0.5, 0.75),
        origin=(-10.0, 5.0, 100.0),
        orientation=AXIAL,
        slope=2.0,
        intercept=-1024.0,
        positions=None,
    ):
        hounsfield = np.asarray(hounsfield)
        series, study = new_uid(), study or new_uid()
        along_row, along_column = np.array(orientation[:3]), np.array(orientation[3:])
        normal = np.cross(along_row, along_column)
        heights = np.arange(len(hounsfield)) * spacing[0] if positions is None else positions
        folder.mkdir(parents=True, exist_ok=True)
        for plane, height in enumerate(heights):
            ds = _dataset(CTImageStorage, new_uid())
            ds.PatientID, ds.StudyInstanceUID, ds.SeriesInstanceUID = patient, study, series
            ds.Modality, ds.SeriesDescription = "CT", description
            ds.ImageOrientationPatient = list(orientation)
            ds.ImagePositionPatient = [float(x) for x in np.array(origin) + height * normal]
            ds.PixelSpacing, ds.SliceThickness = list(spacing[1:]), spacing[0]
            ds.Rows, ds.Columns = hounsfield.shape[1:]
            ds.SamplesPerPixel, ds.PhotometricInterpretation = 1, "MONOCHROME2"
            ds.BitsAllocated, ds.BitsStored, ds.HighBit, ds.PixelRepresentation = 16, 16, 15, 0
            ds.RescaleSlope, ds.RescaleIntercept = slope, intercept
            ds.PixelData = np.rint((hounsfield[plane] - intercept) / slope).astype("<u2").tobytes()
            ds.save_as(folder / f"{(plane * 7) % 10}_{plane}.dcm", enforce_file_format=True)
        return SimpleNamespace(
            series=series, study=study, patient=patient, spacing=spacing, origin=origin, orientation=orientation,
            shape=hounsfield.shape,
        )  # fmt: skip

    return write


@pytest.fixture
def write_seg(new_uid):
    """Write masks (plane, row, column) on the grid of a CT, or one shifted by whole planes, as a DICOM SEG."""

    def write(
        path,
        ct,
        segments,
        *,
        kind="BINARY",
        description="Segmentation",
        all_frames=True,
        first_plane=0,
        origin=None,
        spacing=None,
        orientation=None,
        refers_to=None,
        says_spacing=True,
    ):
        origin, spacing = np.array(origin or ct.origin), spacing or ct.spacing
        orientation = orientation or ct.orientation
        normal = np.cross(orientation[:3], orientation[3:])
        ds = _dataset(SegmentationStorage, new_uid())
        ds.PatientID, ds.StudyInstanceUID, ds.SeriesInstanceUID = ct.patient, ct.study, new_uid()
        ds.Modality, ds.SeriesDescription, ds.SegmentationType = "SEG", description, kind
        referenced = Dataset()
        referenced.SeriesInstanceUID = refers_to or ct.series
        ds.ReferencedSeriesSequence = [referenced]
        shared = Dataset()
        measures, turned = Dataset(), Dataset()
        # Slices of a CT may overlap.
        measures.PixelSpacing, measures.SliceThickness = list(spacing[1:]), 2 * spacing[0]
        if says_spacing:
            measures.SpacingBetweenSlices = spacing[0]
        turned.ImageOrientationPatient = list(orientation)
        shared.PixelMeasuresSequence, shared.PlaneOrientationSequence = [measures], [turned]
        ds.SharedFunctionalGroupsSequence = [shared]
        described, groups, frames = [], [], []
        for number, (name, mask) in enumerate(segments, start=1):
            segment = Dataset()
            segment.SegmentNumber, segment.SegmentLabel = number, name
            described.append(segment)
            for plane, frame in enumerate(np.asarray(mask)):
                if not (all_frames or frame.any()):
                    continue
                group, identified, placed = Dataset(), Dataset(), Dataset()
                identified.ReferencedSegmentNumber = number
                height = (plane + first_plane) * spacing[0]
                placed.ImagePositionPatient = [float(x) for x in origin + height * normal]
                group.SegmentIdentificationSequence, group.PlanePositionSequence = (
                    [identified],
                    [placed],
                )
                groups.append(group)
                frames.append(frame)
        ds.SegmentSequence, ds.PerFrameFunctionalGroupsSequence = described, groups
        ds.NumberOfFrames, (ds.Rows, ds.Columns) = len(frames), frames[0].shape
        ds.SamplesPerPixel, ds.PhotometricInterpretation, ds.PixelRepresentation = (
            1,
            "MONOCHROME2",
            0,
        )
        bits = 1 if kind == "BINARY" else 8
        ds.BitsAllocated = ds.BitsStored = bits
        ds.HighBit = bits - 1
        pixels = np.stack(frames)
        if kind == "BINARY":
            ds.PixelData = pack_bits(pixels.astype(np.uint8))
        else:
            ds.MaximumFractionalValue, ds.SegmentationFractionalType = 200, "PROBABILITY"
            ds.PixelData = pixels.astype(np.uint8).tobytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        ds.save_as(path, enforce_file_format=True)
        return path

    return write


@pytest.fixture
def box():
    """Return a mask of a shape with boxes in it, each (plane, row, column) from and to."""

    def draw(shape, *corners):
        mask = np.zeros(shape, dtype=bool)
        for low, high in corners:
            mask[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = True
        return mask

    return draw


@pytest.fixture
def prepared(tmp_path):
    """Prepare a set from tmp_path / "raw" to tmp_path / "out"; returns the result and prepared.json."""
    from segarena.systems.volumes.preparation.dataset_catalogue import find_set
    from segarena.systems.volumes.preparation.prepare import prepare_set

    def call(name, **options):
        result = prepare_set(find_set(name), tmp_path / "raw", tmp_path / "out", **options)
        return result, json.loads((tmp_path / "out" / "prepared.json").read_text())

    return call
