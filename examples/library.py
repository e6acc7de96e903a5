"""Evaluate two segmenters and write a report. Remove `limit` and `rounds` to run the whole benchmark."""

import segarena

runs = [
    segarena.evaluate(
        "clicks", segmenter=name, dataset="demo", limit=2, rounds=5, out=f"runs/{name}", workers=2
    )
    for name in ("graph", "watershed")
]
print(runs[0].records().select("sample", "target", "round", "iou"))
print(segarena.write_report([run.path for run in runs], "runs/report").html)
