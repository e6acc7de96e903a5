from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import segarena.systems.clicks.click_maps, segarena.systems.clicks.network.letterbox
from segarena.errors import MissingExtra
try:
    import segarena.systems.clicks.network.{module}
except MissingExtra as error:
    print(error)
"""


@pytest.mark.parametrize("module", ["model", "prediction"])
def test_without_torch_only_the_network_is_missing_and_says_how_to_get_it(module):
    code = CODE.format(module=module)
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert 'pip install "segarena[models]"' in result.stdout
