"""16-bit pictures in the editor: values with a window, for those who may see the task."""

import json

import numpy as np
import pytest
from annotation_fixtures import EditorClient, give_task, picture, project_of, tasks_of
from deep_files import RAMP, encoded

from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.orm_models import Project


def add(site, project, name, content):
    with site.database.writing() as session:
        row = session.get_one(Project, project)
        add_picture(session, row, site.folder.photographs, check_picture(name, content), 0.0)


@pytest.mark.long
def test_the_values_of_a_16_bit_picture_have_their_meaning_in_a_header(served):
    anna, eve = (EditorClient(served, name, "organiser") for name in ("Anna", "Eve"))
    project = project_of(served.site, anna.id, pictures=0)
    add(served.site, project, "deep.png", encoded(RAMP, "PNG"))
    add(served.site, project, "plain.png", picture(1))
    deep, plain = (give_task(served.site, task, anna.id) for task in tasks_of(served.site, project))
    answer = anna.ask("GET", f"{deep}/values")
    codes = np.frombuffer(answer.content, dtype="<u2").reshape(RAMP.shape)
    levels = json.loads(answer.headers["segarena-levels"])
    np.testing.assert_array_equal(levels["offset"] + levels["step"] * codes, RAMP)
    assert (levels["is_inverted"], levels["modality"]) == (False, "")
    shown = anna.ask("GET", f"{deep}/picture")
    assert (shown.headers["content-type"], shown.content[:4]) == ("image/png", b"\x89PNG")
    assert anna.ask("GET", f"{plain}/values").status_code == 404
    assert eve.ask("GET", f"{deep}/values").status_code == 404


@pytest.mark.long
@pytest.mark.parametrize("width", [1400, 390])
def test_window_and_level_change_the_display_of_a_16_bit_picture(
    alone, open_warm_page, barriers, width
):
    site = alone.served.site
    project = project_of(site, site.only_person, pictures=0, name=f"Deep {width}")
    add(site, project, "deep.png", encoded(RAMP, "PNG"))
    task = give_task(site, tasks_of(site, project)[0], site.only_person)
    address = f"{alone.served.address}/studio/tasks/{task}"
    page = open_warm_page(address, cookies=alone.cookies(), width=width, height=844)
    page.locator("#scene[data-ready][data-has-values]").wait_for()
    page.keyboard.press("Shift+W")
    assert barriers(page) == {}
    grey = """async ([x, y]) => {
      const [level] = segarena.editor.picture.levels;
      const canvas = new OffscreenCanvas(level.width, level.height).getContext("2d");
      canvas.drawImage(level, 0, 0);
      return canvas.getImageData(x, y, 1, 1).data[0];
    }"""
    # The ramp reaches half of its range in the middle row.
    assert page.evaluate(grey, [0, 30]) == pytest.approx(127, abs=2)
    page.get_by_label("Width", exact=True).fill("1000")
    page.get_by_label("Level", exact=True).fill("24000")
    page.locator("[data-told=level]", has_text="24000").wait_for()
    page.wait_for_function(
        f"async () => await ({grey})([0, 29]) === 0 && await ({grey})([0, 31]) === 255"
    )
    page.keyboard.press("9")
    page.wait_for_function(f"async () => Math.abs(await ({grey})([0, 30]) - 127) < 3")
