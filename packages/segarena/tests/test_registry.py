"""Lookup of plug-ins: built in, in an installed package, in a file; and messages if there is none."""

import hashlib
import importlib
import subprocess
import sys

import pytest

from segarena import registry
from segarena.errors import PluginError, PluginInvalid, UnknownPlugin
from segarena.registry import build, describe, find, plugin_kinds, plugins_by_name

SEGMENTER = """
class Blank:
    def __init__(self, *, size, colour="red", levels=(1, 2)):
        self.size, self.colour = size, colour

    def encode(self, sample):
        return None

    def predict(self, encoded, dialogues):
        return []

class Fails:
    def __init__(self):
        raise OSError("weights.pth is not there")

class Silent:
    pass

number = 3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SEGMENTER, encoding="utf-8")
    return path


def run_python(code, folder):
    """Run code in a new process that finds the packages in `folder`."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_built_in_plugins_of_every_kind_are_found_in_alphabetical_order():
    expected = {"user": "centre", "metric": "iou", "dataset": "demo", "benchmark": "clicks"}
    for kind, name in expected.items():
        assert name in plugins_by_name(kind)
    assert all(
        list(plugins_by_name(kind)) == sorted(plugins_by_name(kind)) for kind in plugin_kinds()
    )
    assert plugins_by_name("segmenter")


def test_plugins_of_an_installed_package_are_found_by_name():
    assert find("segmenter", "sample-disc").__module__ == "segarena_sample_plugin.plugins"
    assert build("segmenter", "sample-disc(radius_px=4)").radius_px == 4
    assert {"sample-squares", "demo"} <= set(plugins_by_name("dataset"))


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("segmenter", "sample-dics", "did you mean 'sample-disc'"),
        ("user", "center", "did you mean 'centre'"),
        ("metric", "IoU2", "A file works too: my_file.py:MyClass"),
        ("benchmark", "click", "did you mean 'clicks'"),
        ("benchmark", "zzzzzz", "known: clicks"),
    ],
)
def test_an_unknown_name_is_answered_with_the_near_ones(kind, name, hint):
    with pytest.raises(UnknownPlugin, match=f"no {kind} is called '{name}'") as caught:
        build(kind, name)
    assert hint in str(caught.value)


def test_an_unknown_dataset_is_answered_with_near_folders(tmp_path, monkeypatch):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photographers.txt").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UnknownPlugin, match=r"'fotos', and .* folder; did you mean 'photos'[?] A file"
    ):
        build("dataset", "fotos")
    with pytest.raises(UnknownPlugin, match="'zzzzz', and there is no such folder; known: "):
        build("dataset", "zzzzz")


def test_a_plugin_is_found_by_path(file):
    plugin = build("segmenter", f"{file}:Blank(size=3)")
    assert (plugin.size, plugin.colour) == (3, "red")
    assert type(plugin) is type(build("segmenter", f"{file}:Blank(size=4)"))


def test_a_path_may_be_relative(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    assert build("segmenter", "mine.py:Blank(size=3)").size == 3


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{folder}/absent.py:Blank", "there is no file"),
        ("{file}:Blink", "has no 'Blink'; it defines Blank"),
        ("{file}:number", "has no 'number'; it defines Blank"),
        ("{file}:Fails", "cannot be built: OSError: weights.pth is not there"),
        ("{file}", "mine.py defines Blank; write .*mine.py:Blank"),
        (
            "{file}:Silent",
            "has no encode and no predict; a segmenter has encode, predict: see segarena.roles",
        ),
        ("{file}:Blank", "missing a required .*'size'; it takes size, colour='red'"),
        (
            "{file}:Blank(size=1, sise=2)",
            "'sise'; did you mean 'size'. it takes size, colour='red'",
        ),
        (
            "{folder}/broken.py:Blank",
            r"broken.py cannot be imported: ModuleNotFoundError: No module named 'no_such_package' "
            r"\(broken.py, line 1, in <module>\); install what the file needs",
        ),
        ("{folder}/typo.py:Blank", "typo.py cannot be imported: SyntaxError"),
    ],
)
def test_a_file_that_does_not_work_is_named_with_the_reason(file, written, message):
    (file.parent / "broken.py").write_text("import no_such_package\n", encoding="utf-8")
    (file.parent / "typo.py").write_text("class Blank(:\n", encoding="utf-8")
    with pytest.raises(PluginInvalid, match=message):
        build("segmenter", written.format(file=file, folder=file.parent))


def write_with_helper(folder, size):
    """Write a plug-in file that imports a module and a package of its folder, and return its path."""
    (folder / "shapes").mkdir(parents=True)
    (folder / "shapes" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "shapes" / "sizes.py").write_text(f"SIZE = {size}\n", encoding="utf-8")
    (folder / "file_helper.py").write_text("from shapes.sizes import SIZE\n", encoding="utf-8")
    path = folder / "mine.py"
    path.write_text(f"from file_helper import SIZE\n{SEGMENTER}", encoding="utf-8")
    return path


@pytest.fixture
def restored_imports():
    path = list(sys.path)
    loaded = set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - loaded:
        del sys.modules[name]
    importlib.invalidate_caches()


@pytest.mark.usefixtures("restored_imports")
def test_a_file_imports_modules_and_packages_of_its_folder(tmp_path):
    path = write_with_helper(tmp_path, 7)
    assert build("segmenter", f"{path}:Blank(size=3)").size == 3
    assert sys.modules[find("segmenter", f"{path}:Blank").__module__].SIZE == 7
    (tmp_path / "shapes" / "sizes.py").write_text("SIZE = 888\n", encoding="utf-8")
    registry.forget_edited_files()
    assert sys.modules[find("segmenter", f"{path}:Blank").__module__].SIZE == 888


@pytest.mark.usefixtures("restored_imports")
def test_two_files_with_helpers_of_the_same_name_are_not_mixed_up(tmp_path):
    build("segmenter", f"{write_with_helper(tmp_path / 'first', 1)}:Blank(size=3)")
    path = write_with_helper(tmp_path / "second", 2)
    with pytest.raises(
        PluginInvalid, match=r"imports file_helper, .* also in .*first.file_helper\.py; rename"
    ):
        build("segmenter", f"{path}:Blank(size=3)")


@pytest.mark.usefixtures("restored_imports")
@pytest.mark.parametrize("name", ["json", "time"])
def test_a_helper_with_the_name_of_another_module_is_refused(tmp_path, monkeypatch, name):
    (tmp_path / f"{name}.py").write_text("SIZE = 1\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text(f"from {name} import SIZE\n{SEGMENTER}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PluginInvalid, match=f"imports {name}, which is in its folder and also in"):
        build("segmenter", "mine.py:Blank(size=3)")


@pytest.mark.usefixtures("restored_imports")
def test_a_helper_that_was_mended_is_imported_anew(tmp_path):
    path = write_with_helper(tmp_path, 7)
    sound = path.read_text(encoding="utf-8")
    path.write_text(sound + "raise OSError('not yet')\n", encoding="utf-8")
    with pytest.raises(PluginInvalid, match="not yet"):
        build("segmenter", f"{path}:Blank(size=3)")
    (tmp_path / "shapes" / "sizes.py").write_text("SIZE = 888\n", encoding="utf-8")
    path.write_text(sound, encoding="utf-8")
    assert sys.modules[find("segmenter", f"{path}:Blank").__module__].SIZE == 888


def test_a_run_records_all_options_resolved_and_the_hash_of_the_file(file):
    assert describe("segmenter", f"{file}:Blank(size=3)") == {
        "kind": "segmenter",
        "name": f"{file}:Blank",
        "options": {"size": 3, "colour": "red", "levels": [1, 2]},
        "sha256": hashlib.sha256(SEGMENTER.encode()).hexdigest(),
    }
    assert describe("segmenter", "sample-disc")["options"] == {"radius_px": 10}


def test_a_package_may_bring_plugins_of_a_kind_of_its_own(monkeypatch):
    assert plugin_kinds()[: len(registry.KINDS)] == registry.KINDS
    assert "click-model" in plugin_kinds()
    assert "sense-of-colour" not in plugin_kinds()
    monkeypatch.setitem(registry._factories, "sense-of-colour", {})
    registry.register("sense-of-colour", "blind")(lambda: "grey")
    assert "sense-of-colour" in plugin_kinds()
    assert build("sense-of-colour", "blind") == "grey"
    with pytest.raises(UnknownPlugin, match="no sense-of-colour is called 'sharp'; known: blind"):
        build("sense-of-colour", "sharp")


def test_a_plugin_is_found_by_the_name_that_it_had_and_listed_by_todays(monkeypatch):
    monkeypatch.setitem(registry._factories, "metric", {})
    monkeypatch.setitem(registry._todays_names, "metric", {})
    made = registry.metric("today", formerly=("once", "before"))(lambda: "it")
    assert [registry.find("metric", name) for name in ("today", "once", "before")] == [made] * 3
    assert registry.current_name("metric", "once") == "today"
    assert list(registry.plugins_by_name("metric")) == ["today"]
    assert registry.lookup("metric", "never") is None


def test_two_plugins_of_one_name_are_refused(monkeypatch):
    monkeypatch.setitem(registry._factories, "metric", {})

    def make(module):
        return type("Twice", (), {"__module__": module})

    registry.metric("twice")(make("one"))
    with pytest.raises(
        PluginError, match=r"metric 'twice' is registered twice: one\.Twice and two\.Twice"
    ):
        registry.metric("twice")(make("two"))


def test_a_module_imported_twice_registers_once(monkeypatch):
    monkeypatch.setitem(registry._factories, "metric", {})
    for _ in range(2):
        registry.metric("again")(type("Again", (), {"__module__": "one"}))
    assert list(registry._factories["metric"]) == ["again"]


def broken_package(folder):
    info = folder / "broken_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: broken-package\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        "[segarena.plugins]\nbroken = broken_package\n", encoding="utf-8"
    )
    (folder / "broken_package.py").write_text(
        "raise RuntimeError('no GPU here')\n", encoding="utf-8"
    )


@pytest.mark.long
def test_a_broken_third_party_package_stops_nobody_and_is_named_when_a_plugin_is_not_found(
    tmp_path,
):
    broken_package(tmp_path)
    lines = [
        "from segarena.registry import build; print(build('segmenter', 'sample-disc').radius_px)",
        "build('segmenter', 'zzzzzz')",
    ]
    done = run_python("\n".join(lines), tmp_path)
    assert done.stdout == "10\n"
    named = "plug-in package broken_package failed to import: RuntimeError: no GPU here"
    assert done.stderr.index(named) < done.stderr.index("no segmenter is called 'zzzzzz'")


@pytest.mark.long
def test_a_module_of_ours_that_fails_is_named_and_stops_nobody_else(tmp_path):
    lines = [
        "import sys; sys.modules['segarena.systems.volumes.datasets.phantom'] = None",
        "from segarena.registry import build; print(build('dataset', 'demo').name)",
        "build('dataset', 'phantom')",
    ]
    done = run_python("\n".join(lines), tmp_path)
    assert done.stdout == "demo\n"
    named = "plug-in module segarena.systems.volumes.datasets.phantom failed to import: ModuleNotFoundError"
    assert done.stderr.index(named) < done.stderr.index("no dataset is called 'phantom'")


@pytest.mark.parametrize(
    "written",
    [
        "clicks(protocol='segarena')",
        "radioactive(protocol='corrected')",
        "davis(protocol='corrected')",
    ],
)
def test_the_careful_protocol_is_known_by_its_earlier_names(written):
    assert build("benchmark", written).protocol == "careful"
    assert describe("benchmark", written)["options"]["protocol"] == "careful"


def test_the_first_option_is_built_and_recorded_by_its_name():
    assert registry.build("user", "centre('stop')") is not None
    described = registry.describe("user", "centre('stop')")
    assert described == registry.describe("user", "centre(when_solved='stop')")
    with pytest.raises(
        PluginInvalid, match="'stop' needs the name of an option; available: when_solved"
    ):
        registry.build("user", "centre('stop', when_solved='stop')")
    with pytest.raises(PluginInvalid, match="expected no options, because there are none, got"):
        registry.build("dataset", "demo('x')")
