"""Models from weights that somebody brings: a folder, a name on the hub, or a file as its authors publish it.

Nothing is downloaded unless asked, no file can run code, and weights fit to the last tensor or are refused.
Needs the extra `models`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segarena.errors import InvalidInput, MissingExtra
from segarena.segmenters.weights.sam_hq import repair

if TYPE_CHECKING:
    from torch import nn

INSTALL = 'pip install "segarena[models]"'


@dataclass(frozen=True, slots=True)
class WeightsFamily:
    """What the weights of one kind of model are called.

    Attributes:
        classes: the library's class for each `model_type` that a configuration may have.
        mapping: our module that reads the authors' files; None: there is none.
        mark: a tensor that is in those files, and in those of no family listed before with another mark.
    """

    classes: Mapping[str, str]
    mapping: str | None = None
    mark: str = ""


SAM2 = "image_encoder.trunk.patch_embed.proj.weight"
FAMILIES: Mapping[str, WeightsFamily] = {
    "sam-hq": WeightsFamily({"sam_hq": "SamHQModel"}, "sam_hq", "mask_decoder.hf_token.weight"),
    "sam": WeightsFamily({"sam": "SamModel"}, "sam", "image_encoder.patch_embed.proj.weight"),
    "sam2": WeightsFamily({"sam2": "Sam2Model", "sam2_video": "Sam2Model"}, "sam2", SAM2),
    "sam2-video": WeightsFamily({"sam2_video": "Sam2VideoModel"}, "sam2_video", SAM2),
    "edgetam": WeightsFamily({"edgetam": "EdgeTamModel", "edgetam_video": "EdgeTamModel"}),
    "sam3-tracker": WeightsFamily(
        {"sam3_tracker": "Sam3TrackerModel", "sam3_video": "Sam3TrackerModel"}
    ),
    "clipseg": WeightsFamily({"clipseg": "CLIPSegForImageSegmentation"}),
    "seggpt": WeightsFamily({"seggpt": "SegGptForImageSegmentation"}),
    "dinov2": WeightsFamily(
        {"dinov2": "Dinov2Model", "dinov2_with_registers": "Dinov2WithRegistersModel"}
    ),
    "dinov3": WeightsFamily(
        {"dinov3_vit": "DINOv3ViTModel", "dinov3_convnext": "DINOv3ConvNextModel"}
    ),
}
# Files that people have and that no family reads, by a tensor in them.
UNSUPPORTED_FILES = {
    "image_encoder.patch_embed.seq.0.c.weight": "the TinyViT encoder of MobileSAM, for which the library has no model",
}


def load_model(
    weights: str,
    *,
    family: str,
    device: str = "cpu",
    dtype: str = "float32",
    allow_download: bool = False,
) -> nn.Module:
    """Return a model with its weights, ready for prediction.

    Args:
        weights: a folder with config.json and model.safetensors; a name on the hub, such as
            facebook/sam-vit-base; or a .pth or .pt file as its authors publish it (see `docs/weights.md`).
        family: one of `FAMILIES`.
        device: where the model goes, in torch's words.
        dtype: float32, float16 or bfloat16.
        allow_download: whether a name on the hub may be fetched; else it must be in the local cache.

    Raises:
        InvalidInput: there is nothing under that name, it is cut or not of this family, it could run code, its
            tensors and its configuration do not fit.
        MissingExtra: torch or transformers is not installed.
    """
    if family not in FAMILIES:
        raise InvalidInput(f"there is no family {family!r} of models; known: {', '.join(FAMILIES)}")
    path = Path(weights).expanduser()
    if path.is_file():
        model = _from_file(path, family, dtype)
    elif path.is_dir():
        model = _from_folder(path, family, dtype)
    else:
        model = _from_hub(weights, family, dtype, allow_download)
    if family == "sam-hq":
        repair(model)
    return model.to(device).eval()


def _from_file(path: Path, family: str, dtype: str) -> Any:
    from segarena.files.checkpoint import extract_state_dict, read_checkpoint

    if path.suffix == ".safetensors":
        raise InvalidInput(f"{path}: give the folder that holds this file and its config.json")
    state = extract_state_dict(read_checkpoint(path), path)
    _check_mark(path, state, family)
    mapping = importlib.import_module(f"segarena.segmenters.weights.{FAMILIES[family].mapping}")
    try:
        config, renamed = mapping.convert(state)
    except KeyError as error:
        raise InvalidInput(
            f"{path} lacks the tensor {error.args[0]!r} of a {family} model"
        ) from error
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error
    except (ArithmeticError, LookupError, ValueError) as error:
        raise InvalidInput(
            f"{path}: its tensors have no shapes of a {family} model: {error}"
        ) from error
    name = next(iter(FAMILIES[family].classes.values()))
    kind = getattr(_transformers(), name)
    built = kind.config_class(**config)
    return _filled(kind, None, f"{path}", dtype, config=built, state_dict=renamed)


def _check_mark(path: Path, state: Mapping[str, Any], family: str) -> None:
    reason = next((text for mark, text in UNSUPPORTED_FILES.items() if mark in state), None)
    if reason:
        raise InvalidInput(f"{path} holds {reason}")
    found = next(
        (name for name, known in FAMILIES.items() if known.mapping and known.mark in state), None
    )
    if found and FAMILIES[found].mark == FAMILIES[family].mark:
        return
    if found:
        raise InvalidInput(f"{path} holds a model of the family {found!r}, not {family!r}")
    if FAMILIES[family].mapping is None:
        raise InvalidInput(
            f"{family}: single files are not read; give a folder with config.json and model.safetensors"
        )
    raise InvalidInput(
        f"{path} has {len(state)} tensors, and not {FAMILIES[family].mark!r} of a {family} model"
    )


def _from_folder(path: Path, family: str, dtype: str) -> Any:
    if not (path / "config.json").is_file():
        raise InvalidInput(
            f"{path} has no config.json; expected a folder with config.json and model.safetensors"
        )
    if not any((path / f"model.safetensors{more}").is_file() for more in ("", ".index.json")):
        raise InvalidInput(
            f"{path} has no model.safetensors; weights in other formats are not read from folders"
        )
    try:
        return _from_library(str(path), family, dtype, local=True)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {_in_a_line(error)}") from error


def _from_hub(name: str, family: str, dtype: str, allow_download: bool) -> Any:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name) or Path(name).suffix in (
        ".pth",
        ".pt",
        ".safetensors",
    ):
        raise InvalidInput(
            f"there is no file or folder {name}, and it is no name on the hub (OWNER/MODEL)"
        )
    try:
        return _from_library(name, family, dtype, local=not allow_download)
    except OSError as error:
        if allow_download:
            raise InvalidInput(
                f"{name} cannot be fetched from the hub: {_in_a_line(error)}"
            ) from error
        raise InvalidInput(
            f"there is no folder {name}, nor is a model of that name in the hub's local cache, and nothing "
            f"is downloaded unless asked: say allow_download=True, or fetch it with "
            f"`hf download {name} --local-dir FOLDER`"
        ) from error


def _from_library(source: str, family: str, dtype: str, *, local: bool) -> Any:
    library = _transformers()
    try:
        config, _ = library.PreTrainedConfig.get_config_dict(source, local_files_only=local)
        model_type = str(config["model_type"])
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"{source}: config.json is not a model's configuration with a model_type"
        ) from error
    classes = FAMILIES[family].classes
    if model_type not in classes:
        fitting = [name for name, known in FAMILIES.items() if model_type in known.classes]
        hint = f"; it is of the family {fitting[0]!r}" if fitting else ""
        raise InvalidInput(
            f"{source} is a {model_type!r} model; {family} takes {', '.join(classes)}{hint}"
        )
    kind = getattr(library, classes[model_type])
    return _filled(kind, source, source, dtype, local_files_only=local, use_safetensors=True)


def _filled(kind: Any, source: str | None, shown: str, dtype: str, **how: Any) -> Any:
    """Return the model with its weights, refusing whatever does not fit."""
    import torch
    from huggingface_hub.errors import StrictDataclassError
    from safetensors import SafetensorError

    try:
        with _quiet():
            model, info = kind.from_pretrained(
                source,
                dtype=getattr(torch, dtype),
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                **how,
            )
    except ImportError as error:
        raise MissingExtra(
            f"{shown}: the library needs one more package: {_in_a_line(error)}"
        ) from error
    except (
        SafetensorError,
        StrictDataclassError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        RuntimeError,
    ) as error:
        raise InvalidInput(
            f"{shown} cannot be loaded: {type(error).__name__}: {_in_a_line(error)}"
        ) from error
    misfits = _misfits(info)
    if misfits:
        raise InvalidInput(
            f"{shown} does not fit the {kind.__name__} of its configuration: {misfits}"
        )
    return model


def _misfits(info: Mapping[str, Any]) -> str:
    from segarena.files.checkpoint import abbreviated_keys

    shapes = [
        f"{name} {tuple(found)} for {tuple(wanted)}"
        for name, found, wanted in info["mismatched_keys"]
    ]
    problems = {
        "missing": sorted(info["missing_keys"]),
        "unknown": sorted(info["unexpected_keys"]),
        "of another shape": sorted(shapes),
    }
    return "; ".join(
        f"{len(names)} {what} ({abbreviated_keys(names)})"
        for what, names in problems.items()
        if names
    )


def _transformers() -> Any:
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise MissingExtra(f"models need transformers: {INSTALL}") from error


@contextmanager
def _quiet() -> Generator[None]:
    """Keep the library's own report and progress bar away; what is wrong, we say ourselves."""
    logging = importlib.import_module("transformers.utils.logging")
    level = logging.get_verbosity()
    bar = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split("\n\n")[0].split())
