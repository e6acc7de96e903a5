"""The adapters in adapters/: what they need to be, without the repositories that they belong to."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import segarena.worker
from segarena.errors import PluginInvalid
from segarena.published import table_names
from segarena.segmenters.workers.worker import Worker

ADAPTERS = Path(__file__).parents[1] / "adapters"
NAMES = sorted(path.parent.name for path in ADAPTERS.glob("*/adapter.py"))


def load(path):
    """Import a file that is no part of a package."""
    spec = importlib.util.spec_from_file_location(
        f"of_{path.parent.name}_{path.stem}".replace("-", "_"), path
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pages = load(ADAPTERS / "pages.py")
FACTS = pages.read_adapters()


def model_class(name):
    tree = ast.parse((ADAPTERS / name / "adapter.py").read_text("utf-8"), feature_version=(3, 7))
    return next(
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"
    )


def test_two_adapters_of_every_kind_ran_and_none_is_without_facts():
    ran = [facts["judges"] for facts in FACTS.values() if "ran" in facts]
    assert {judges: min(ran.count(judges), 2) for judges in pages.ORDER} == dict.fromkeys(
        pages.ORDER, 2
    )
    assert len(ran) >= 9
    assert set(NAMES) <= set(FACTS)


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_is_python_3_7_and_has_the_shape_that_a_worker_needs(name):
    said = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in model_class(name).body
        if isinstance(statement, ast.Assign)
    }
    methods = {
        each.name: each for each in model_class(name).body if isinstance(each, ast.FunctionDef)
    }
    arguments = methods["__init__"].args
    assert set(said["takes"]) <= set(segarena.worker.PROMPTS)
    assert set(said["samples"]) <= set(segarena.worker.SAMPLES)
    assert {"encode", "predict"} <= set(methods)
    assert len(arguments.defaults) == len(arguments.args) - 1
    assert ast.get_docstring(model_class(name))


@pytest.mark.parametrize("name", FACTS)
def test_what_is_said_of_an_adapter_is_complete(name):
    facts = FACTS[name]
    assert set(facts) - {"ran", "failed"} == set(pages.REQUIRED)
    assert ("ran" in facts) != ("failed" in facts)
    assert set(facts.get("ran", pages.RAN)) == set(pages.RAN)
    assert set(facts.get("failed", pages.FAILED)) == set(pages.FAILED)
    assert re.fullmatch(r"[0-9a-f]{40}", facts["commit"]) or "failed" in facts
    assert set(facts["tables"]) <= set(table_names())
    assert "ran" not in facts or (ADAPTERS / "environments" / facts["ran"]["lock"]).is_file()
    assert "ran" not in facts or (ADAPTERS / name / "adapter.py").is_file()


def test_pages_say_what_the_facts_say():
    for path, text in pages.written().items():
        assert path.read_text("utf-8") == text, f"{path}: python adapters/pages.py writes it anew"


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_repository_is_named_with_the_command_that_fetches_it(
    name, tmp_path, monkeypatch
):
    pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "segarena_worker", segarena.worker)
    module = load(ADAPTERS / name / "adapter.py")
    with pytest.raises(
        FileNotFoundError, match=r"/nothing holds no .*; git clone https://github.com/.*/nothing$"
    ):
        module.Model(repository=str(tmp_path / "nothing"))


def test_a_run_with_an_adapter_whose_model_is_missing_says_so_in_one_line(tmp_path):
    (tmp_path / "torch.py").write_text("")  # it is not reached, and slow to import
    (tmp_path / "adapter.py").write_bytes((ADAPTERS / "ritm" / "adapter.py").read_bytes())
    (tmp_path / "segarena_worker.py").write_bytes(Path(segarena.worker.__file__).read_bytes())
    with pytest.raises(
        PluginInvalid, match=r"git clone https://github.com/SamsungLabs/ritm"
    ) as caught:
        Worker("python adapter.py", python=sys.executable, folder=str(tmp_path))
    assert "\n" not in str(caught.value)
