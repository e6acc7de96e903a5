import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["SimpleITK", "nibabel", "pydicom"])
def test_a_missing_package_is_said_with_what_to_install(package, tmp_path):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from pathlib import Path\n"
        "from segarena.systems.volumes.preparation.dataset_catalogue import find_set\n"
        "from segarena.systems.volumes.preparation.prepare import prepare_set\n"
        "from segarena.errors import MissingExtra\n"
        "try: prepare_set(find_set('lnq'), Path('.'), Path('out'))\n"
        "except MissingExtra as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith(f"{package}: pip install 'segarena[radiology]'")


def test_the_catalogue_alone_loads_no_heavy_package():
    code = "import sys; import segarena.systems.volumes.preparation.dataset_catalogue; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"SimpleITK", "pydicom", "nibabel", "scipy", "pyzipper", "httpx2", "python_calamine"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize("package", ["httpx2", "tenacity"])
def test_what_fetching_needs_is_said(package):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from segarena.errors import MissingExtra\n"
        "try: import segarena.systems.volumes.preparation.download_client\n"
        "except MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(f"{package}: pip install 'segarena[radiology]'")
