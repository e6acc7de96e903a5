"""Click models by name, and groups of users that share one."""

import numpy as np
import pytest

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue
from segarena.errors import InvalidInput, PluginInvalid, UnknownPlugin
from segarena.registry import build, plugins_by_name
from segarena.roles import Turn
from segarena.samples import ImageSample, Target
from segarena.systems.clicks.models.click_models import shared_map, weights_file

WITHOUT_FILES = (
    "uniform",
    "depth",
    "depth(border='published')",
    "saliency-crop",
    "saliency-cutout",
    "crowd",
)


def picture():
    rng = np.random.default_rng(0)
    target = np.zeros((40, 50), dtype=bool)
    target[8:30, 10:35] = True
    return rng.integers(0, 256, (40, 50, 3), dtype=np.uint8), target


@pytest.mark.parametrize("text", WITHOUT_FILES)
def test_models_without_weights_map_any_error(text):
    image, target = picture()
    model = build("click-model", text)
    values = model(image, target, target)
    assert values.shape == target.shape
    assert values.min() >= 0
    assert values[target].sum() > 0
    assert not model(image, target, np.zeros_like(target)).any()


def test_a_network_is_loaded_from_its_file_and_shared(tmp_path):
    pytest.importorskip("torch")
    from segarena.systems.clicks.network.checkpoint import save_checkpoint
    from segarena.systems.clicks.network.model import ClickabilityNetwork

    path = tmp_path / "tiny.pt"
    save_checkpoint(path, ClickabilityNetwork("tiny"))
    text = f"network(path={str(path)!r}, device='cpu')"
    image, target = picture()
    assert build("click-model", text)(image, target, target).shape == target.shape
    groups = [
        build("user", f"group(click_model={text!r}, low={k / 10}, high={k / 10 + 0.1})")
        for k in range(10)
    ]
    assert len({id(group.shared) for group in groups}) == 1
    assert weights_file(text) == path


def test_the_same_text_written_otherwise_is_the_same_map():
    assert shared_map("depth( border = 'published' )") is shared_map("depth(border='published')")
    assert shared_map("depth") is not shared_map("uniform")
    assert weights_file("depth") is None


def test_what_is_no_click_model_is_refused():
    with pytest.raises(
        UnknownPlugin, match="no click-model is called 'dpeth'; did you mean 'depth'"
    ):
        build("user", "group(click_model='dpeth')")
    with pytest.raises(PluginInvalid, match="it takes border"):
        build("user", "group(click_model='depth(edge=1)')")
    pytest.importorskip("torch")
    with pytest.raises(InvalidInput, match=r"there is no checkpoint nowhere\.pt"):
        build("user", "group(click_model=\"network(path='nowhere.pt')\")")
    with pytest.raises(InvalidInput, match="saliency 'bright': expected 'contrast' or"):
        build("click-model", "saliency-crop(saliency='bright')")


def test_a_model_and_a_saliency_of_ones_own_come_from_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\n"
        "class Left:\n"
        "    def __call__(self, image, target, error):\n"
        "        return np.asarray(error, dtype=np.float32) * (np.arange(error.shape[1]) < 12)\n"
        "class Bright:\n"
        "    def __call__(self, crop, window):\n"
        "        return crop[:, :, 0]\n",
        encoding="utf-8",
    )
    image, target = picture()
    assert np.flatnonzero(
        build("click-model", f"{file}:Left")(image, target, target).any(axis=0)
    ).tolist() == [10, 11]
    bright = build("click-model", f"saliency-crop(saliency='{file}:Bright')")(image, target, target)
    expected = image[:, :, 0] * target
    assert bright == pytest.approx(expected / expected.sum())


def turn_on(image, target, seed):
    truth = Target(id="t", mask=target)
    return Turn(
        sample=ImageSample(id="s", image=image, targets=(truth,)),
        target=truth,
        dialogue=Dialogue(),
        comparison=Comparison.empty(Reference.of(truth)),
        rng=np.random.default_rng(seed),
    )


def test_likelier_groups_click_where_the_map_is_higher():
    image, target = picture()
    values = build("click-model", "depth")(image, target, target)
    means = []
    for k in range(10):
        user = build("user", f"group(click_model='depth', low={k / 10}, high={(k + 1) / 10})")
        drawn = [values[user.next(turn_on(image, target, seed))[0].position] for seed in range(40)]
        means.append(np.mean(drawn))
    assert means == sorted(means)
    assert means[0] < 0.3 < 0.9 < means[-1]


def test_all_click_models_are_listed():
    assert set(plugins_by_name("click-model")) == {
        "uniform",
        "depth",
        "saliency-crop",
        "saliency-cutout",
        "crowd",
        "network",
    }
