"""Axes of an SVG chart: nice ticks, scales, and the frame that a chart draws into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import product

CHARACTER_PX = 6.6
"""Mean width of one character of a 12 px label; browsers are not asked, so that output stays the same everywhere."""

LABEL_PX = 8.2
"""The same for the bold names at the ends of curves, as large as a phone shows them."""


def nice_ticks(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Return about `count` round numbers (1, 2, 2.5 or 5 times a power of ten) inside [low, high].

    Equal or reversed ends give `low` alone.
    """
    if not high > low:
        return (low,)
    raw = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = min(
        (factor * power for factor in (1, 2, 2.5, 5, 10)),
        key=lambda size: abs(math.log(size / raw)),
    )
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return the numbers 1, 2, 5 times powers of ten inside [low, high], fewer when the range is long."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    ticks = (float(f"{factor * 10.0**power:.12g}") for power, factor in product(powers, factors))
    return tuple(tick for tick in ticks if low <= tick <= high)


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values in [low, high] to pixels in [start_px, stop_px]; logarithmic when asked."""

    low: float
    high: float
    start_px: float
    stop_px: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of `value`; the middle of the range when it has no length."""
        low, high, at = (math.log10(v) if self.is_log else v for v in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start_px + share * (self.stop_px - self.start_px)

    def ticks(self, count: int) -> tuple[float, ...]:
        """Return where to put about `count` ticks."""
        if self.is_log:
            return log_ticks(self.low, self.high)
        return nice_ticks(self.low, self.high, count)


def number(value: float) -> str:
    """Return a coordinate or tick without needless digits."""
    return f"{value:.10g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.1e}"


def px(value: float) -> str:
    """Return a pixel coordinate to a tenth."""
    return f"{value:.1f}".removesuffix(".0")


def element(
    name: str, text: str = "", *, css: str, title: str = "", **attributes: float | str
) -> str:
    """Return an SVG element with a text in it, or a title; all is escaped here, and numbers are pixels to a tenth."""
    told = ""
    for key, value in attributes.items():
        told += (
            f' {key.replace("_", "-")}="{escape(value) if isinstance(value, str) else px(value)}"'
        )
    inside = f"<title>{escape(title)}</title>" if title else escape(text)
    return f'<{name}{told} class="{css}">{inside}</{name}>'


@dataclass(slots=True)
class Frame:
    """An SVG under construction: a plot area with margins, and the elements drawn so far.

    Attributes:
        width_px, height_px: of the whole chart; charts scale with the page.
        left, right, top, bottom: margins in px.
        title: what a screen reader says.
    """

    width_px: float
    height_px: float
    title: str
    left: float = 46
    right: float = 14
    top: float = 10
    bottom: float = 40
    elements: list[str] = field(default_factory=list[str])

    def x_scale(self, low: float, high: float, *, is_log: bool = False) -> Scale:
        """Return the horizontal scale over the plot area."""
        return Scale(low, high, self.left, self.width_px - self.right, is_log)

    def y_scale(self, low: float, high: float) -> Scale:
        """Return the vertical scale over the plot area; high values are on top."""
        return Scale(low, high, self.height_px - self.bottom, self.top)

    def draw(self, element: str) -> None:
        """Add an SVG element."""
        self.elements.append(element)

    def text(self, x: float, y: float, text: str, *, css: str = "", anchor: str = "start") -> None:
        """Add a line of text."""
        self.draw(element("text", text, x=x, y=y, css=css, text_anchor=anchor))

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """Add a straight line."""
        self.draw(element("line", x1=x1, y1=y1, x2=x2, y2=y2, css=css))

    def circle(self, x: float, y: float, radius: float, css: str, title: str = "") -> None:
        """Add a dot; `title` shows when the pointer rests on it."""
        self.draw(element("circle", cx=x, cy=y, r=radius, css=css, title=title))

    def path(self, places: Sequence[tuple[float, float]], css: str) -> None:
        """Add straight lines from place to place; nothing without places."""
        if places:
            self.draw(
                element("path", d="M" + "L".join(f"{px(x)} {px(y)}" for x, y in places), css=css)
            )

    def x_axis(self, scale: Scale, label: str, ticks: Sequence[float] | None = None) -> None:
        """Draw the base line, ticks and label below the plot."""
        base = self.height_px - self.bottom
        self.line(self.left, base, self.width_px - self.right, base, "axis")
        for tick in scale.ticks(6) if ticks is None else ticks:
            self.line(scale(tick), base, scale(tick), base + 4, "axis")
            self.text(scale(tick), base + 17, number(tick), css="tick", anchor="middle")
        self.text(
            (self.left + self.width_px - self.right) / 2,
            self.height_px - 5,
            label,
            css="label",
            anchor="middle",
        )

    def y_axis(self, scale: Scale, label: str) -> None:
        """Draw horizontal grid lines with their values, and the label along the left side."""
        for tick in scale.ticks(5):
            self.line(self.left, scale(tick), self.width_px - self.right, scale(tick), "grid")
            self.text(self.left - 7, scale(tick) + 4, number(tick), css="tick", anchor="end")
        middle = (self.top + self.height_px - self.bottom) / 2
        turned = f"translate(11 {px(middle)}) rotate(-90)"
        self.draw(element("text", label, transform=turned, css="label", text_anchor="middle"))

    def svg(self) -> str:
        """Return the finished chart."""
        size = f"0 0 {px(self.width_px)} {px(self.height_px)}"
        # Its width is a class: pages under a strict policy allow no style in an attribute.
        head = f'<svg class="chart w{self.width_px:.0f}" viewBox="{size}" role="img" aria-label="{escape(self.title)}">'
        return head + "".join(self.elements) + "</svg>"
