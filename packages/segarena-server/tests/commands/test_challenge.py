"""`segarena challenge`."""

import pytest

from segarena_server.challenges.description import ChallengeDescription, Phase, challenge_text

pytest.importorskip("fastapi")


def test_a_file_that_describes_another_challenge_is_refused(refused, tmp_path):
    told = ChallengeDescription(
        slug="spring", title="S", benchmark="clicks", dataset="demo", phases=(Phase(name="test"),)
    )
    (tmp_path / "told.json").write_text(challenge_text(told), encoding="utf-8")
    said = refused("challenge", "new", "autumn", "--from", "told.json", "--data", "data")
    assert "expected slug 'autumn', got 'spring'" in said
    assert not (tmp_path / "data").exists()
