"""A participant of a study in a browser: with a mouse, a finger, or the keyboard."""

import re

from sqlalchemy import select

from segarena.arrays.distance_transform import deepest_pixel
from segarena_studio.studies.orm_models import StudyLink, StudyTrial
from segarena_studio.studies.trials import item_mask, trial_item

ALLOWED = '#stage[data-phase="answer"]'


class ParticipantBrowser:
    """A person on a page of trials, who knows the positions of the targets.

    Args:
        page: page of the browser.
        site: server of the study.
    """

    def __init__(self, page, site):
        self.page, self.site = page, site

    def agree(self, device):
        """Agree to take part."""
        self.page.get_by_label("A computer" if device == "pc" else "A phone").check()
        self.page.get_by_label("I have read this").check()
        self.page.get_by_role("button", name="Begin").click()

    def go_on(self, button="Continue"):
        """Press a button on the break page."""
        self.page.get_by_role("button", name=button).click()

    def allowed(self):
        """Wait until a prompt is allowed; return the middle of the target and its corners, on the screen."""
        self.page.locator(ALLOWED).wait_for()
        self.page.wait_for_function(
            "() => /^(Click|Draw)/.test(document.getElementById('task').textContent)"
        )
        mask = self.target()
        height, width = mask.shape
        box = self.page.locator("#stage").bounding_box()
        scale = min(box["width"] / width, box["height"] / height)
        left, top = (
            box[at] + (box[side] - size * scale) / 2
            for at, side, size in (("x", "width", width), ("y", "height", height))
        )
        rows, columns = mask.any(axis=1).nonzero()[0], mask.any(axis=0).nonzero()[0]
        ends = (columns[0], rows[0]), (columns[-1] + 1, rows[-1] + 1)
        row, column = deepest_pixel(mask).position
        middle = left + (column + 0.5) * scale, top + (row + 0.5) * scale
        return middle, [(left + x * scale, top + y * scale) for x, y in ends]

    def target(self):
        """Return the requested part, in the trial of this study that began last and has no answer."""
        link_id = int(re.search(r"/studio/take/(\d+)-", self.page.url)[1])
        with self.site.database.reading() as session:
            begun = (
                StudyTrial.study_id == session.get_one(StudyLink, link_id).study_id,
                StudyTrial.begun_at.is_not(None),
                StudyTrial.answered_s.is_(None),
            )
            trial = session.scalars(
                select(StudyTrial).where(*begun).order_by(StudyTrial.begun_at.desc())
            ).first()
            return item_mask(trial_item(session, trial))

    def give(self, *, is_touch=False):
        """Give the requested prompt: a click or tap in the middle of the target, a line through or around it."""
        (x, y), ((left, top), (right, bottom)) = self.allowed()
        task = self.page.locator("#task").text_content()
        if "Click" in task:
            (self.page.touchscreen.tap if is_touch else self.page.mouse.click)(x, y)
            return self.left()
        places = [(x - 2 + step, y + step / 4) for step in range(5)]
        if "box" in task:
            places = [(left, top), (right, bottom)]
        elif "around it" in task:
            places = [(left, top), (right, top), (right, bottom), (left, bottom)]
        (self.draw_by_finger if is_touch else self.draw_by_mouse)(places)
        return self.left()

    def draw_by_mouse(self, places):
        """Press at the first position, move through the others, and release."""
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=2)
        self.page.mouse.up()

    def draw_by_finger(self, places):
        """Draw a line with a finger; Playwright's own touch input can only tap."""
        hand = self.page.context.new_cdp_session(self.page)
        for number, (x, y) in enumerate(places):
            kind = "touchMove" if number else "touchStart"
            hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def give_by_keys(self, **_):
        """Give the prompt by keys alone; the cross begins in the middle of the stage."""
        (x, y), _ = self.allowed()
        box = self.page.locator("#stage").bounding_box()
        self.move_cross(x - box["x"] - box["width"] / 2, y - box["y"] - box["height"] / 2)
        self.page.keyboard.press("Enter")
        if "Click" not in self.page.locator("#task").text_content():
            self.move_cross(-9, 0)
            self.page.keyboard.press("Enter")
        self.left()

    def move_cross(self, dx, dy):
        """Press arrow keys until the cross has moved this far, within a small step."""
        for amount, less, more in ((dx, "ArrowLeft", "ArrowRight"), (dy, "ArrowUp", "ArrowDown")):
            large, small = divmod(abs(amount), 48)
            arrow = less if amount < 0 else more
            for _ in range(int(large)):
                self.page.keyboard.press(f"Shift+{arrow}")
            for _ in range(round(small / 8)):
                self.page.keyboard.press(arrow)

    def left(self):
        """Wait until the trial is over."""
        self.page.wait_for_function("() => !document.querySelector('#stage[data-phase=answer]')")
