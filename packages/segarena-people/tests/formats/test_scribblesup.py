import numpy as np
import pytest
from PIL import Image

from segarena.errors import DatasetError, InvalidInput
from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts
from segarena_people.voc_masks import VOC_CLASSES

DOG = VOC_CLASSES.index("dog") + 1
PERSON = VOC_CLASSES.index("person") + 1


def polygon(tag, *points):
    inside = "".join(f"<point><X>{x}</X><Y>{y}</Y></point>" for x, y in points)
    return f"<polygon><tag>{tag}</tag>{inside}</polygon>"


def published(folder, name, *polygons, size=(20, 12)):
    """Write the strokes of one image and the classes of its pixels: a dog above, a person below, a void edge."""
    width = f"<width>{size[0]}</width>"
    height = f"<height>{size[1]}</height>"
    text = f"<annotation><filename>{name}.png</filename><size>{width}{height}<depth>3</depth></size>{''.join(polygons)}"
    (folder / "xml").mkdir(parents=True, exist_ok=True)
    (folder / "xml" / f"{name}.xml").write_text(f"{text}</annotation>")
    classes = np.zeros((12, 20), np.uint8)
    classes[1:5, 2:12], classes[5], classes[6:11, 5:15] = DOG, 255, PERSON
    picture = Image.fromarray(classes, "P")
    picture.putpalette([value for number in range(256) for value in (number, number // 2, 7)])
    (folder / "masks").mkdir(exist_ok=True)
    picture.save(folder / "masks" / f"{name}.png")
    return classes


def brought(folder):
    told = import_prompts(
        find_format("scribblesup"),
        folder / "xml",
        folder / "out",
        beside=ImportInputs(masks=folder / "masks"),
    )
    return told, Collection.open(folder / "out")


STROKES = (
    polygon("person", (6, 7), (9, 9)),
    polygon("dog", (3, 2), (4, 3), (8, 3)),
    polygon("person", (7, 10)),
    polygon("background", (18, 0), (18, 11)),
)


def test_strokes_of_a_class_are_one_prompt_about_its_pixels(tmp_path):
    classes = published(tmp_path, "2007_000033", *STROKES)
    told, given = brought(tmp_path)
    assert (told.prompts, told.left_out, told.findings) == (3, (), ())
    person, dog, background = given
    assert [one.row.target for one in given] == ["person", "dog", "background"]
    assert [prompt.points for prompt in person.prompts] == [
        ((7.0, 6.0), (9.0, 9.0)),
        ((10.0, 7.0),),
    ]
    assert dog.prompt.points == ((2.0, 3.0), (3.0, 4.0), (3.0, 8.0))
    assert np.array_equal(person.goal, classes == PERSON)
    assert np.array_equal(background.goal, (classes == PERSON) | (classes == DOG))
    assert not background.prompt.is_positive


def test_an_image_that_comes_twice_is_told(tmp_path):
    published(tmp_path, "2007_000033", *STROKES)
    (tmp_path / "xml" / "again").mkdir()
    (tmp_path / "xml" / "again" / "2007_000033.xml").write_text(
        (tmp_path / "xml" / "2007_000033.xml").read_text()
    )
    told, _ = brought(tmp_path)
    assert [finding.message for finding in told.findings] == ["3 rows with a duplicate id"]


def test_positions_are_scaled_to_the_mask(tmp_path):
    published(tmp_path, "2007_000033", polygon("dog", (7, 5)), size=(40, 24))
    _, (dog,) = brought(tmp_path)
    assert dog.prompt.points == ((2.25, 3.25),)


def test_masks_of_the_boundary_dataset_serve_as_well(tmp_path):
    savemat = pytest.importorskip("scipy.io").savemat
    classes = published(tmp_path, "2007_000033", *STROKES)
    (tmp_path / "masks" / "2007_000033.png").unlink()
    savemat(
        tmp_path / "masks" / "2007_000033.mat",
        {"GTcls": {"Segmentation": classes, "Boundaries": np.zeros(2)}},
    )
    _, given = brought(tmp_path)
    assert np.array_equal(given[0].goal, classes == PERSON)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text[:120], "expected XML"),
        (lambda text: text.replace("<tag>dog", "<tag>unicorn"), "the tag 'unicorn'"),
        (lambda text: text.replace("<X>3</X>", "<X>nan</X>"), "X to be a finite number"),
        (lambda text: text.replace("<X>3</X>", ""), "X to be a finite number"),
        (lambda text: text.replace("<width>20", "<width>0"), "size/width to be a finite number"),
        (lambda text: '<!DOCTYPE a [<!ENTITY b "c">]>' + text, "without a document type"),
    ],
)
def test_a_file_that_cannot_be_used_costs_only_itself(tmp_path, change, told):
    published(tmp_path, "2007_000033", *STROKES)
    published(tmp_path, "2007_000034", *STROKES)
    path = tmp_path / "xml" / "2007_000033.xml"
    path.write_text(change(path.read_text()))
    found, given = brought(tmp_path)
    assert len(found.left_out) == 1
    assert told in found.left_out[0]
    assert given.groups == ("voc/2007_000034",)


def test_what_is_missing_is_named(tmp_path):
    published(tmp_path, "2007_000033", *STROKES)
    published(tmp_path, "2007_000034", *STROKES)
    (tmp_path / "masks" / "2007_000034.png").unlink()
    found, _ = brought(tmp_path)
    assert "expected 2007_000034.png or 2007_000034.mat" in found.left_out[0]
    with pytest.raises(DatasetError, match="expected XML files"):
        find_format("scribblesup").open(tmp_path / "masks", ImportInputs(masks=tmp_path))
    with pytest.raises(InvalidInput, match="--masks"):
        find_format("scribblesup").open(tmp_path / "xml", ImportInputs())
