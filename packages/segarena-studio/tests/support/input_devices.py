"""Input devices of annotators: mouse, finger, pen, keyboard; all have the same effect on the page."""

MARGIN = 24
"""Margin around a fitted picture, in screen pixels."""


class PointingDevice:
    """Points at positions of a picture that fits the window.

    Args:
        page: page of the editor.
        size: (width, height) of its picture.
    """

    def __init__(self, page, size):
        self.page = page
        box = page.locator("#picture").bounding_box()
        space = (box["width"] - 2 * MARGIN, box["height"] - 2 * MARGIN)
        self.scale = min(space[0] / size[0], space[1] / size[1])
        self.corner = [
            box[start] + (box[length] - side * self.scale) / 2
            for start, length, side in (("x", "width", size[0]), ("y", "height", size[1]))
        ]

    def at(self, place):
        """Return the screen position of (x, y) in the picture."""
        return [
            corner + value * self.scale for corner, value in zip(self.corner, place, strict=True)
        ]

    def outline(self, *places):
        """Draw a region."""
        self.take("draw")
        for place in places:
            self.tap(place)
        self.close()

    def take(self, tool):
        """Select a tool in the tool bar."""
        self.press(f'.tools [data-action="{tool}"]')

    def press(self, selector):
        """Press a button of the page."""
        self.page.locator(selector).click()


class Mouse(PointingDevice):
    """A mouse with two buttons."""

    def tap(self, place, button="left"):
        """Click."""
        self.page.mouse.click(*self.at(place), button=button)
        self.page.wait_for_timeout(20)

    def close(self):
        """Click with the second button."""
        self.tap((5, 5), button="right")

    def drag(self, start, end):
        """Press, move and let go."""
        self.page.mouse.move(*self.at(start))
        self.page.mouse.down()
        self.page.mouse.move(*self.at(end), steps=4)
        self.page.mouse.up()


class Finger(PointingDevice):
    """A finger in a browser with a touch screen."""

    def __init__(self, page, size):
        super().__init__(page, size)
        self.screen = page.context.new_cdp_session(page)

    def send(self, kind, *places):
        """Send touch points to the browser."""
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        self.screen.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def tap(self, place, hold_ms=30):
        """Touch for a moment."""
        self.send("touchStart", self.at(place))
        self.page.wait_for_timeout(hold_ms)
        self.send("touchEnd")

    def close(self):
        """Long press, which acts as the second button."""
        self.tap((5, 5), hold_ms=1200)

    def drag(self, start, end):
        """Touch, move and let go."""
        self.slide(self.at(start), self.at(end))

    def slide(self, start, end):
        """Drag by screen positions."""
        self.send("touchStart", start)
        self.page.wait_for_timeout(120)
        for part in (0.3, 0.7, 1):
            self.send("touchMove", [a + part * (b - a) for a, b in zip(start, end, strict=True)])
        self.page.wait_for_timeout(30)
        self.send("touchEnd")
        self.page.wait_for_timeout(
            1500
        )  # Chromium takes a tap right after it for one that stops a fling

    def take(self, tool):
        """Select a tool in the tool bar; on a busy machine Chromium can take the first tap for the end of a fling."""
        chosen = self.page.locator(f'.tools [data-action="{tool}"][aria-pressed="true"]')
        for attempt in range(100):
            if attempt % 20 == 0:
                super().take(tool)
            if chosen.count():
                return
            self.page.wait_for_timeout(250)
        raise AssertionError(f"the tool {tool} cannot be selected")

    def press(self, selector):
        """Touch a button."""
        self.page.locator(selector).tap()


class Pen(PointingDevice):
    """A pen with pressure."""

    def __init__(self, page, size):
        super().__init__(page, size)
        self.tablet = page.context.new_cdp_session(page)

    def send(self, kind, place, *, button="left", force=0.0):
        """Send a pen event to the browser."""
        told = {
            "type": kind,
            "x": place[0],
            "y": place[1],
            "button": button,
            "buttons": int(force > 0),
            "force": force,
        }
        self.tablet.send(
            "Input.dispatchMouseEvent", {**told, "clickCount": 1, "pointerType": "pen"}
        )

    def touch(self, start, end, hold_ms=0):
        """Set the pen down, move it in steps, hold it, and lift it."""
        self.send("mouseMoved", start, button="none")
        self.send("mousePressed", start, force=0.4)
        if end != start:
            for part in (0.3, 0.7, 1):
                self.send(
                    "mouseMoved",
                    [a + part * (b - a) for a, b in zip(start, end, strict=True)],
                    force=0.7,
                )
        self.page.wait_for_timeout(hold_ms)
        self.send("mouseReleased", end)

    def tap(self, place, hold_ms=0):
        """Touch for a moment."""
        self.touch(self.at(place), self.at(place), hold_ms)
        self.page.wait_for_timeout(20)

    def close(self):
        """Hold the pen still: the second button."""
        self.tap((5, 5), hold_ms=1200)

    def drag(self, start, end):
        """Set the pen down, move it and lift it."""
        self.touch(self.at(start), self.at(end))

    def press(self, selector):
        """Touch a button."""
        box = self.page.locator(selector).bounding_box()
        middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        self.touch(middle, middle)


class Keys(PointingDevice):
    """A keyboard alone: a cursor in the picture that arrows move."""

    def __init__(self, page, size):
        super().__init__(page, size)
        self.cursor = [self.at([side / 2 for side in size])[axis] for axis in range(2)]
        self.key("k")

    def key(self, name, times=1):
        """Press a key."""
        for _ in range(times):
            self.page.keyboard.press(name)

    def go(self, place):
        """Move the cursor there: in steps of sixty, of ten and of one px of the screen."""
        for axis, (less, more) in enumerate(
            (("ArrowLeft", "ArrowRight"), ("ArrowUp", "ArrowDown"))
        ):
            way = round(self.at(place)[axis] - self.cursor[axis])
            self.cursor[axis] += way
            left = abs(way)
            for step, held in ((60, "Shift+"), (10, ""), (1, "Control+")):
                times, left = divmod(left, step)
                self.key(held + (more if way > 0 else less), times)

    def take(self, tool):
        """Select a tool by its key."""
        self.key({"draw": "d", "adjust": "a"}[tool])

    def tap(self, place):
        """Perform the action of a click at a position."""
        self.go(place)
        self.key("Enter")

    def drag(self, start, end):
        """Grab, move and drop."""
        self.tap(start)
        self.tap(end)

    def close(self):
        """Close the outline."""
        self.key("Shift+Enter")

    def press(self, selector):
        """Press a button that has the focus."""
        self.page.locator(selector).focus()
        self.key("Enter")
