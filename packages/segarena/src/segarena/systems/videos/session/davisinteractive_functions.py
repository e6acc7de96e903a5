"""The functions and the robot that scripts of DAVIS participants import, under their published names.

Source: the pages of `davisinteractive` 1.0.4 on sessions, metrics, robot and scribbles. Results are
those of that package, except for the differences that `docs/davis.md` lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.samples import VOID, Shape, as_labels
from segarena.systems.videos.measures.jaccard_contour import JaccardContour, jaccard_contour
from segarena.systems.videos.robot.scribble_lines import draw_lines
from segarena.systems.videos.robot.settings import RobotSettings
from segarena.systems.videos.scribbles.files import Scribbles, frames_with_lines, frames_with_object
from segarena.systems.videos.scribbles.masks import (
    ScribblePoints,
    scribbles_to_masks,
    scribbles_to_points,
)
from segarena.systems.videos.scribbles.prompt_conversion import line_prompt, scribbles_from_prompts


def scribbles2mask(
    scribbles: Scribbles,
    output_resolution: Shape,
    bezier_curve_sampling: bool = False,
    nb_points: int = 1000,
    bresenham: bool = True,
    default_value: int = -1,
) -> NDArray[np.int64]:
    """Rasterize scribbles as object ids, (B, H, W), with `default_value` elsewhere; positions are rounded down."""
    bezier_points = nb_points if bezier_curve_sampling else None
    masks = scribbles_to_masks(
        scribbles,
        output_resolution,
        default=default_value,
        is_joined=bresenham,
        bezier_points=bezier_points,
        rounding="down",
    )
    return masks.astype(np.int64)


def scribbles2points(
    scribbles_data: Scribbles, output_resolution: Shape | None = None
) -> ScribblePoints:
    """Return all points, (N, 3) as (frame, row, column), and their objects (N,)."""
    return scribbles_to_points(scribbles_data, output_resolution)


def annotated_frames(scribbles_data: Scribbles) -> list[int]:
    """Return the frames with at least one line, in order."""
    return list(frames_with_lines(scribbles_data))


def annotated_frames_object(scribbles_data: Scribbles, object_id: int) -> list[int]:
    """Return the frames with at least one line of an object, in order."""
    return list(frames_with_object(scribbles_data, object_id))


def batched_jaccard(
    y_true: Any,
    y_pred: Any,
    average_over_objects: bool = True,
    nb_objects: int | None = None,
) -> NDArray[np.float64]:
    """Return J of each frame, (B,), averaged over objects, or of each frame and object, (B, N).

    The target is the first argument; its label 255 is background.
    """
    values = _judged(y_true, y_pred, nb_objects).jaccard.T
    return values.mean(axis=1) if average_over_objects else values


def batched_f_measure(
    y_true: Any,
    y_pred: Any,
    average_over_objects: bool = True,
    nb_objects: int | None = None,
    bound_th: float = 0.008,
) -> NDArray[np.float64]:
    """Return F of each frame, (B,), averaged over objects, or of each frame and object, (B, N).

    The target is the first argument; its label 255 is background.
    """
    values = _judged(y_true, y_pred, nb_objects, bound_th).contour.T
    return values.mean(axis=1) if average_over_objects else values


class InteractiveScribblesRobot:
    """The published robot with its own defaults; a session by default uses `preset='local-1.0.4'` instead.

    Args:
        kernel_size: diameter of the disk that opens an error, as a share of the square root of the
            error's area.
        max_kernel_radius: largest radius of that disk, in pixels.
        min_nb_nodes: skeletons with fewer pixels yield no line.
        nb_points: number of points in a line; a longer path of pixels keeps all its pixels.

    Raises:
        InvalidInput: a number is out of its range.
    """

    def __init__(
        self,
        kernel_size: float = 0.15,
        max_kernel_radius: float = 16,
        min_nb_nodes: int = 4,
        nb_points: int = 1000,
    ) -> None:
        self._settings = RobotSettings(
            kernel_size=kernel_size,
            max_radius_px=max_kernel_radius,
            min_nodes=min_nb_nodes,
            max_points=nb_points,
            mode="published",
            ties="permutation",
        )

    @classmethod
    def drawing_by(cls, settings: RobotSettings) -> Self:
        """Return a robot with these `settings`; in mode "checked", it draws as in a careful session."""
        robot = cls()
        robot._settings = settings
        return robot

    def interact(
        self,
        sequence: str,
        pred_masks: Any,
        gt_masks: Any,
        nb_objects: int | None = None,
        frame: int | None = None,
    ) -> dict[str, Any]:
        """Draw scribbles on the errors in `frame`, by default the first frame with the lowest mean J.

        Raises:
            InvalidInput: the masks do not fit together or are not labels, the target has no
                objects, or the frame does not exist.
        """
        target = as_labels(gt_masks, name="gt_masks")
        prediction = as_labels(pred_masks, name="pred_masks")
        if target.shape != prediction.shape or target.ndim != 3:
            raise InvalidInput(
                f"expected masks of the same shape (B, H, W), got {prediction.shape} and {target.shape}"
            )
        if frame is not None and not 0 <= frame < len(target):
            raise InvalidInput(f"frame: expected an index from 0 to {len(target) - 1}, got {frame}")
        if frame is None:
            jaccard = batched_jaccard(target, prediction, nb_objects=nb_objects)
            frame = int(np.argmin(jaccard))
        objects = nb_objects or int(target[target != VOID].max(initial=0))
        lines = draw_lines(prediction[frame], target[frame], self._settings, objects=objects)
        prompts = [line_prompt(frame, line.points, line.object_id) for line in lines]
        fractions = "size" if self._settings.mode == "published" else "last-pixel"
        return scribbles_from_prompts(prompts, target.shape, sequence, fractions=fractions)


@dataclass(frozen=True, slots=True)
class Service:
    """`session.connector.service` of the published package, which provides the robot."""

    robot: InteractiveScribblesRobot


@dataclass(frozen=True, slots=True)
class ServiceConnector:
    """`session.connector` of the published package."""

    service: Service


def _judged(
    y_true: Any,
    y_pred: Any,
    nb_objects: int | None,
    bound_share: float = 0.008,
) -> JaccardContour:
    return jaccard_contour(
        y_pred, y_true, objects=nb_objects, bound_share=bound_share, void="background"
    )
