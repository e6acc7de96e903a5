"""A dataset whose dialogues are held by another process: the ground truth stays with that process."""

from dataclasses import replace

from segarena.engine.lockstep_dialogues import load_sample, open_sessions
from segarena.engine.plan import make_plan
from segarena.errors import WorkStopped


class Elsewhere:
    """The samples of `dataset` without targets; only `plan` has the users and metrics.

    Args:
        plan: with truth, users and metrics.
        cut_at: the sample at which everything stops, while the file `cut` is there.
        cut: that file.
    """

    beside = frozenset({"told.json"})
    needs_trial = False

    def __init__(self, plan, cut_at="", cut=None):
        self._plan = replace(plan, segmenter=None)
        self._cut_at, self._cut = cut_at, cut
        self._cast = None
        self.name = self.cast.dataset.name
        self.fingerprint = "elsewhere"
        self.sample_ids = self.cast.dataset.sample_ids
        self.prompt_kinds = {name: user.prompt_kinds for name, user in self.cast.users.items()}

    @property
    def cast(self):
        if self._cast is None:
            self._cast = self._plan.cast()
        return self._cast

    def __getstate__(self):
        return {**vars(self), "_cast": None}

    def load(self, sample_id):
        return replace(load_sample(self.cast.dataset, sample_id), targets=())

    def check(self):
        return ()

    def open_sessions(self, sample, keep_rounds):
        sessions = open_sessions(self.cast, load_sample(self.cast.dataset, sample.id))
        for session in sessions:
            session.rules = replace(session.rules, keep_rounds=keep_rounds)
        if sample.id == self._cut_at and self._cut.exists():
            sessions[-1].next = self._stop
        return sessions

    def _stop(self):
        raise WorkStopped("the line is cut")


def elsewhere(rules, **options):
    plan = make_plan(rules, segmenter=None, dataset="sample-squares(count=4)")
    return Elsewhere(plan, **options)
