"""Common parts of preparing any set: folders, records, resuming, bad input. PENGWIN represents all sets."""

import dataclasses
import hashlib
import json
import shutil
import zipfile

import numpy as np
import pytest

from segarena.errors import DatasetError, DatasetMissing, InvalidInput, StoreError
from segarena.files.atomic_write import write_error
from segarena.systems.volumes.files.volume_io import read_labels, read_volume
from segarena.systems.volumes.preparation import prepare as module
from segarena.systems.volumes.preparation.dataset_catalogue import SETS, find_set
from segarena.systems.volumes.preparation.download_sources import IdcManifest, TciaCollection
from segarena.systems.volumes.preparation.file_download import download_files
from segarena.systems.volumes.preparation.prepare import prepare_set

pytestmark = pytest.mark.usefixtures("quick_workers")


@pytest.fixture
def raw(tmp_path, write_volume):
    """Three patients of PENGWIN: 1, 2 and 3 fragments."""
    for number in (1, 2, 3):
        labels = np.zeros((2, 3, 4), np.uint8)
        labels[0, 0, :number] = [10, 20, 30][:number]
        image = np.full((2, 3, 4), number, np.int16)
        write_volume(
            tmp_path / "raw" / "images" / f"{number:03d}.mha",
            image,
            (0.5, 0.5, 2.0),
            (3.0, 4.0, 5.0),
        )
        write_volume(
            tmp_path / "raw" / "labels" / f"{number:03d}.mha",
            labels,
            (0.5, 0.5, 2.0),
            (3.0, 4.0, 5.0),
        )
    return tmp_path / "raw"


@pytest.fixture
def converted(monkeypatch):
    """The names of the converted cases, without those that were already done."""
    names = []
    convert = module._convert_one

    def noted(case, **options):
        names.append(case.id)
        return convert(case, **options)

    monkeypatch.setattr(module, "_convert_one", noted)
    return names


def test_the_folder_can_be_read_by_the_packages_own_readers(raw, prepared, tmp_path):
    result, _ = prepared("pengwin")
    out = tmp_path / "out"
    assert sorted(
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()
    ) == [
        "dataset.json",
        *(f"imagesTr/{number:03d}_0000.nii.gz" for number in (1, 2, 3)),
        *(f"labelsTr/{number:03d}.nii.gz" for number in (1, 2, 3)),
        "prepared.json",
    ]
    voxels, grid = read_volume(out / "imagesTr" / "003_0000.nii.gz")
    labels = read_labels(out / "labelsTr" / "003.nii.gz")
    assert (voxels == 3).all()
    assert np.unique(labels.groups[0]).tolist() == [0, 1, 2, 3]
    assert np.allclose(labels.grid.affine, grid.affine)
    assert result.folders == (out,)


def test_dataset_json_says_what_the_labels_mean(raw, prepared, tmp_path):
    prepared("pengwin")
    told = json.loads((tmp_path / "out" / "dataset.json").read_text())
    assert told["labels"] == {"background": 0, "bone fragment": 1}
    wanted = {
        "name": "pengwin",
        "kind": "instance",
        "modality": "CT",
        "layout": "label-map",
        "numTraining": 3,
    }
    assert {key: told[key] for key in wanted} == wanted


def test_prepared_json_names_every_input_and_its_checksum(raw, prepared):
    result, summary = prepared("pengwin")
    assert summary["counts"] == {
        "stated": 100,
        "prepared": 3,
        "left_out": 0,
        "failed": 0,
        "objects": {"all": 6},
    }
    (image, label) = summary["cases"][1]["inputs"]
    path = raw / "labels" / "002.mha"
    assert label == {
        "path": "labels/002.mha",
        "bytes": path.stat().st_size,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    assert image["path"] == "images/002.mha"
    assert not result.is_as_stated


def test_as_many_cases_as_stated_and_none_failed_is_as_stated(raw, tmp_path):
    three = dataclasses.replace(SETS["pengwin"], cases=3)
    assert prepare_set(three, raw, tmp_path / "out").is_as_stated
    (raw / "labels" / "003.mha").unlink()
    assert not prepare_set(dataclasses.replace(three, cases=2), raw, tmp_path / "out2").is_as_stated


def test_a_second_run_converts_nothing_and_says_the_same(raw, prepared, converted):
    _, first = prepared("pengwin")
    _, second = prepared("pengwin")
    assert first == second
    assert converted == ["001", "002", "003"]


def test_a_run_that_was_killed_goes_on(raw, prepared, converted, monkeypatch, tmp_path):
    write = module.write_labels

    def stop_at_the_third(labels, image, path):
        if path.name == "003":
            raise KeyboardInterrupt
        write(labels, image, path)

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_labels", stop_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            prepared("pengwin")
    # As the version before left it: a case per line, the last one cut off.
    file = tmp_path / "out" / "prepared.partial.jsonl"
    cases = [json.loads(line)["value"] for line in file.read_text().splitlines()[1:]]
    file.write_text("".join(json.dumps(case) + "\n" for case in cases) + '{"id": "003", "inp')
    _, summary = prepared("pengwin")
    assert converted == ["001", "002", "003", "003"]
    assert summary["counts"]["prepared"] == 3
    assert not (tmp_path / "out" / "prepared.partial.jsonl").exists()


@pytest.mark.long
def test_processes_prepare_the_same(raw, tmp_path):
    (raw / "labels" / "002.mha").write_bytes(b"no volume")
    here, there = (
        prepare_set(SETS["pengwin"], raw, tmp_path / str(count), workers=count) for count in (0, 2)
    )
    assert (here.cases, list(here.failed)) == (there.cases, list(there.failed))
    files = [
        [(path.name, path.read_bytes()) for path in sorted((tmp_path / name).rglob("*.nii.gz"))]
        for name in "02"
    ]
    assert files[0] == files[1]
    assert len(files[0]) == 4


def test_changed_inputs_and_lost_outputs_are_made_anew(
    raw, prepared, converted, write_volume, tmp_path
):
    prepared("pengwin")
    write_volume(raw / "images" / "001.mha", np.ones((2, 3, 4), np.float64))
    (tmp_path / "out" / "labelsTr" / "002.nii.gz").unlink()
    prepared("pengwin")
    assert converted[3:] == ["001", "002"]


def test_earlier_results_that_are_not_of_this_download_are_named(raw, prepared, capfd):
    prepared("pengwin")
    path = raw / "images" / "001.mha"
    path.write_bytes(path.read_bytes()[:-5])
    (raw / "labels" / "002.mha").unlink()
    (raw / "images" / "003.mha").rename(raw / "images" / "004.mha")
    (raw / "labels" / "003.mha").rename(raw / "labels" / "004.mha")
    for _ in range(2):
        result, _ = prepared("pengwin")
        assert [case.id for case in result.cases] == ["004"]
        assert sorted(result.failed) == ["001", "002", "003"]
        assert all(
            "the folder contains an earlier result" in reason for reason in result.failed.values()
        )
        assert result.failed["002"].startswith("no label of that name; ")


def test_a_limit_tries_some_and_the_rest_follows(raw, prepared, converted):
    result, summary = prepared("pengwin", limit=1)
    assert (len(result.cases), result.is_partial, summary["is_partial"]) == (1, True, True)
    result, _ = prepared("pengwin")
    assert (len(result.cases), result.is_partial) == (3, False)
    assert len(prepared("pengwin", limit=1)[0].cases) == 3
    assert converted == ["001", "002", "003"]


def test_damaged_cases_are_named_and_the_others_go_on(raw, prepared, capfd):
    path = raw / "images" / "002.mha"
    path.write_bytes(path.read_bytes()[:-10])
    result, summary = prepared("pengwin")
    assert [case.id for case in result.cases] == ["001", "003"]
    assert "002.mha: expected a readable volume" in summary["failed"]["002"]


def test_progress_tells_each_case(raw, prepared):
    told = []
    prepared(
        "pengwin", on_progress=lambda state: told.append((state.stage, state.done, state.units))
    )
    assert told == [("convert", 0, 3), ("convert", 1, 3), ("convert", 2, 3), ("convert", 3, 3)]


def test_archives_are_unpacked_beside_themselves_once(raw, prepared, tmp_path):
    archive = tmp_path / "PENGWIN_CT_all.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for path in sorted(raw.rglob("*.mha")):
            out.write(path, path.relative_to(raw).as_posix())
    shutil.rmtree(raw)
    raw.mkdir()
    archive.rename(raw / archive.name)
    result, _ = prepared("pengwin")
    assert len(result.cases) == 3
    inside = raw / "PENGWIN_CT_all" / "labels" / "001.mha"
    before = inside.stat().st_mtime_ns
    prepared("pengwin")
    assert inside.stat().st_mtime_ns == before


def test_a_truncated_archive_is_one_line(tmp_path, prepared):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "PENGWIN_CT_train_labels.zip").write_bytes(b"PK\3\4 and no more")
    with pytest.raises(DatasetError, match="delete the file and fetch it again"):
        prepared("pengwin")


def test_nothing_there_says_how_to_get_it(tmp_path, prepared):
    with pytest.raises(
        DatasetMissing, match=r"found none; download it with --fetch \(7\.5 GB from https://zenodo"
    ):
        prepared("pengwin")
    (tmp_path / "raw").mkdir()
    with pytest.raises(DatasetMissing, match="found no case of PENGWIN"):
        prepared("pengwin")
    with pytest.raises(DatasetMissing, match="Supplementary Table 2"):
        prepared("ms_flair")
    with pytest.raises(DatasetMissing, match="expected DICOM files"):
        prepared("lnq")


def test_a_folder_of_another_set_is_refused(raw, prepared, tmp_path):
    prepared("pengwin")
    with pytest.raises(
        DatasetError, match="expected the prepared dataset 'hntsmrg', found 'pengwin'"
    ):
        prepared("hntsmrg")
    case = '{"id": "1", "inputs": [], "objects": {"": null}, "notes": []}'
    written = [f'{{"name": "pengwin", "cases": [{one}]}}' for one in ('"a"', case)]
    for text in ("{}", "[" * 100_000, *written):
        (tmp_path / "out" / "prepared.json").write_text(text)
        with pytest.raises(DatasetError, match="expected a record of an earlier preparation"):
            prepared("pengwin")


def test_a_disk_that_is_full_stops_and_keeps_what_is_done(raw, prepared, monkeypatch):
    write = module.write_image

    def full_at_the_second(image, path):
        if path.name.startswith("002"):
            raise write_error(path, OSError(28, "No space left on device"))
        write(image, path)

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_image", full_at_the_second)
        with pytest.raises(StoreError, match=r"the disk is full\. Free disk space"):
            prepared("pengwin")
    assert len(prepared("pengwin")[0].cases) == 3


def test_names_that_are_no_file_names_fail_alone(tmp_path, write_ct, write_seg):
    for folder, patient in (("a", "../x"), ("b", "Good")):
        ct = write_ct(tmp_path / "dicom" / folder, np.zeros((2, 4, 4)), patient=patient)
        write_seg(tmp_path / "dicom" / f"{folder}.dcm", ct, [("Tumor", np.ones((2, 4, 4)))])
    result = prepare_set(SETS["colorectal"], tmp_path / "dicom", tmp_path / "out")
    assert [case.id for case in result.cases] == ["Good"]
    assert result.failed == {"../x": "its name cannot be the name of a file"}


def test_a_second_case_of_a_name_fails_alone(tmp_path, write_volume):
    for copy in ("a", "b"):
        folder = tmp_path / "raw" / copy / "10" / "preRT"
        write_volume(folder / "10_preRT_T2.nii.gz", np.ones((2, 3, 4), np.float32))
        write_volume(folder / "10_preRT_mask.nii.gz", np.ones((2, 3, 4), np.uint8))
    result = prepare_set(SETS["hntsmrg"], tmp_path / "raw", tmp_path / "out")
    assert [case.id for case in result.cases] == ["10_preRT"]
    assert result.failed == {"10_preRT (again)": "a second case with this name"}


def test_a_set_is_fetched_unpacked_and_prepared_from_a_server(raw, tmp_path, zenodo, web):
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for path in sorted(raw.rglob("*.mha")):
            out.write(path, path.relative_to(raw).as_posix())
    served = dataclasses.replace(
        SETS["pengwin"], source=zenodo({"PENGWIN_CT.zip": archive.read_bytes()}), cases=3
    )
    assert download_files(served.source, tmp_path / "fetched", web=web.web) == 1
    assert prepare_set(served, tmp_path / "fetched", tmp_path / "out").is_as_stated


def test_the_ten_are_those_of_table_1():
    stated = {one.paper: (one.name, one.cases, one.modality) for one in SETS.values()}
    assert list(stated) == [f"D{number}" for number in range(1, 11)]
    assert [cases for _, cases, _ in stated.values()] == [
        60,
        42,
        135,
        58,
        513,
        171,
        53,
        65,
        100,
        30,
    ]
    assert [name for name, _, modality in stated.values() if modality == "MR"] == [
        "ms_flair",
        "hanseg",
        "hntsmrg",
    ]


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(InvalidInput, match="did you mean 'pengwin'"):
        find_set("penguin")


def test_nifti_folder_finds_the_cases_and_their_objects(raw, prepared, tmp_path):
    from segarena.systems.volumes.datasets.nifti_folder import NiftiFolder

    prepared("pengwin")
    dataset = NiftiFolder(path=str(tmp_path / "out"), labels="instance")
    assert list(dataset.sample_ids) == ["001", "002", "003"]
    sample = dataset.load("003")
    assert (sample.modality, len(sample.targets)) == ("CT", 3)
    assert not [finding for finding in dataset.check() if finding.is_error]


@pytest.fixture
def scan(tmp_path, write_ct, write_seg, box):
    """The DICOM files of one patient with one lesion, by series."""
    shape = (3, 6, 6)
    ct = write_ct(tmp_path / "made" / "1.1", np.zeros(shape), patient="CRLM-CT-1001")
    write_seg(
        tmp_path / "made" / "1.2" / "1.dcm", ct, [("Tumor_1", box(shape, ((0, 0, 0), (2, 2, 2))))]
    )
    return {uid: sorted((tmp_path / "made" / uid).iterdir()) for uid in ("1.1", "1.2")}


def test_a_tcia_collection_is_fetched_and_prepared(scan, server, web, tmp_path):
    listed = [{"SeriesInstanceUID": uid} for uid in scan]
    server.files["/getSeries?Collection=Nodes&format=json"] = json.dumps(listed).encode()
    for uid, files in scan.items():
        packed = tmp_path / f"{uid}.zip"
        with zipfile.ZipFile(packed, "w") as out:
            for path in files:
                out.write(path, path.name)
        server.files[f"/getImage?SeriesInstanceUID={uid}"] = packed.read_bytes()
    source = TciaCollection(collection="Nodes", page="", base_url=server.url)
    served = dataclasses.replace(SETS["lnq"], source=source, cases=1)
    assert download_files(served.source, tmp_path / "fetched", web=web.web) == 2
    assert prepare_set(served, tmp_path / "fetched", tmp_path / "out").is_as_stated


def test_an_idc_manifest_is_fetched_and_prepared(scan, server, web, tmp_path):
    (tmp_path / "fetched").mkdir()
    (tmp_path / "fetched" / "livers.s5cmd").write_text(
        "".join(f"cp s3://open/{uid}/* .\n" for uid in scan)
    )
    for uid, files in scan.items():
        contents = ""
        for path in files:
            server.files[f"/open/{uid}/{path.name}"] = path.read_bytes()
            tag = hashlib.md5(path.read_bytes()).hexdigest()
            size = path.stat().st_size
            contents += (
                f"<Contents><Key>{uid}/{path.name}</Key><ETag>&quot;{tag}&quot;</ETag>"
                f"<Size>{size}</Size></Contents>"
            )
        listing = f"<ListBucketResult>{contents}</ListBucketResult>"
        server.files[f"/open/?list-type=2&prefix={uid}%2F"] = listing.encode()
    source = IdcManifest(collection="livers", bucket_url=server.url + "/{bucket}")
    served = dataclasses.replace(SETS["colorectal"], source=source, cases=1)
    assert download_files(served.source, tmp_path / "fetched", web=web.web) == 4
    result = prepare_set(served, tmp_path / "fetched", tmp_path / "out")
    assert result.is_as_stated
    assert result.cases[0].objects == {"": 1}
