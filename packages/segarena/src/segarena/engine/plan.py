"""The plan of a run: its plug-ins by name, its rules, and its description in run.json.

A plan is small and refers to plug-ins by name, so that every worker process can build the same
objects from it.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_args

from segarena.datasets.dataset_spec import dataset_spec
from segarena.engine.encoding_cache import Encoder, segmenter_key
from segarena.engine.lockstep_dialogues import RunCast
from segarena.engine.session import Rules
from segarena.engine.session_protocol import RemoteDataset
from segarena.engine.time_limit import SLOW_CALLS, TimeLimit
from segarena.errors import InvalidInput, PluginInvalid, PredictTimeout, SegarenaError
from segarena.options import name_first_option, options_of, suggest_names
from segarena.plugin_capabilities import (
    is_person,
    metric_columns,
    prompt_kinds,
    sample_kind,
    segmenter_capabilities,
)
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.readonly import accept_read_only
from segarena.records.configuration import (
    BenchmarkRecord,
    DatasetRecord,
    PluginRecord,
    RunConfiguration,
    UserRecord,
    resolve_paths,
)
from segarena.records.row_types import RoundRecord
from segarena.records.run_identity_record import FingerprintBy
from segarena.registry import build, check_role, describe, find
from segarena.roles import Benchmark, Dataset, Metric, Segmenter, User
from segarena.segmenters.workers.isolation import (
    IsolatedWorker,
    check_isolation,
    describe_isolated,
    hidden_files,
    isolation_kind,
)
from segarena.version import NUMERIC_PACKAGES, __version__
from segarena.work.deadline import this_deadline

GALLERY_ROUNDS = (1, 2, 3, 5, 10, 20)
"""Default for the rounds after which masks are stored; the mask of the last round is always stored."""


_PROMPTS = {
    "box": "boxes",
    "click": "clicks",
    "lasso": "lassos",
    "mask": "masks",
    "scribble": "scribbles",
    "support": "examples",
}
"""Plurals of prompt kinds for messages; other kinds are used unchanged."""

TIME_LIMIT_S = 60.0
"""Default time limit of one prediction."""

LONGEST_S = 1e6
"""Maximum time limit, about 11 days; an alarm cannot be infinite."""

_GRACE_S = 5.0
"""Longest time in seconds between the alarm inside a process and the end of the process from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The description of a run that has not started yet.

    Attributes:
        benchmark: the rules; `segarena.engine.plan.make_plan` applies changes to them.
        segmenter: a plug-in, an object with the segmenter's methods, or None if the participant's own script answers.
        dataset: a plug-in, or an object.
        seed: seed of all random streams.
        repeats: number of dialogues of each user about each target, unless the user determines its own number.
        limit: number of samples to take from the start of the dataset; None takes all.
        keep_rounds: rounds after which masks are stored.
        time_limit_s: time limit of one prediction.
        name: name of the segmenter in reports and boards; by default that of the plug-in, or of the object's class.
        note: remark about the run, for people.
        tags: words by which people sort their runs.
        cache: folder of encodings shared with other runs (see `segarena.engine.encoding_cache`); None for no cache.
        cache_gb: maximum size of that folder.
        prefetch: number of samples that a run in this process loads ahead, in a thread; 0 loads each when its
            dialogues begin.
        prefetch_gb: memory of the samples that are loaded ahead; at most one sample exceeds it.
        check_plugins: whether to detect plug-ins that modify shared arrays (`segarena.engine.mutation_guard`).
        isolate: whether the segmenter runs in a process without the ground truth that, with bubblewrap, cannot read the
            dataset's files (`segarena.segmenters.workers.isolation`).
        fingerprint: what the fingerprint of the data covers: "content" or, for slow disks, "names" (and
            sizes).
    """

    benchmark: Benchmark
    segmenter: PluginSpec | Segmenter | None
    dataset: PluginSpec | Dataset
    seed: int = 0
    repeats: int = 1
    limit: int | None = None
    keep_rounds: tuple[int, ...] = GALLERY_ROUNDS
    time_limit_s: float = TIME_LIMIT_S
    name: str = ""
    note: str = ""
    tags: Sequence[str] = ()
    cache: str | Path | None = None
    cache_gb: float = 20.0
    prefetch: int = 2
    prefetch_gb: float = 1.0
    check_plugins: bool = False
    isolate: bool = False
    fingerprint: FingerprintBy = "content"

    def cast(self) -> RunCast:
        """Build the plug-ins.

        Raises:
            PluginError, DatasetError: a plug-in or the data cannot be found or built.
        """
        accept_read_only()
        rules = self.benchmark
        metrics, users = self._judges_and_users()
        called = self._called("segmenter", self.segmenter)
        dataset: Dataset = self._built("dataset", self.dataset)
        _check_samples(dataset, rules)
        gives: Mapping[str, AbstractSet[str] | None]
        if isinstance(dataset, RemoteDataset):
            gives = dataset.prompt_kinds
        else:
            gives = {name: prompt_kinds(user) for name, user in users.items()}
        try:
            segmenter = _fit(self._built_segmenter(dataset), called, rules)
        except SegarenaError as error:
            # Importing the file again would hang again.
            if isinstance(error.__cause__, PredictTimeout):
                raise
            # Check prompts before building, so that unsuitable prompts are reported before missing
            # weights.
            if isinstance(self.segmenter, PluginSpec) and not self.isolate:
                factory = find("segmenter", self.segmenter.reference)
                _check_prompt_kinds(gives, factory, called, rules)
            raise
        _check_prompt_kinds(gives, segmenter, called, rules)
        return RunCast(
            dataset=dataset,
            segmenter=segmenter,
            encoder=self._encoder(segmenter),
            users=users,
            rules=Rules(
                benchmark=rules.name,
                dataset=dataset.name,
                metrics=metrics,
                rounds=rules.rounds,
                stop_at=rules.stop_at,
                budget=rules.budget,
                seed=self.seed,
                keep_rounds=self.keep_rounds,
                most_prompts=rules.most_prompts,
                check_plugins=self.check_plugins,
            ),
            repeats=self.repeats,
        )

    def _judges_and_users(self) -> tuple[tuple[Metric, ...], dict[str, User]]:
        """Return the metrics and users; both are empty if a server runs the dialogues."""
        if isinstance(self.dataset, RemoteDataset):
            return (), {}
        metrics = tuple(self._built("metric", name) for name in self.benchmark.metrics)
        _check_columns(self.benchmark, metrics)
        users = {spec.name: self._built("user", spec) for spec in self.benchmark.users}
        return metrics, users

    def describe(self, dataset: Dataset) -> RunConfiguration:
        """Return the configuration for run.json, which omits settings such as the cache and the prefetching."""
        rules = self.benchmark
        samples = _sample_ids(dataset)[: self.limit]
        _check_text(dataset, "name", dataset.name)
        _check_text(dataset, "fingerprint", dataset.fingerprint)
        if not samples:
            raise InvalidInput(
                f"dataset {dataset.name} has no samples to run; add some, or choose another -d"
            )
        if len(set(samples)) != len(samples):
            twice = Counter(samples).most_common(1)[0][0]
            raise InvalidInput(
                f"dataset {dataset.name} has two samples with the id {twice!r}; rename one of them"
            )
        data = self._describe("dataset", self.dataset)
        users = [UserRecord(**describe("user", spec), written=spec.name) for spec in rules.users]
        return RunConfiguration(
            version=__version__,
            benchmark=_describe_benchmark(rules),
            segmenter=self._segmenter_record(),
            dataset=DatasetRecord(**data, fingerprint=dataset.fingerprint, samples=tuple(samples)),
            users=tuple(users),
            metrics=tuple(PluginRecord(**describe("metric", name)) for name in rules.metrics),
            rounds=rules.rounds,
            repeats=self.repeats,
            seed=self.seed,
            keep_rounds=tuple(self.keep_rounds),
            time_limit_s=self.time_limit_s,
            note=self.note,
            tags=tuple(dict.fromkeys(self.tags)),
        )

    @property
    def _label(self) -> str:
        # Without a segmenter, `_called` already records this name.
        return "" if self.segmenter is None else self.name

    def _encoder(self, segmenter: Any) -> Encoder:
        if self.cache is None:
            return Encoder(segmenter)
        if self.isolate:
            described = describe_isolated(PluginSpec.of(str(self.segmenter)))
        elif isinstance(self.segmenter, PluginSpec):
            described = describe("segmenter", self.segmenter)
        else:
            described = None
        facts = {"segarena": __version__, **environment()}
        return Encoder(
            segmenter,
            key=segmenter_key(segmenter, described, facts),
            folder=Path(self.cache),
            limit_bytes=int(self.cache_gb * 1e9),
        )

    def _segmenter_record(self) -> PluginRecord:
        if not self.isolate:
            return PluginRecord(**self._describe("segmenter", self.segmenter), label=self._label)
        check_isolation(self.segmenter)
        described = describe_isolated(PluginSpec.of(str(self.segmenter)))
        return PluginRecord(**described, label=self._label, isolation=isolation_kind())

    def _built_segmenter(self, dataset: Dataset) -> Any:
        """Return the segmenter; with `isolate`, a worker that runs it.

        Raises:
            InvalidInput: the segmenter cannot be isolated.
            PluginError: it cannot be built.
        """
        if not self.isolate:
            return self._built("segmenter", self.segmenter)
        check_isolation(self.segmenter)
        if isinstance(dataset, RemoteDataset):
            raise InvalidInput(
                "isolate: a challenge keeps the ground truth on its server; leave out isolate"
            )
        options: Mapping[str, Any] = {}
        if isinstance(self.dataset, PluginSpec):
            options = self.dataset.options
        spec = PluginSpec.of(str(self.segmenter))
        return IsolatedWorker(
            str(spec), hidden_files(dataset, options, spec), SLOW_CALLS * self.time_limit_s
        )

    def _describe(self, kind: str, plugin: Any) -> dict[str, Any]:
        if isinstance(plugin, PluginSpec):
            return describe(kind, plugin)
        return {"kind": kind, "name": self._called(kind, plugin), "options": {}}

    def _built(self, kind: str, plugin: Any) -> Any:
        """Return a plug-in object, built if necessary, after checking that it has the methods of its role."""
        if isinstance(plugin, PluginSpec):
            with time_limit_of(self).watch(f"the constructor of {kind} {plugin}", times=SLOW_CALLS):
                spec = _with_absolute_paths(plugin) if kind == "dataset" else plugin
                return build(kind, spec)
        if plugin is not None:
            check_role(kind, plugin, self._called(kind, plugin))
        return plugin

    def _called(self, kind: str, plugin: Any) -> str:
        if isinstance(plugin, PluginSpec):
            return str(plugin)
        # A script that runs the loop itself passes no segmenter.
        if plugin is None:
            return self.name or "participant"
        return type(plugin).__name__


def time_limit_of(plan: Plan) -> TimeLimit:
    """Return the time limit of each call in this process; a parent process may enforce it from outside."""
    return _time_limit(plan.time_limit_s)


def _time_limit(seconds: float) -> TimeLimit:
    # With a limit below a few seconds, do not wait much longer for a hanging process.
    return TimeLimit(seconds, this_deadline(), grace_s=min(_GRACE_S, max(1.0, seconds)))


def _with_absolute_paths(dataset: PluginSpec) -> PluginSpec:
    """Return a dataset with absolute paths, because a plug-in may change the working directory."""
    options = dataset.options
    # Invalid options are reported later, when the dataset is built.
    with suppress(InvalidInput):
        options = name_first_option(find("dataset", dataset.reference), options)
    resolved = resolve_paths(PluginRecord(name="", options=options), str(Path.cwd()))
    return replace(dataset, options=resolved.options)


def make_plan(
    benchmark: Plugin | Benchmark,
    *,
    segmenter: Plugin | Segmenter | None,
    dataset: Plugin | Dataset | None = None,
    users: Sequence[Plugin] | None = None,
    metrics: Sequence[Plugin] | None = None,
    rounds: int | None = None,
    **options: Any,
) -> Plan:
    """Return the plan of `benchmark` with the given changes.

    Args:
        benchmark: a benchmark, or the plug-in that makes it.
        segmenter: see `Plan`.
        dataset: dataset that replaces the benchmark's default.
        users: plug-ins, or NAME=PLUGIN, that replace the benchmark's users.
        metrics: further metrics, in addition to the benchmark's.
        rounds: number of rounds that replaces the benchmark's.
        options: further fields of `Plan`, and options of the benchmark.

    Raises:
        UnknownPlugin: the benchmark does not exist.
        PluginInvalid: neither the plan nor the benchmark has a given option, or the benchmark rejects its value.
        InvalidInput: a value has a wrong type or is out of range; a string is passed instead of a
            list of plug-ins; or two users have the same name.
    """
    for name, given in (("users", users), ("metrics", metrics)):
        if isinstance(given, str):
            raise InvalidInput(f"{name} must be a list like [{given!r}], got the text {given!r}")
    _check_types({"rounds": rounds, "users": users, "metrics": metrics, **options})
    plan_options = {field.name for field in fields(Plan)}
    own = {name: options.pop(name) for name in list(options) if name not in plan_options}
    seconds = options.get("time_limit_s", TIME_LIMIT_S)
    _check_time_limit(seconds)
    # This imports the files of the benchmark and of the users.
    with _time_limit(seconds).watch("importing the benchmark and its users", times=SLOW_CALLS):
        rules = _rules(benchmark, own)
        if users:
            named = [PluginSpec.named(user) for user in users]
            rules = replace(rules, users=tuple(_with_prompts(user, rules) for user in named))
    further = [PluginSpec.of(metric) for metric in metrics or ()]
    added = [spec for spec in further if spec not in rules.metrics]
    rules = replace(rules, metrics=(*rules.metrics, *added))
    if rounds is not None:
        rules = replace(rules, rounds=rounds)
    if isinstance(segmenter, str):
        segmenter = PluginSpec.of(segmenter)
    if dataset is None:
        chosen = rules.dataset
    else:
        chosen = dataset_spec(dataset) if isinstance(dataset, str) else dataset
    plan = Plan(
        benchmark=rules,
        segmenter=segmenter,
        dataset=chosen,
        **options,
    )
    _check_values(plan)
    return plan


def _check_values(plan: Plan) -> None:
    """Raise InvalidInput for values of a plan that are out of range."""
    rules = plan.benchmark
    counts = {"rounds": rules.rounds, "repeats": plan.repeats, "limit": plan.limit}
    for name, number in counts.items():
        if number is not None and number < 1:
            raise InvalidInput(f"{name} must be at least 1, got {number}")
    _check_time_limit(plan.time_limit_s)
    # Written as a negated comparison, so that NaN fails too.
    if not plan.cache_gb > 0:
        raise InvalidInput(f"the cache needs more than 0 GB, got {plan.cache_gb:g}")
    if plan.prefetch < 0 or not plan.prefetch_gb > 0:
        raise InvalidInput(
            "expected prefetch of at least 0 samples and prefetch_gb above 0, "
            f"got {plan.prefetch} and {plan.prefetch_gb:g}"
        )
    if plan.fingerprint not in get_args(FingerprintBy):
        expected = " or ".join(get_args(FingerprintBy))
        raise InvalidInput(f"fingerprint: expected {expected}, got {plan.fingerprint!r}")
    names = [user.name for user in rules.users]
    if not names:
        raise InvalidInput(f"benchmark {rules.name}: expected at least one user, got none")
    if len(set(names)) != len(names):
        raise InvalidInput(f"user names must differ, got {', '.join(names)}")


def _check_time_limit(seconds: float) -> None:
    if not 0 < seconds <= LONGEST_S:
        raise InvalidInput(
            f"the time limit must be above 0 and at most {LONGEST_S:.0f} s, got {seconds:g}"
        )


def _with_prompts(user: PluginSpec, rules: Benchmark) -> PluginSpec:
    """Return `user`; a person without chosen prompts gives the kinds that the benchmark's own users give.

    Raises:
        InvalidInput: no page can collect such prompts from a person.
    """
    has_prompts = bool({"", "prompts"} & user.options.keys())
    if has_prompts or not is_person(find("user", user.reference)):
        return user
    kinds: set[str] = set()
    for own in rules.users:
        kinds.update(prompt_kinds(build("user", own)) or ())
    options = {"prompts": tuple(sorted(kinds)), **user.options}
    asked = replace(user, options=options, own_name=user.name)
    # Build it unchanged first, so that errors in its own options are raised as they are.
    build("user", user)
    try:
        build("user", asked)
    except SegarenaError as error:
        given = ", ".join(sorted(kinds)) or "nothing"
        raise InvalidInput(
            f"{user.name}: people cannot give the prompts of {rules.name} ({given}); choose simulated users"
        ) from error
    return asked


def _check_types(given: Mapping[str, Any]) -> None:
    for option in (*options_of(make_plan), *options_of(Plan)):
        if option.name in given:
            fault = option.fault(given[option.name])
            if fault:
                raise InvalidInput(fault)


def _rules(benchmark: Plugin | Benchmark, own: dict[str, Any]) -> Benchmark:
    """Return the benchmark object, built with its own options if any are given."""
    if isinstance(benchmark, Benchmark):
        if own:
            raise PluginInvalid(
                f"{', '.join(sorted(own))}: benchmark options require a benchmark name, not an object"
            )
        return benchmark
    spec = PluginSpec.of(benchmark)
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in own.items()}
    its_own = [option.name for option in options_of(find("benchmark", spec.reference))]
    for name in plain:
        if name not in its_own:
            known = sorted({*its_own, *(field.name for field in fields(Plan))})
            hint = suggest_names(name, known) or f"known: {', '.join(known)}"
            raise PluginInvalid(f"unknown option {name!r} for a run of {spec.reference}; {hint}")
    return build("benchmark", replace(spec, options={**spec.options, **plain}))


def environment() -> dict[str, str]:
    """Return the type of this machine and the software versions, which can change the results of a run."""
    return {"python": platform.python_version(), "machine": platform.machine(), **_versions()}


@cache
def _versions() -> dict[str, str]:
    """Return the versions of the packages used for computation."""
    # Cached, because imported packages do not change during the life of the process.
    versions: dict[str, str] = {}
    for package in NUMERIC_PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def _describe_benchmark(rules: Benchmark) -> BenchmarkRecord:
    return BenchmarkRecord(
        name=rules.name,
        protocol=rules.protocol,
        paper=rules.paper,
        stop_at=rules.stop_at,
        budget=rules.budget,
        sample_kind=rules.sample_kind,
        adapter=PluginRecord(**describe("segmenter", rules.adapter)) if rules.adapter else None,
        options=rules.options,
        summary=rules.summary,
    )


def _check_columns(rules: Benchmark, metrics: Sequence[Metric]) -> None:
    columns = [column for metric in metrics for column in metric_columns(metric)]
    if rules.stop_at is not None and rules.stop_at[0] not in columns:
        raise InvalidInput(
            f"stop_at: expected a column of the metrics ({', '.join(columns)}), got {rules.stop_at[0]!r}"
        )
    for name, metric in zip(rules.metrics, metrics, strict=True):
        keys = [column for column in metric.columns if column in RoundRecord.__struct_fields__]
        if keys:
            raise InvalidInput(
                f"metric {name} has the column {keys[0]!r}, which already exists in the records; rename it"
            )
        twice = [column for column in metric.columns if columns.count(column) > 1]
        if twice:
            raise InvalidInput(
                f"metric {name} has the column {twice[0]!r}, and so has another metric of this run; rename one"
            )


def _check_samples(dataset: Dataset, rules: Benchmark) -> None:
    # Datasets that do not declare their kind are not checked.
    holds = sample_kind(dataset)
    if holds is not None and holds != rules.sample_kind:
        raise InvalidInput(
            f"{rules.name} is for {rules.sample_kind}s, but dataset {dataset.name} has {holds}s; "
            "choose another -d, or a benchmark that fits: segarena list benchmarks"
        )


def _sample_ids(dataset: Dataset) -> list[str]:
    """Return the ids of a dataset's samples.

    Raises:
        PluginInvalid: they are not a list of text; plug-ins often have a method here, or numbers.
    """
    given: Any = dataset.sample_ids
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _not_text(dataset, "sample_ids", "a list of text", given)
    ids = list(given)
    for place, sample_id in enumerate(ids):
        _check_text(dataset, f"sample_ids[{place}]", sample_id)
    return ids


def _check_text(
    dataset: Dataset,
    name: str,
    value: object,
) -> None:
    if not isinstance(value, str):
        raise _not_text(dataset, name, "text", value)


def _not_text(
    dataset: Dataset,
    name: str,
    expected: str,
    value: object,
) -> PluginInvalid:
    hint = "; write @property above the method" if callable(value) else ""
    return PluginInvalid(
        f"dataset {type(dataset).__name__}: expected {expected} as {name}, got {type(value).__name__}{hint}"
    )


def _fit(
    segmenter: Any,
    called: str,
    rules: Benchmark,
) -> Any:
    """Return a segmenter for the benchmark's samples: the given one, or one wrapped in the benchmark's adapter."""
    kinds = segmenter_capabilities(segmenter).sample_kinds
    if segmenter is None or rules.sample_kind in kinds:
        return segmenter
    if rules.adapter and "image" in kinds:
        given = {**rules.adapter.options, "segmenter": segmenter}
        return build("segmenter", replace(rules.adapter, options=given))
    segments = " and ".join(f"{kind}s" for kind in sorted(kinds))
    raise PluginInvalid(
        f"{called} segments {segments}; {rules.name} is for "
        f"{rules.sample_kind}s. A segmenter declares what it accepts by sample_kinds = {{{rules.sample_kind!r}}}"
    )


def _check_prompt_kinds(
    gives: Mapping[str, AbstractSet[str] | None],
    segmenter: Any,
    called: str,
    rules: Benchmark,
) -> None:
    understood = prompt_kinds(segmenter)
    if understood is None:
        return
    for name, given in gives.items():
        if given is not None and not given <= understood:
            raise PluginInvalid(
                f"{called} takes {_in_words(understood)}; user {name} of {rules.name} gives {_in_words(given)}. "
                "Choose another benchmark or user (-u): 'segarena list' shows which prompts segmenters take and "
                "users give"
            )


def _in_words(kinds: AbstractSet[str]) -> str:
    return " and ".join(sorted(_PROMPTS.get(kind, kind) for kind in kinds))
