"""A project with a video of a disc that moves over a textured background."""

import io

import cv2
import numpy as np
from annotation_fixtures import give_task, tasks_of
from PIL import Image

from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.projects import ProjectRules, create_project

SIZE = 160, 120
"""Width and height of a frame."""
RADIUS = 18


def centre(frame):
    """Return the centre of the disc in a frame, (x, y)."""
    return 40 + 4 * frame, 45 + 2 * frame


def disc(frame, corners=48):
    """Return the outline of the disc in a frame."""
    x, y = centre(frame)
    angles = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    return [[float(x + RADIUS * np.cos(a)), float(y + RADIUS * np.sin(a))] for a in angles]


def disc_mask(frame):
    """Return the mask of the disc in a frame."""
    rows, columns = np.indices(SIZE[::-1]) + 0.5
    x, y = centre(frame)
    return (columns - x) ** 2 + (rows - y) ** 2 <= RADIUS**2


def frame_png(frame, size=SIZE):
    """Return a frame as PNG."""
    rng = np.random.default_rng(7)
    ground = cv2.GaussianBlur(
        rng.integers(0, 255, (size[1], size[0], 3)).astype(np.uint8), (0, 0), 3
    )
    skin = cv2.GaussianBlur(rng.integers(0, 255, (80, 80, 3)).astype(np.uint8), (0, 0), 2)
    skin = (0.5 * skin + (120, 20, 10)).astype(np.uint8)
    pixels = ground.copy()
    if size == SIZE:
        x, y = centre(frame)
        mask = disc_mask(frame)
        shifted = np.zeros_like(pixels)
        shifted[max(y - 40, 0) : y + 40, max(x - 40, 0) : x + 40] = skin[
            max(40 - y, 0) : SIZE[1] - y + 40, max(40 - x, 0) : SIZE[0] - x + 40
        ]
        pixels[mask] = shifted[mask]
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


def video_project(site, person, frames, *, extra=(), name="Discs", **rules):
    """Create a project with one video, `clip`; return its tasks in order.

    With one annotator for each picture, all of them belong to the person. `extra` are further pictures,
    as names and contents.
    """
    contents = [(f"clip/{number:03d}.png", frame_png(number)) for number in range(frames)]
    with site.database.writing() as session:
        project = create_project(
            session, ProjectRules(name=name, seed=1, has_videos=True, **rules), person, 0.0
        )
        for path, content in [*contents, *extra]:
            add_picture(
                session, project, site.folder.photographs, check_picture(path, content), 0.0
            )
        number = project.id
    tasks = tasks_of(site, number)
    if rules.get("annotators", 1) == 1:
        for task in tasks:
            give_task(site, task, person)
    return [task.id for task in tasks]
