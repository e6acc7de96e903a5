"""Samples that a practice and a test phase share are detected, even with another size or file format."""

from contextlib import nullcontext
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from segarena.errors import InvalidInput
from segarena.protocol.sample_serialization import pack_sample
from segarena.registry import build
from segarena.samples import ImageSample
from segarena_server.challenges.challenge_management import (
    existing_challenge,
    make_challenge,
    stored_phases,
)
from segarena_server.challenges.challenge_repository import description_of
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.sample_overlap import (
    revealed_tests,
    shared_samples,
    signature_of,
    signature_of_body,
)
from segarena_server.challenges.sample_pool import preview_phases
from segarena_server.db.orm_models import Challenge
from segarena_server.preflight import check
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

PRACTICE = Phase(name="practice", kind="practice")
TEST = Phase(name="final")


@pytest.fixture(scope="module")
def photographs():
    demo = build("dataset", "demo")
    return {name: demo.load(name).image for name in demo.sample_ids}


def as_sample(image):
    return ImageSample(id="x", image=np.ascontiguousarray(image, dtype=np.uint8))


def as_jpeg(image, quality):
    file = BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def half_size(image):
    return np.asarray(Image.fromarray(image).resize((image.shape[1] // 2, image.shape[0] // 2)))


COPIES = {
    "compressed": lambda image: as_jpeg(image, 30),
    "half the size": half_size,
    "darker with less contrast": lambda image: (0.7 * image + 20).astype(np.uint8),
    "small and compressed": lambda image: as_jpeg(half_size(image), 60),
}


@pytest.mark.long
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_is_found(photographs, how):
    first = [(name, signature_of(as_sample(image))) for name, image in photographs.items()]
    second = [
        (f"copy of {name}", signature_of(as_sample(COPIES[how](image))))
        for name, image in photographs.items()
    ]
    found = {(one.first, one.second) for one in shared_samples(first, second)}
    assert found == {(name, f"copy of {name}") for name in photographs}
    assert not any(one.is_exact for one in shared_samples(first, second))


@pytest.mark.long
def test_other_photographs_patients_and_videos_are_not(photographs):
    names = list(photographs)
    of = {name: signature_of(as_sample(image)) for name, image in photographs.items()}
    first = [(name, of[name]) for name in names[:5]]
    second = [(name, of[name]) for name in names[5:]]
    for dataset in (
        "phantom(cases=4, shape=(20, 48, 48))",
        "demo-videos(size=(60, 100), frames=8)",
    ):
        data = build("dataset", dataset)
        signatures = [(name, signature_of(data.load(name))) for name in data.sample_ids]
        first += signatures[::2]
        second += signatures[1::2]
    assert shared_samples(first, second) == []


def test_the_same_pixels_are_found_whatever_they_look_like():
    black = as_sample(np.zeros((8, 9, 3)))
    assert signature_of(black).greys == b""
    (found,) = shared_samples([("a", signature_of(black))], [("b", signature_of(black))])
    assert (found.first, found.second, found.is_exact) == ("a", "b", True)
    grey = as_sample(np.full((8, 9, 3), 7))
    assert shared_samples([("a", signature_of(black))], [("b", signature_of(grey))]) == []


def test_crops_and_reflections_are_not_found(photographs):
    """The limits that the docs state."""
    image = photographs["astronaut"]
    first = [("a", signature_of(as_sample(image)))]
    margin = image.shape[0] // 10
    for other in (image[margin:, margin:], image[:, ::-1]):
        assert shared_samples(first, [("b", signature_of(as_sample(other)))]) == []


def test_a_packed_sample_has_the_same_signature(photographs):
    sample = as_sample(photographs["camera"])
    assert signature_of_body(pack_sample(sample)) == signature_of(sample)


@pytest.fixture(scope="module")
def pools(photographs, tmp_path_factory):
    """Datasets as written: two photographs; a compressed copy of one of them with another one; and two others."""
    folder = tmp_path_factory.mktemp("pools")
    kinds = {
        "test": {"astronaut": photographs["astronaut"], "camera": photographs["camera"]},
        "copy": {"a": as_jpeg(photographs["astronaut"], 60), "b": photographs["china"]},
        "other": {"a": photographs["china"], "b": photographs["chelsea"]},
    }
    for kind, images in kinds.items():
        for name, image in images.items():
            mask = np.zeros(image.shape[:2], dtype=np.uint8)
            mask[20:90, 30:80] = 255
            for part, content in (("images", image), ("masks", mask)):
                path = folder / kind / part
                path.mkdir(parents=True, exist_ok=True)
                Image.fromarray(content).save(path / f"{name}.png")
    return {kind: f"folder(path={str(folder / kind)!r})" for kind in kinds}


def describe(slug, dataset, *phases, **fields):
    return ChallengeDescription(
        slug=slug,
        title=slug,
        benchmark="clicks(rounds=1)",
        dataset=dataset,
        phases=phases,
        **fields,
    )


def with_practice(pools, kind, **fields):
    practice = Phase(name="practice", kind="practice", dataset=pools[kind])
    return describe("c", pools["test"], practice, TEST, **fields)


@pytest.fixture
def site(tmp_path):
    made = open_site(tmp_path / "data", Settings())
    yield made
    made.database.close()


@pytest.mark.long
def test_a_practice_of_the_same_pool_is_refused_at_once(site):
    expected = r"^phases\[0\]\.dataset: expected samples other than those of final"
    with pytest.raises(InvalidInput, match=expected):
        make_challenge(site, describe("c", "demo", PRACTICE, TEST))


@pytest.mark.long
def test_a_practice_with_a_copy_is_refused_unless_it_is_allowed_in_words(site, pools):
    expected = r"c/practice reveals the ground truth of 1 of 2 .* test c/final .*nearly the same pixels.* astronaut"
    with pytest.raises(InvalidInput, match=expected):
        make_challenge(site, with_practice(pools, "copy"))
    make_challenge(site, with_practice(pools, "copy", practice_may_reveal_test=True))
    assert description_of(existing_challenge(site, "c")).practice_may_reveal_test


def test_a_practice_of_other_samples_is_made(site, pools):
    make_challenge(site, with_practice(pools, "other"))
    assert revealed_tests(_stored(site)) == []


@pytest.mark.long
def test_a_preview_refuses_it_too(pools):
    described = with_practice(pools, "copy")
    with pytest.raises(
        InvalidInput, match="practice c/practice reveals the ground truth of 1 of 2"
    ):
        preview_phases(Evaluator(described), described, lambda done, of: nullcontext())
    described = with_practice(pools, "other")
    lines = [
        phase.lasts
        for phase in preview_phases(Evaluator(described), described, lambda done, of: nullcontext())
    ]
    assert lines[1] == "final: 2 samples: 1 ranked run of 2 for each team"


@pytest.mark.long
def test_a_practice_of_another_challenge_is_refused_and_one_that_is_there_is_a_fault(
    site, pools, tmp_path
):
    make_challenge(site, describe("tested", pools["test"], TEST))
    practice = describe("tried", pools["copy"], PRACTICE)
    with pytest.raises(InvalidInput, match=r"practice tried/practice reveals .* test tested/final"):
        make_challenge(site, practice)
    make_challenge(site, describe("tried", pools["copy"], PRACTICE, practice_may_reveal_test=True))
    assert not any(
        "reveals the ground truth" in fault for fault in check(tmp_path / "data", None, {}).faults
    )
    with site.database.writing() as session:
        row = session.get_one(Challenge, existing_challenge(site, "tried").id)
        row.description = row.description.replace(
            '"practice_may_reveal_test": true', '"practice_may_reveal_test": false'
        )
    faults = [fault for fault in check(tmp_path / "data", None, {}).faults if "reveals" in fault]
    assert len(faults) == 1
    assert faults[0].startswith(
        "practice tried/practice reveals the ground truth of 1 of 2 samples of test"
    )


def test_a_practice_shows_only_the_samples_that_its_runs_have(site, pools):
    # The copy is the first sample of the pool; a practice of the second pool alone has another first one.
    practice = Phase(name="practice", kind="practice", dataset=pools["other"], samples_per_run=1)
    make_challenge(
        site, describe("c", pools["copy"], practice, TEST, practice_may_reveal_test=True)
    )
    (tried, tested) = _stored(site)
    assert [name for name, _ in tried.samples] == ["a"]
    assert len(tested.samples) == 2


def _stored(site):
    with site.database.reading() as session:
        return stored_phases(session)
