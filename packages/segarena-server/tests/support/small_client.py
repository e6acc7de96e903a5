"""A small client for the published addresses, written from their documentation alone."""

import secrets

import httpx2

from segarena.arrays.coco_rle import Rle

NAMES = {"ValueError": ValueError, "RuntimeError": RuntimeError}
"""What the published program could make of the name that comes with a 400; any other would be a NameError there."""


class SmallClient:
    """A session at a host.

    Attributes:
        key: key of the session.
        samples, max_time, max_interactions: values received from the server.
    """

    def __init__(self, host, user_key, key=None):
        self.key = key or secrets.token_hex(32)
        headers = {"User-Key": user_key, "Session-Key": self.key}
        self.http = httpx2.Client(base_url=host, headers=headers, timeout=60, trust_env=False)
        try:
            assert self.get("api/healthcheck")["magic"] == 23
            self.samples, self.max_time, self.max_interactions = self.get("api/dataset/samples")
        except BaseException:
            self.close()
            raise

    def get(self, path, **options):
        return told(self.http.get(path, **options))

    def scribbles(self, sequence, number):
        return self.get(f"api/dataset/scribbles/{sequence}/{number:03d}")

    def submit(self, sequence, number, interaction, masks, objects, timing=0.1, **more):
        return self.post_interaction(
            {
                "sequence": sequence,
                "scribble_idx": number,
                "pred_masks": in_coco(masks, objects),
                "timing": timing,
                "interaction": interaction,
                **more,
            }
        )

    def post_interaction(self, body):
        return told(self.http.post("api/evaluation/interaction", json=body))

    def close(self):
        self.http.close()

    def finish(self):
        return told(self.http.post("api/evaluation/finish", json={}))

    def hold(self, model, objects, after=lambda *_: None):
        """Answer every interaction of every sample; return the received scribbles by sample."""
        came = {}
        for sequence, number in self.samples:
            drawn = [self.scribbles(sequence, number)]
            for interaction in range(1, self.max_interactions + 1):
                masks = model(sequence, drawn)
                drawn.append(self.submit(sequence, number, interaction, masks, objects[sequence]))
                after(sequence, interaction)
            came[sequence, number] = drawn
        return came


def told(answer):
    """Return the response, or raise an error like the published program."""
    if answer.status_code == 400:
        failure = answer.json()
        raise NAMES[failure["error"]](*failure["message"])
    if answer.status_code != 200:
        raise OSError(f"{answer.status_code} {answer.json()['error']}")
    return answer.json()


def in_coco(masks, objects):
    frames = [
        [
            {"object_id": number, "counts": Rle.of(frame == number).counts}
            for number in range(1, objects + 1)
        ]
        for frame in masks
    ]
    return {"size": list(masks.shape), "frames": frames}
