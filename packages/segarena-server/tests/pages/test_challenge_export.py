"""A challenge exported as static pages: all links work, and they contain nothing hidden."""

import re
import zipfile

import pytest
from extracts import extract, noisy
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena.errors import InvalidInput
from segarena_server.challenges.challenge_management import existing_challenge, make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Person, Run
from segarena_server.pages.challenge_export import export_challenge
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

SECRET = 31415926535


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site with a challenge: a phase whose board is shown, and one that shows nothing."""
    site = open_site(tmp_path_factory.mktemp("exporting") / "data", Settings())
    phases = (
        Phase(name="final", shows="board", samples_per_run=1, seed=SECRET),
        Phase(name="blind", shows="prompts"),
    )
    described = ChallengeDescription(
        slug="spring",
        title="<b>Spring</b>",
        text="One.\n\nTwo.",
        benchmark="clicks",
        dataset="demo",
        phases=phases,
    )
    make_challenge(site, described)
    with site.database.writing() as session:
        person = Person(
            name="ann",
            folded="ann",
            password="-",
            role="participant",
            state="confirmed",
            made_at=0.0,
        )
        session.add(person)
        session.flush()
        for phase in ("final", "blind"):
            about = {
                "segmenter": "",
                "note": "",
                "pool": "demo",
                "made_at": 1.0,
                "ended_at": 2.0,
                "state": "over",
            }
            session.add(
                Run(
                    id=phase, challenge_id=existing_challenge(site, "spring").id, phase=phase, person_id=person.id,
                    name="mine", extract=extract(noisy()), **about,
                )
            )  # fmt: skip
    yield site
    site.database.close()


@pytest.mark.long
def test_every_link_of_the_pages_holds(site, tmp_path):
    index = export_challenge(site, "spring", tmp_path / "pages")
    pages = sorted(tmp_path.rglob("*.html"))
    assert index in pages
    assert len(pages) == 2
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r'(?:href|src)="([^"#:]+)[^":]*"', text):
            assert (page.parent / link).is_file(), (page, link)
        assert "<script>" not in text
        assert "<b>Spring" not in text
    assert "ann" in (tmp_path / "pages/final/index.html").read_text(encoding="utf-8")
    assert (tmp_path / "pages/final/board.csv").read_text(encoding="utf-8").count("ann") >= 1


def test_nothing_hidden_is_in_it(site, tmp_path):
    export_challenge(site, "spring", tmp_path / "pages")
    texts = "\n".join(
        path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.[hct]*") if path.is_file()
    )
    assert not re.search(rf"{SECRET}|astronaut|\bdemo\b|\bs12\b", texts.replace("page.css", ""))
    assert not (tmp_path / "pages/blind").exists()


def test_one_file_holds_the_same(site, tmp_path):
    export_challenge(site, "spring", tmp_path / "pages")
    export_challenge(site, "spring", tmp_path / "spring.zip")
    with zipfile.ZipFile(tmp_path / "spring.zip") as archive:
        names = {name.removeprefix("spring/") for name in archive.namelist()}
    assert names == {
        path.relative_to(tmp_path / "pages").as_posix()
        for path in (tmp_path / "pages").rglob("*")
        if path.is_file()
    }


def test_nothing_is_written_over(site, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("mine")
    for out in (tmp_path / "there", tmp_path / "there" / "file"):
        with pytest.raises(InvalidInput, match="already exists"):
            export_challenge(site, "spring", out)
    with pytest.raises(InvalidInput, match="no challenge"):
        export_challenge(site, "winter", tmp_path / "x")


@pytest.mark.long
def test_the_command_says_where_it_is(site, tmp_path):
    told = [
        "challenge",
        "export",
        "spring",
        "--out",
        str(tmp_path / "pages"),
        "--data",
        str(site.folder.path),
    ]
    run = CliRunner().invoke(app, told)
    assert run.exit_code == 0
    assert str(tmp_path / "pages" / "index.html") in run.output.replace("\n", "")
