"""segarena: evaluate promptable segmentation the way people use it.

Data types are in `samples`, `prompts` and `dialogue`; the five roles are in `roles`. `evaluate`
runs a benchmark on a segmenter, and `forecast` estimates the cost of a run. `sessions` lets your
own script run the loop. `next_prompts` returns the next prompts of a simulated user. `write_report`
writes the report page.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from segarena.version import __version__ as __version__

if TYPE_CHECKING:
    from segarena.dialogue import Dialogue, Lift, Prediction
    from segarena.engine.custom_loop_sessions import sessions
    from segarena.engine.evaluate import evaluate
    from segarena.engine.forecast import Forecast, forecast
    from segarena.engine.run_folder import RunFolder
    from segarena.engine.user_query import next_prompts
    from segarena.errors import SegarenaError
    from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Scribble
    from segarena.reports import write_report
    from segarena.roles import Benchmark, Dataset, Metric, Segmenter, Statistic, Turn, User
    from segarena.samples import ImageSample, Support, Target, VideoSample, VolumeSample
    from segarena.work.cluster.executor import Ray


_HOMES = {
    "dialogue": ("Dialogue", "Lift", "Prediction"),
    "engine.user_query": ("next_prompts",),
    "engine.evaluate": ("evaluate",),
    "engine.forecast": ("Forecast", "forecast"),
    "engine.custom_loop_sessions": ("sessions",),
    "engine.run_folder": ("RunFolder",),
    "errors": ("SegarenaError",),
    "prompts": ("Box", "Click", "Lasso", "Limits", "MaskPrompt", "Scribble"),
    "reports": ("write_report",),
    "roles": ("Benchmark", "Dataset", "Metric", "Segmenter", "Statistic", "Turn", "User"),
    "samples": ("ImageSample", "Support", "Target", "VideoSample", "VolumeSample"),
    "work.cluster.executor": ("Ray",),
}
"""Public names, grouped by the module that defines them."""

__all__ = [
    "Benchmark",
    "Box",
    "Click",
    "Dataset",
    "Dialogue",
    "Forecast",
    "ImageSample",
    "Lasso",
    "Lift",
    "Limits",
    "MaskPrompt",
    "Metric",
    "Prediction",
    "Ray",
    "RunFolder",
    "Scribble",
    "SegarenaError",
    "Segmenter",
    "Statistic",
    "Support",
    "Target",
    "Turn",
    "User",
    "VideoSample",
    "VolumeSample",
    "evaluate",
    "forecast",
    "next_prompts",
    "sessions",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import segarena` costs next to nothing."""
    for home, public in _HOMES.items():
        if name in public:
            return getattr(importlib.import_module(f"segarena.{home}"), name)
    raise AttributeError(f"module 'segarena' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, including those not imported yet."""
    return [*__all__, "__version__"]
