"""Run a script written for the DAVIS Interactive Challenge's package, on videos that need no download.

python examples/davis_script.py
"""

import numpy as np

from segarena.davis import DavisInteractiveSession  # was: from davisinteractive.session import ...


def my_model(scribbles, shape):
    """Label every pixel in all frames with the object of the nearest scribble point within 25 pixels."""
    frames, height, width = shape
    rows, columns = np.mgrid[:height, :width]
    nearest = np.full((height, width), 25.0)
    mask = np.zeros((height, width), dtype=int)
    for line in (line for lines in scribbles["scribbles"] for line in lines):
        for x, y in line["path"][::10]:
            distance = np.hypot(rows - y * (height - 1), columns - x * (width - 1))
            mask[distance < nearest] = line["object_id"]
            nearest = np.minimum(nearest, distance)
    return np.repeat(mask[None], frames, axis=0)


def main():
    """Run a session of two sequences with three interactions each."""
    settings = {
        "max_time": 30 * 3,
        "max_nb_interactions": 3,
        "report_save_dir": "runs/davis_script",
    }
    # A script for the challenge passes davis_root="DAVIS", subset="val" instead of the dataset.
    with DavisInteractiveSession(
        dataset="demo-videos", sequences=["crossing", "alike"], **settings
    ) as session:
        while session.next():
            sequence, scribbles, new_sequence = session.get_scribbles(only_last=False)
            print(sequence, "begins" if new_sequence else "goes on")
            session.submit_masks(
                my_model(scribbles, (24, 120, 200)), next_scribble_frame_candidates=[0, 8, 16, 23]
            )
        summary = session.get_global_summary(save_file="runs/davis_script/summary.json")
    print(f"AUC {summary['auc']:.3f}, J&F at 60 s {summary['metric_at_threshold']['J_AND_F']:.3f}")
    print(f"The run is in {session.folder}; its page: segarena report {session.folder}")


if __name__ == "__main__":
    main()
