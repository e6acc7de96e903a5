"""A segmenter given as an object: a changed one cannot resume the run of another."""

import copy
import pickle

import numpy as np
import pytest

from segarena.engine.object_fingerprint import object_fingerprint
from segarena.errors import RunConflict


class Live:
    def __init__(self):
        self.weights = np.zeros(3)
        self.settings = {"threshold": 0.5, "names": {"b", "a"}}
        self.itself = self

    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        return [np.full(encoded, self.weights.sum() > 0) for _ in dialogues]


@pytest.mark.long
def test_the_same_object_resumes_and_a_changed_one_is_refused(small_run, tmp_path):
    model = Live()
    before = small_run(model).records()
    assert small_run(model).records().equals(before)
    assert small_run(Live()).records().equals(before)
    model.weights[:] = 1
    with pytest.raises(RunConflict, match=r"the object given as segmenter changed since this run"):
        small_run(model)
    assert not small_run(model, overwrite=True).records().equals(before)


def test_settings_and_code_count_and_copies_do_not():
    model = Live()
    fingerprint = object_fingerprint(model)
    assert object_fingerprint(copy.deepcopy(model)) == fingerprint
    assert object_fingerprint(pickle.loads(pickle.dumps(model))) == fingerprint
    model.settings["threshold"] = 0.6
    assert object_fingerprint(model) != fingerprint

    def made(constant):
        class Local:
            def predict(self):
                return constant

        Local.predict.__code__ = Local.predict.__code__.replace(co_consts=(None, constant))
        return Local()

    assert object_fingerprint(made(1)) == object_fingerprint(made(1))
    assert object_fingerprint(made(1)) != object_fingerprint(made(2))


def test_tensors_count_by_their_values():
    torch = pytest.importorskip("torch")
    network = torch.nn.Linear(2, 2)
    fingerprint = object_fingerprint(network)
    assert object_fingerprint(copy.deepcopy(network)) == fingerprint
    with torch.no_grad():
        network.weight[0, 0] += 1
    assert object_fingerprint(network) != fingerprint
    half = torch.zeros(2, dtype=torch.bfloat16)
    assert object_fingerprint(half) != object_fingerprint(half + 1)
