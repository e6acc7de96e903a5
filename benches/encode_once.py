"""Gain of encoding each image once: `rclicks` on a network of the size of SAM or SAM 2, on the CPU or a GPU.

    python benches/encode_once.py [--images 4] [--rounds 5] [--plain-clicks 2] [--threads 2]
        [--size vit-b | vit-h | sam2-tiny | sam2-large | tiny] [--device cuda] [--dtype bfloat16]

The weights are random, generated from a fixed seed and deleted afterwards, because the cost of a
network does not depend on its training. Photographs are the demo's, scaled to 1024 pixels on the
longer side, with two targets each. The run is the whole benchmark through `segarena.evaluate`,
including base user and ten clicking groups, the click model `depth`, metrics and files. The
baseline loop encodes for every click: the library's forward call with pixels and points, batch of
1. A few clicks are measured and the rest is extrapolated, without the cost of users and metrics.
The predictor loop works like the published predictors of SAM: it prepares the image on the CPU and
encodes it once, and then each click is one call of the decoder, after which mask, score and logits
travel to main memory. It is measured with `--plain-clicks` clicks on one photograph and
extrapolated, too. Each part is measured in a separate process, so that the memory peaks are
independent.

For the default size on the CPU all figures have limits, for SAM ViT-B on a GPU only the share of time in the model, and
for others only that of one pass of the encoder per image: a tiny network shows only that the script works, and on a GPU
batches are as large as the free memory allows. Times are processor seconds on the CPU. On a GPU they are wall time
until its work is done, because waiting for it is what is measured. Memory is resident memory on the CPU, and the memory
allocated by torch on a GPU.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import cv2
import numpy as np
import torch
from measurement import Figures, argument_parser, at_least, at_most, no_bar
from transformers import Sam2Config, Sam2Model, SamConfig, SamModel
from transformers.utils import logging

import segarena
from segarena.registry import build
from segarena.samples import ImageSample, Target
from segarena.segmenters.learned.promptable import devices, sam_network

LONG_SIDE_PX = 1024
PHOTOGRAPHS = (
    "coffee",
    "flower",
    "camera",
    "china",
    "chelsea",
    "rocket",
    "astronaut",
    "motorcycle_left",
)
WAYS = 8
BARS = {
    "passes of the encoder / images": at_most(1),
    "times as fast as the baseline loop": at_least(38),
    "outside the library's forward calls, share": at_most(0.07),
    "peak memory of the run / of encoding one image": at_most(1.3),
    "time in the model, share of the run": at_least(0.85),
    "copies to main memory per call of predict": no_bar(),
    "targets per hour": no_bar(),
    "targets per hour in the baseline loop": no_bar(),
    "images per second": no_bar(),
    "images per second of the predictor loop": no_bar(),
    "images per second of the run / of the predictor loop": no_bar(),
}
GPU_BARS = {"time in the model, share of the run": at_least(0.9)}


class Photographs:
    """Demo photographs in the input size of the network, with the first two targets of each.

    From the ninth image on, they are rotated and mirrored: up to 64 images that differ in every
    pixel.
    """

    name = "demo-1024"
    fingerprint = "2"

    def __init__(self, images):
        self.sample_ids = [f"{name}-{way}" for way in range(WAYS) for name in PHOTOGRAPHS][:images]
        self.demo = build("dataset", "demo")

    def load(self, sample_id):
        """Return one photograph, resized and rotated."""
        name, _, way = sample_id.rpartition("-")
        sample = self.demo.load(name)
        scale = LONG_SIDE_PX / max(sample.shape)
        size = tuple(round(length * scale) for length in reversed(sample.shape))
        targets = []
        for target in sample.targets[:2]:
            mask = cv2.resize(target.mask.astype("uint8"), size, interpolation=cv2.INTER_NEAREST)
            targets.append(Target(id=target.id, mask=turned(mask, int(way)) > 0))
        return ImageSample(
            id=sample_id,
            image=turned(cv2.resize(sample.image, size), int(way)),
            targets=tuple(targets),
        )

    def check(self):
        """Return no findings."""
        return []


def turned(pixels, way):
    """Return an image rotated by `way` quarter turns; from the fifth way on, it is mirrored first."""
    mirrored = pixels[:, ::-1] if way >= WAYS // 2 else pixels
    return np.ascontiguousarray(np.rot90(mirrored, way % 4))


def tiny():
    """Return the configuration of a very small SAM."""
    vision = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "global_attn_indexes": [1],
    }
    return SamConfig(
        vision_config={**vision, "image_size": 256, "output_channels": 32, "num_pos_feats": 16},
        prompt_encoder_config={"hidden_size": 32, "image_size": 256},
        mask_decoder_config={"hidden_size": 32},
    )


def sam2_large():
    """Return the configuration of SAM 2.1 large, without its memory."""
    widths = [144, 288, 576, 1152]
    backbone = {
        "model_type": "sam2_hiera_det_model",
        "hidden_size": widths[0],
        "num_attention_heads": 2,
        "blocks_per_stage": [2, 6, 36, 4],
        "embed_dim_per_stage": widths,
        "num_attention_heads_per_stage": [2, 4, 8, 16],
        "window_size_per_stage": [8, 4, 16, 8],
        "global_attention_blocks": [23, 33, 43],
    }
    return Sam2Config(
        vision_config={"backbone_config": backbone, "backbone_channel_list": widths[::-1]}
    )


def vit_h():
    """Return the configuration of SAM ViT-H."""
    vision = {"hidden_size": 1280, "num_hidden_layers": 32, "num_attention_heads": 16}
    return SamConfig(vision_config={**vision, "global_attn_indexes": [7, 15, 23, 31]})


# Segmenter, and a function that returns the configuration; the library's defaults are SAM ViT-B and
# SAM 2 tiny.
SIZES = {
    "vit-b": ("sam", SamConfig),
    "vit-h": ("sam", vit_h),
    "sam2-tiny": ("sam2", Sam2Config),
    "sam2-large": ("sam2", sam2_large),
    "tiny": ("sam", tiny),
}


def save_weights(size, folder):
    """Write an untrained network of this size."""
    torch.manual_seed(0)
    logging.disable_progress_bar()
    segmenter, configuration = SIZES[size]
    model = {"sam": SamModel, "sam2": Sam2Model}[segmenter](configuration())
    print(
        f"{size}: {sum(weights.numel() for weights in model.parameters()) / 1e6:.1f} million parameters"
    )
    model.save_pretrained(folder)


class Stopwatch:
    """Times calls: on the CPU in processor seconds of all threads, on a GPU in seconds until their work is done."""

    def __init__(self, device):
        self.is_gpu = device.startswith("cuda")
        self.seconds = []

    def now(self):
        """Return the time at which all requested work is done; on the CPU, other programs do not affect it."""
        if not self.is_gpu:
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    def around(self, call):
        """Return a function that calls `call` and records the time."""

        def timed(*arguments, **options):
            start = self.now()
            answer = call(*arguments, **options)
            self.seconds.append(self.now() - start)
            return answer

        return timed


def peak_mb(device):
    """Return the peak memory of this process: on the device, or resident."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated() / 1e6
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


def encode_one(segmenter, options):
    """Encode one image and nothing else."""
    segmenter.encode(Photographs(1).load(f"{PHOTOGRAPHS[0]}-0"))
    return {"peak_mb": peak_mb(segmenter.device)}


def run(segmenter, options):
    """Run the benchmark with the network, then time clicks of the baseline loop."""
    network = segmenter.network
    encoder, decoder, predict = (Stopwatch(segmenter.device) for _ in range(3))
    plain = network.model.forward
    network.model.vision_encoder.forward = encoder.around(network.model.vision_encoder.forward)
    network.model.forward = decoder.around(plain)
    segmenter.predict = predict.around(segmenter.predict)
    copies = count_copies()
    whole = Stopwatch(segmenter.device)
    judged = whole.around(segarena.evaluate)(
        "rclicks",
        segmenter=segmenter,
        dataset=Photographs(options.images),
        rounds=options.rounds,
        out=options.out,
    )
    counts = judged.config.counts
    if counts.failures:
        raise SystemExit(f"the run failed: {counts}")
    figures = {
        "device": segmenter.device,
        "users": len(judged.config.users),
        "clicks": counts.rounds,
        "run_s": whole.seconds[0],
        "encoder_passes": len(encoder.seconds),
        "encode_s": median(encoder.seconds),
        "decoder_calls": len(decoder.seconds),
        "decode_s": sum(decoder.seconds) / len(decoder.seconds),
        "around_share": sum(predict.seconds) / sum(decoder.seconds) - 1,
        "model_share": (sum(encoder.seconds) + sum(decoder.seconds)) / whole.seconds[0],
        "copies": len(copies) / len(decoder.seconds),
        "peak_mb": peak_mb(segmenter.device),
    }
    network.model.forward = plain
    clicks = counts.rounds / options.images
    return figures | {
        "plain_click_s": plain_click_s(network, options),
        "predictor_image_s": predictor_image_s(network, clicks, options),
    }


def count_copies():
    """Return a list that gets one item for each copy from the device to main memory."""
    copies = []

    def counted(tensor, copy=devices.copy_to_host):
        copies.append(tensor.numel())
        return copy(tensor)

    devices.copy_to_host = sam_network.copy_to_host = counted
    return copies


def plain_click_s(network, options):
    """Return the median time of one click if each click encodes the image anew."""
    side, device = network.side, network.device
    clock = Stopwatch(str(device))
    pixels = torch.rand(1, 3, side, side, device=device, dtype=network.dtype)
    point = torch.tensor([[[[side / 3, side / 2]]]], device=device)
    label = torch.ones((1, 1, 1), dtype=torch.int64, device=device)
    forward = clock.around(network.model)
    with torch.inference_mode():
        for _ in range(options.plain_clicks + clock.is_gpu):
            forward(
                pixel_values=pixels, input_points=point, input_labels=label, multimask_output=True
            )
    return median(
        clock.seconds[clock.is_gpu :]
    )  # the first call on a GPU also prepares its kernels


def predictor_image_s(network, clicks, options):
    """Return the time of a predictor loop for one photograph with this many clicks."""
    image = Photographs(1).load(f"{PHOTOGRAPHS[0]}-0").image
    model, device = network.model, network.device
    space = network.encode(image).space
    mean, std = network.variant.normalization
    clock = Stopwatch(str(device))

    @clock.around
    def set_image():
        pixels = space.pixels(image, mean, std).to(device, network.dtype)
        return network.variant.embed(model, pixels)

    @clock.around
    def click(embeddings, logits):
        row, column = 10 + 7 * len(clock.seconds), 20
        points = torch.from_numpy(space.to_network([(row, column)]))[None, None].to(device)
        labels = torch.ones((1, 1, 1), dtype=torch.int64, device=device)
        given = {} if logits is None else {"input_masks": torch.from_numpy(logits).to(device)}
        answer = model(
            **embeddings,
            input_points=points,
            input_labels=labels,
            multimask_output=logits is None,
            **given,
        )
        scores = answer.iou_scores[0, 0].float().cpu().numpy()
        low = answer.pred_masks[0, 0].float()
        masks = (space.upsample(low) > 0).cpu().numpy()
        best = scores.argmax()
        return masks[best], low[best][None, None].cpu().numpy()

    with torch.inference_mode():
        # The first calls on a GPU also prepare its kernels.
        for _ in range(1 + clock.is_gpu):
            clock.seconds.clear()
            embeddings = set_image()
            logits = None
            for _ in range(max(2, options.plain_clicks)):
                _, logits = click(embeddings, logits)
    return clock.seconds[0] + clicks * median(clock.seconds[1:])


PARTS = {"encode": encode_one, "run": run}
PASSED_ON = ("images", "rounds", "plain_clicks", "threads", "size", "device", "dtype")


def in_own_process(part, folder, options):
    """Run a part in a separate process and return its measurements."""
    arguments = [f"--{name}={getattr(options, name)}" for name in PASSED_ON]
    command = [
        sys.executable,
        __file__,
        *arguments,
        "--part",
        part,
        "--weights",
        folder / "weights",
    ]
    subprocess.run([*command, "--out", folder / part], check=True)
    return json.loads((folder / f"{part}.json").read_text())


def do_part(options):
    """Measure one part, and write its figures next to its output."""
    # Random weights turn the padding of a photograph into denormal numbers, with which the encoder
    # takes twelve times as long. Threads inherit this setting only if it precedes them.
    torch.set_flush_denormal(True)
    torch.set_num_threads(options.threads)
    name, _ = SIZES[options.size]
    segmenter = build(
        "segmenter",
        f"{name}(weights={options.weights!r}, device={options.device!r}, dtype={options.dtype!r})",
    )
    Path(f"{options.out}.json").write_text(json.dumps(PARTS[options.part](segmenter, options)))


def report(once, many, options):
    """Report the figures. In cases other than the default, only the number of passes has a limit."""
    targets = 2 * options.images
    plain_s = many["plain_click_s"] * many["clicks"]
    passes = "passes of the encoder / images"
    bars = BARS
    if options.size != "vit-b" or many["device"] != "cpu":
        bars = {name: no_bar(bar.unit) for name, bar in BARS.items()} | {passes: BARS[passes]}
        if options.size == "vit-b":
            bars |= GPU_BARS
    figures = Figures(bars)
    place = (
        torch.cuda.get_device_name()
        if many["device"] != "cpu"
        else f"cpu, {options.threads} threads"
    )
    print(
        f"{options.images} images x 2 targets x {many['users']} users x {options.rounds} rounds: ",
        end="",
    )
    print(f"{many['clicks']} clicks; {options.dtype} on {place}")
    print(
        f"encoder {many['encode_s']:.3f} s, decoder call {many['decode_s']:.4f} s ({many['decoder_calls']} calls)"
    )
    print(
        f"the run {many['run_s']:.1f} s; plain {many['plain_click_s']:.3f} s per click, so {plain_s:.0f} s"
    )
    print(
        f"peak of the run {many['peak_mb']:.0f} MB, of encoding one image {once['peak_mb']:.0f} MB\n"
    )
    figures.report(passes, many["encoder_passes"] / options.images)
    figures.report("times as fast as the baseline loop", plain_s / many["run_s"])
    figures.report("outside the library's forward calls, share", many["around_share"])
    figures.report(
        "peak memory of the run / of encoding one image", many["peak_mb"] / once["peak_mb"]
    )
    figures.report("time in the model, share of the run", many["model_share"])
    figures.report("copies to main memory per call of predict", many["copies"])
    figures.report("targets per hour", 3600 * targets / many["run_s"])
    figures.report("targets per hour in the baseline loop", 3600 * targets / plain_s)
    figures.report("images per second", options.images / many["run_s"])
    figures.report("images per second of the predictor loop", 1 / many["predictor_image_s"])
    run_ratio = options.images * many["predictor_image_s"] / many["run_s"]
    figures.report("images per second of the run / of the predictor loop", run_ratio)
    figures.finish()


def main():
    """Measure all parts; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--images",
        type=int,
        default=4,
        choices=range(1, WAYS * len(PHOTOGRAPHS) + 1),
        metavar="1-64",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--plain_clicks",
        "--plain-clicks",
        type=int,
        default=2,
        help="number of clicks of the baseline loop that are measured",
    )
    parser.add_argument(
        "--threads", type=int, default=2, help="number of CPU threads in each process"
    )
    parser.add_argument("--size", choices=SIZES, default="vit-b")
    parser.add_argument(
        "--device", default="auto", help="device of the network; by default a GPU if there is one"
    )
    parser.add_argument(
        "--dtype",
        default="float32",
        help="float32, bfloat16 or float16, also for the baseline loop",
    )
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--weights", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        do_part(options)
        return
    if options.quick:
        options.size = "tiny"
        options.images = 1
        options.rounds = 1
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        save_weights(options.size, folder / "weights")
        report(
            in_own_process("encode", folder, options),
            in_own_process("run", folder, options),
            options,
        )


if __name__ == "__main__":
    main()
