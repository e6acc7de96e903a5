"""Imports of the client are few, because a participant's machine already has the packages of a model."""

import subprocess
import sys

SERVER = {"fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "argon2", "pydantic"}


def test_the_client_loads_no_torch_and_nothing_of_a_server():
    code = (
        "import segarena.client.run_display, segarena.davis, sys; "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    loaded = {
        *subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    }
    assert "httpx2" in loaded
    assert not loaded & {"torch", "transformers", *SERVER}


def test_without_its_extra_it_says_what_to_install():
    code = "import sys; sys.modules['httpx2'] = None\nfrom segarena.cli.start import main; main()"
    words = ["run", "--challenge", "https://lab.example/challenges/x", "-s", "graph"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "error: taking part in a challenge needs httpx2: pip install 'segarena[client]'"
    )
