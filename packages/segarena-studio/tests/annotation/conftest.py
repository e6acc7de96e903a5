"""A site for annotation tests, without a server."""

import pytest

from segarena_server.server_process import open_site
from segarena_server.settings import Settings


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site on a new data folder, for all tests of a module."""
    made = open_site(tmp_path_factory.mktemp("site") / "data", Settings(port=0, workers=0))
    yield made
    made.database.close()
