"""Drive the loop from your own script, which requests the next clicks and submits the masks of any model.

python examples/own_loop.py
"""

import numpy as np

import segarena


def my_model(image, clicks):
    """Label each pixel like the click that is nearest in colour (0..255 per channel) and position (pixels)."""
    rows, columns = np.indices(image.shape[:2])
    features = np.dstack([image, rows, columns]).astype(np.float32)
    distances = [np.linalg.norm(features - features[click.position], axis=2) for click in clicks]
    signs = np.array([click.is_positive for click in clicks])
    mask = signs[np.argmin(distances, axis=0)]
    return mask if not signs.all() else distances[0] < 60


def main():
    """Answer all dialogues about two photographs, with five clicks each."""
    for session in segarena.sessions(
        "clicks", name="mine", dataset="demo", limit=2, rounds=5, out="runs/own_loop"
    ):
        while (dialogue := session.next()) is not None:
            values = session.submit(my_model(session.sample.image, dialogue.clicks))
        print(
            f"{session.sample.id:12} {session.target.id:16} IoU after {session.answered} clicks: {values['iou']:.3f}"
        )
    print("Write a report: segarena report runs/own_loop")


if __name__ == "__main__":
    main()
