"""Loading of models from weights that you provide: a folder, a name on the hub, or a file released by the authors.

Nothing is downloaded without permission, no file can execute code, and weights are rejected unless
every tensor fits. Requires the extra `models`.
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
    """Classes and file formats of one family of models.

    Attributes:
        classes: class of the library for each `model_type` that a configuration may have.
        mapping: module of this package that converts the authors' files; None if there is none.
        mark: name of a tensor in the authors' files; a file belongs to the first of `FAMILIES` whose
            tensor it has.
    """

    classes: Mapping[str, str]
    mapping: str | None = None
    mark: str = ""


# Present in the authors' files of SAM 2, but not in those of SAM.
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
# Common files that no family can read, identified by a tensor in them.
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
    """Load a model and its weights, ready for prediction.

    Args:
        weights: a folder with config.json and model.safetensors; a name on the hub, such as
            facebook/sam-vit-base; or the authors' own .pth or .pt file (see `docs/weights.md`).
        family: one of `FAMILIES`.
        device: a torch device, such as "cuda:0".
        dtype: float32, float16 or bfloat16.
        allow_download: whether to download a model of the hub that is not in the local cache.

    Raises:
        InvalidInput: there are no weights under that name; or the file is truncated, belongs to
            another family, could execute code, or has tensors that do not fit its configuration.
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


def _from_file(
    path: Path,
    family: str,
    dtype: str,
) -> Any:
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
            f"{path}: its tensor shapes are not those of a {family} model: {error}"
        ) from error
    class_name = next(iter(FAMILIES[family].classes.values()))
    model_class = getattr(_transformers(), class_name)
    configuration = model_class.config_class(**config)
    return _fill_weights(
        model_class, None, f"{path}", dtype, config=configuration, state_dict=renamed
    )


def _check_mark(
    path: Path,
    state: Mapping[str, Any],
    family: str,
) -> None:
    """Raise InvalidInput unless the file contains the tensor that identifies the family."""
    for mark, reason in UNSUPPORTED_FILES.items():
        if mark in state:
            raise InvalidInput(f"{path} holds {reason}")
    found = ""
    for name, known in FAMILIES.items():
        if known.mapping and known.mark in state:
            found = name
            break
    if found and FAMILIES[found].mark == FAMILIES[family].mark:
        return
    if found:
        raise InvalidInput(f"{path} holds a model of the family {found!r}, not {family!r}")
    if FAMILIES[family].mapping is None:
        raise InvalidInput(
            f"{family}: single files are not supported; "
            "give a folder with config.json and model.safetensors"
        )
    raise InvalidInput(
        f"{path} has {len(state)} tensors, but lacks {FAMILIES[family].mark!r} of a {family} model"
    )


def _from_folder(
    path: Path,
    family: str,
    dtype: str,
) -> Any:
    if not (path / "config.json").is_file():
        raise InvalidInput(
            f"{path} has no config.json; expected a folder with config.json and model.safetensors"
        )
    # Large models are split into several files with an index.
    single = path / "model.safetensors"
    index = path / "model.safetensors.index.json"
    if not single.is_file() and not index.is_file():
        raise InvalidInput(
            f"{path} has no model.safetensors; folders with other weight formats are not supported"
        )
    try:
        return _from_library(str(path), family, dtype, local=True)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {_as_one_line(error)}") from error


def _from_hub(
    name: str,
    family: str,
    dtype: str,
    allow_download: bool,
) -> Any:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name) or Path(name).suffix in (
        ".pth",
        ".pt",
        ".safetensors",
    ):
        raise InvalidInput(
            f"there is no file or folder {name}, and it is not a name on the hub (OWNER/MODEL)"
        )
    try:
        return _from_library(name, family, dtype, local=not allow_download)
    except OSError as error:
        if allow_download:
            raise InvalidInput(
                f"{name} cannot be downloaded from the hub: {_as_one_line(error)}"
            ) from error
        raise InvalidInput(
            f"there is no folder {name}, nor is a model of that name in the hub's local cache, and nothing "
            f"is downloaded without permission: set allow_download=True, or download it with "
            f"`hf download {name} --local-dir FOLDER`"
        ) from error


def _from_library(
    source: str,
    family: str,
    dtype: str,
    *,
    local: bool,
) -> Any:
    library = _transformers()
    try:
        config, _ = library.PreTrainedConfig.get_config_dict(source, local_files_only=local)
        model_type = str(config["model_type"])
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidInput(f"{source}: config.json has no model_type") from error
    classes = FAMILIES[family].classes
    if model_type not in classes:
        fitting = [name for name, known in FAMILIES.items() if model_type in known.classes]
        hint = f"; it is of the family {fitting[0]!r}" if fitting else ""
        raise InvalidInput(
            f"{source} is a {model_type!r} model; {family} accepts {', '.join(classes)}{hint}"
        )
    model_class = getattr(library, classes[model_type])
    return _fill_weights(
        model_class, source, source, dtype, local_files_only=local, use_safetensors=True
    )


def _fill_weights(
    model_class: Any,
    source: str | None,
    shown: str,
    dtype: str,
    **how: Any,
) -> Any:
    """Return the model with its weights; reject weights that do not fit.

    Args:
        model_class: model class of the library.
        source: folder or name for the library; None if `how` contains configuration and weights.
        shown: name of the source in messages.
        dtype: floating-point format of the weights.
        how: further arguments for the library.
    """
    import torch
    from huggingface_hub.errors import StrictDataclassError
    from safetensors import SafetensorError

    try:
        with _quiet():
            model, info = model_class.from_pretrained(
                source,
                dtype=getattr(torch, dtype),
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                **how,
            )
    except ImportError as error:
        raise MissingExtra(
            f"{shown}: the library needs another package: {_as_one_line(error)}"
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
            f"{shown} cannot be loaded: {type(error).__name__}: {_as_one_line(error)}"
        ) from error
    misfits = _misfits(info)
    if misfits:
        raise InvalidInput(
            f"{shown} does not fit the {model_class.__name__} of its configuration: {misfits}"
        )
    return model


def _misfits(info: Mapping[str, Any]) -> str:
    """Describe the tensors that do not fit the model; "" if all of them fit."""
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
    """Silence the library's own report and progress bar, because `_misfits` reports the problems."""
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


def _as_one_line(error: Exception) -> str:
    return " ".join(str(error).split("\n\n")[0].split())
