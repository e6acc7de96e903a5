"""`segarena challenge`."""

import pytest

from segarena.errors import InvalidInput
from segarena_server.audit_log import latest_events
from segarena_server.auth.accounts import register
from segarena_server.challenges.description import ChallengeDescription, Phase, challenge_text
from segarena_server.commands.sign_in_locks import lift_locks
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

pytest.importorskip("fastapi")


def test_a_file_that_describes_another_challenge_is_refused(refused, tmp_path):
    told = ChallengeDescription(
        slug="spring", title="S", benchmark="clicks", dataset="demo", phases=(Phase(name="test"),)
    )
    (tmp_path / "told.json").write_text(challenge_text(told), encoding="utf-8")
    said = refused("challenge", "new", "autumn", "--from", "told.json", "--data", "data")
    assert "expected slug 'autumn', got 'spring'" in said
    assert not (tmp_path / "data").exists()


def test_a_new_challenge_names_the_images_to_upload(segarena, tmp_path):
    (tmp_path / "about.md").write_text("![A leaf](leaf.jpg)", encoding="utf-8")
    options = f"--dataset sample-squares(count=1) --text {tmp_path}/about.md --data {tmp_path}/data"
    made = segarena("challenge", "new", "spring", *options.split())
    assert made.exit_code == 0, made.output
    assert "upload these images of the description on the Images page: leaf.jpg" in made.output


@pytest.fixture
def site(tmp_path):
    made = open_site(tmp_path / "data", Settings())
    with made.database.writing() as session:
        register(session, made.now(), name="Ada", kept="-")
    yield made
    made.database.close()


def lock(site, name):
    while not site.sign_ins.start(name, "10.0.0.1", ""):
        pass


def test_a_lock_is_lifted_for_one_account(site):
    lock(site, "ada")
    lock(site, "bela")
    assert lift_locks(site, "ADA", is_for_all=False) == "Ada can try again from any address"
    assert site.sign_ins.start("ada", "10.0.0.1", "") == 0
    assert site.sign_ins.start("bela", "10.0.0.1", "") > 0
    with site.database.reading() as session:
        assert latest_events(session, 1)[0].action == "sign-in limits lifted"


def test_all_locks_are_lifted_if_that_is_asked_for(site):
    lock(site, "bela")
    for name, is_for_all in (("", False), ("Ada", True), ("Nobody", False)):
        with pytest.raises(InvalidInput):
            lift_locks(site, name, is_for_all=is_for_all)
    assert site.sign_ins.start("bela", "10.0.0.1", "") > 0
    lift_locks(site, "", is_for_all=True)
    assert site.sign_ins.start("bela", "10.0.0.1", "") == 0


def test_the_command_needs_an_account_that_is_there(refused, site):
    data = str(site.folder.path)
    assert "there is no account 'Nobody'" in refused(
        "challenge", "unlock", "Nobody", "--data", data
    )
