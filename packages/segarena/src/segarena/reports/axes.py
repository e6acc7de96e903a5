"""Axes of an SVG chart: ticks, scales, and the frame that a chart draws into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import product

CHARACTER_PX = 6.6
"""Mean width of a character in a 12 px label.

A constant instead of a font metric, so that charts are identical on all machines."""

PHONE_CHARACTER_PX = 7.8
"""Mean width of a character in the larger text of charts on phones.

Labels must fit into the chart and must not overlap at that size either."""

LABEL_PX = 8.2
"""Mean width of a character in the bold curve labels at the font size on phones."""


def nice_ticks(
    low: float,
    high: float,
    count: int = 5,
) -> tuple[float, ...]:
    """Return about `count` ticks inside [low, high], spaced by 1, 2, 2.5 or 5 times a power of ten.

    Return only `low` if `high` is not above it.
    """
    if not high > low:
        return (low,)
    raw = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    # These factors give labels with at most two significant digits beyond the power of ten.
    steps = [factor * power for factor in (1, 2, 2.5, 5, 10)]
    # Compared by ratio, because a step twice as long is as far off as one half as long.
    step = min(steps, key=lambda size: abs(math.log(size / raw)))
    # The tolerance keeps ticks at the ends of the range despite rounding errors.
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    # Twelve digits remove the rounding noise of the product, such as 0.30000000000000004.
    return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return the numbers inside [low, high] that are 1, 2 or 5 times a power of ten.

    Ranges that span a factor of more than about 300 get only the powers of ten.
    """
    first_power = math.floor(math.log10(low))
    last_power = math.ceil(math.log10(high))
    factors = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    ticks: list[float] = []
    for power, factor in product(range(first_power, last_power + 1), factors):
        tick = float(f"{factor * 10.0**power:.12g}")
        if low <= tick <= high:
            ticks.append(tick)
    return tuple(ticks)


@dataclass(frozen=True, slots=True)
class Scale:
    """Linear or logarithmic map from values in [low, high] to pixels in [start_px, stop_px]."""

    low: float
    high: float
    start_px: float
    stop_px: float
    is_log: bool = False

    @property
    def ends(self) -> str:
        """The four numbers that define the scale, for scripts that draw into the chart."""
        return f"{self.low:g} {self.high:g} {px(self.start_px)} {px(self.stop_px)}"

    def __call__(self, value: float) -> float:
        """Return the pixel of `value`; the middle of the pixel range if [low, high] is empty."""
        low = self.low
        high = self.high
        if self.is_log:
            low = math.log10(low)
            high = math.log10(high)
            value = math.log10(value)
        # A range without extent has no direction, so its only value is drawn in the middle.
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start_px + share * (self.stop_px - self.start_px)

    def ticks(self, count: int) -> tuple[float, ...]:
        """Return about `count` tick values; a logarithmic scale ignores `count`."""
        if self.is_log:
            return log_ticks(self.low, self.high)
        return nice_ticks(self.low, self.high, count)


def number(value: float) -> str:
    """Format a number without trailing zeros; those below 0.0001 in scientific notation."""
    return f"{value:.10g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.1e}"


def px(value: float) -> str:
    """Return a pixel coordinate as text, rounded to a tenth."""
    return f"{value:.1f}".removesuffix(".0")


def element(
    name: str,
    text: str = "",
    *,
    css: str,
    title: str = "",
    **attributes: float | str,
) -> str:
    """Return an SVG element that contains text or a title (tooltip).

    Text and attributes are escaped; numeric attributes are rounded to a tenth of a pixel.
    """
    attribute_text = ""
    for key, value in attributes.items():
        text_value = escape(value) if isinstance(value, str) else px(value)
        attribute_text += f' {key.replace("_", "-")}="{text_value}"'
    # A <title> inside an SVG element is its tooltip and is read by screen readers.
    inside = f"<title>{escape(title)}</title>" if title else escape(text)
    return f'<{name}{attribute_text} class="{css}">{inside}</{name}>'


@dataclass(slots=True)
class Frame:
    """An SVG chart under construction: a plot area with margins and the elements drawn so far.

    Attributes:
        width_px, height_px: size of the whole chart; charts scale with the page.
        left, right, top, bottom: margins in px.
        title: text for screen readers.
        data: attributes for scripts by name, written as `data-name`.
    """

    width_px: float
    height_px: float
    title: str
    left: float = 52
    right: float = 14
    top: float = 10
    bottom: float = 40
    elements: list[str] = field(default_factory=list[str])
    data: dict[str, str] = field(default_factory=dict[str, str])

    def x_scale(
        self,
        low: float,
        high: float,
        *,
        is_log: bool = False,
    ) -> Scale:
        """Return the horizontal scale over the plot area."""
        return Scale(low, high, self.left, self.width_px - self.right, is_log)

    def y_scale(self, low: float, high: float) -> Scale:
        """Return the vertical scale over the plot area; high values are at the top."""
        return Scale(low, high, self.height_px - self.bottom, self.top)

    def draw(self, element: str) -> None:
        """Add an SVG element."""
        self.elements.append(element)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        css: str = "",
        anchor: str = "start",
    ) -> None:
        """Add a line of text."""
        self.draw(
            element(
                "text",
                text,
                x=x,
                y=y,
                css=css,
                text_anchor=anchor,
            )
        )

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        css: str,
    ) -> None:
        """Add a straight line."""
        self.draw(
            element(
                "line",
                x1=x1,
                y1=y1,
                x2=x2,
                y2=y2,
                css=css,
            )
        )

    def circle(
        self,
        x: float,
        y: float,
        radius: float,
        css: str,
        title: str = "",
    ) -> None:
        """Add a dot with `title` as its tooltip."""
        self.draw(
            element(
                "circle",
                cx=x,
                cy=y,
                r=radius,
                css=css,
                title=title,
            )
        )

    @property
    def _right_edge(self) -> float:
        return self.width_px - self.right

    @property
    def _base(self) -> float:
        return self.height_px - self.bottom

    def path(self, places: Sequence[tuple[float, float]], css: str) -> None:
        """Add a polyline through these points; add nothing if there are none."""
        if not places:
            return
        corners = [f"{px(x)} {px(y)}" for x, y in places]
        self.draw(element("path", d="M" + "L".join(corners), css=css))

    def x_axis(
        self,
        scale: Scale,
        label: str,
        ticks: Sequence[float] | None = None,
        texts: Sequence[str] | None = None,
    ) -> None:
        """Draw the base line, ticks and label below the plot; `texts` replace the numbers at the ticks."""
        base = self._base
        self.line(self.left, base, self._right_edge, base, "axis")
        if ticks is None:
            ticks = scale.ticks(6)
        if texts is None:
            texts = [number(tick) for tick in ticks]
        for tick, text in zip(ticks, texts, strict=True):
            x = scale(tick)
            self.line(x, base, x, base + 4, "axis")
            self.text(x, base + 17, text, css="tick", anchor="middle")
        middle = (self.left + self._right_edge) / 2
        self.text(middle, self.height_px - 5, label, css="label", anchor="middle")

    def y_axis(self, scale: Scale, label: str) -> None:
        """Draw horizontal grid lines with their values, and the axis label along the left side."""
        for tick in scale.ticks(5):
            y = scale(tick)
            self.line(self.left, y, self._right_edge, y, "grid")
            self.text(self.left - 7, y + 4, number(tick), css="tick", anchor="end")
        middle = (self.top + self._base) / 2
        # Text can only be rotated about a point, so the label is moved there first.
        turned = f"translate(11 {px(middle)}) rotate(-90)"
        self.draw(element("text", label, transform=turned, css="label", text_anchor="middle"))

    def svg(self) -> str:
        """Return the finished chart."""
        size = f"0 0 {px(self.width_px)} {px(self.height_px)}"
        # Pass the width as a CSS class because a strict content security policy forbids style
        # attributes.
        css = f"chart w{self.width_px:.0f}"
        data = ""
        for name, value in self.data.items():
            data += f' data-{name}="{escape(value)}"'
        label = escape(self.title)
        # The role makes screen readers announce the chart as one image with this label.
        head = f'<svg class="{css}" viewBox="{size}" role="img" aria-label="{label}"{data}>'
        return head + "".join(self.elements) + "</svg>"
