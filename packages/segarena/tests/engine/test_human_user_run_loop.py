"""Runs with people: a person with the prompts of a simulated user gets the same records, even after interruptions."""

import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import segarena
from segarena.engine import evaluate, human_page_server
from segarena.engine.human_dialogue_files import PersonPrompts, Seats
from segarena.engine.human_page_server import NoPageServer
from segarena.errors import InvalidInput, MissingExtra

pytestmark = pytest.mark.usefixtures("quick_workers")

RUN = {"segmenter": "image-blind", "dataset": "demo", "limit": 2, "rounds": 3}
KEY = ["sample", "target", "user", "repeat", "round"]


class Person(threading.Thread):
    """Takes every seat and gives the prompts of a simulated user in the run `like`, as `name`.

    With `others`, it keeps its first seat and waits until each of the others has one.
    """

    def __init__(self, run, like, name="p1", most=1000, others=None):
        super().__init__(daemon=True)
        self.seats, self.name_, self.most = Seats(run), name, most
        self.others = others
        self.like = {
            tuple(row[:3]): row[3]
            for row in like.select("sample", "target", "round", "prompts").iter_rows()
        }
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.is_set():
            for name in self.seats.names():
                self.give_next(name)
            time.sleep(0.02)

    def give_next(self, name):
        told, given = self.seats.seat(name), list(self.seats.rounds(name))
        is_waiting = given and self.seats.answered(name, len(given)) is None
        if (
            self.seats.is_over(name)
            or is_waiting
            or self.most == 0
            or not self.seats.claim(name, self.name_)
        ):
            return
        if self.others is not None:
            self.others.wait(timeout=60)
            self.others = None
        prompts = self.like.get((told.sample, told.target, len(given) + 1))
        self.seats.give(
            name,
            len(given) + 1,
            PersonPrompts(id="x", prompts=prompts, person=self.name_, user_s=1.5, pointer="pen"),
        )
        self.most -= 1


@pytest.fixture
def people(monkeypatch):
    """Let these people take seats as soon as a run has some: `people(make)`, where `make(run)` creates them."""

    def come(make):
        @contextmanager
        def pages(asked, run, told, ask):
            if not asked:
                yield NoPageServer()
                return
            Seats(run).open(told)
            there = make(run)
            for person in there:
                person.start()
            try:
                yield NoPageServer(address="here")
            finally:
                for person in there:
                    person.is_over.set()
                    person.join()

        monkeypatch.setattr(evaluate, "page_server", pages)

    return come


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return segarena.evaluate("clicks", out=tmp_path_factory.mktemp("simulated") / "run", **RUN)


def of_user(run, name):
    return run.records().filter(user=name).drop("user")


@pytest.mark.long
def test_a_person_who_clicks_like_the_simulated_user_gets_the_same_records(
    people, simulated, tmp_path
):
    people(lambda run: [Person(run, simulated.records())])
    run = segarena.evaluate(
        "clicks", users=["human", "centre"], out=tmp_path / "run", verify=20, **RUN
    )

    assert of_user(run, "human").equals(of_user(simulated, "centre"))
    assert of_user(run, "centre").equals(of_user(simulated, "centre"))
    assert run.config.verified is not None
    assert (run.config.verified.asked, run.config.verified.differed) == (20, 0)
    assert run.config.users[0].options["prompts"] == ["click"]
    told = run.people()
    assert told.select(KEY).equals(run.records().filter(user="human").select(KEY))
    assert told.select("person", "user_s", "pointer").unique().rows() == [("p1", 1.5, "pen")]

    left = Seats(tmp_path / "run").sample_folder(
        1
    )  # by a process that was killed right after the last answer
    left.mkdir(parents=True)
    segarena.evaluate("clicks", users=["human", "centre"], out=tmp_path / "run", **RUN)
    assert not left.exists()


@pytest.mark.long
def test_a_run_that_was_stopped_goes_on_with_what_was_given(
    people, simulated, tmp_path, monkeypatch
):
    class Stopped(Exception):
        pass

    def beat(seats):
        if len(list(seats.path.glob("*/*.answer"))) == 4:  # in the middle of a dialogue
            raise Stopped

    people(lambda run: [Person(run, simulated.records(), most=4)])
    with monkeypatch.context() as patch:
        patch.setattr(Seats, "beat", beat)
        patch.setattr("segarena.engine.human_user_run_loop._HEARTBEAT_S", 0.0)
        with pytest.raises(Stopped):
            segarena.evaluate("clicks", users=["human"], out=tmp_path / "run", **RUN)
    assert len(list((tmp_path / "run" / "seats").glob("*/*.given"))) == 4
    people(lambda run: [Person(run, simulated.records())])
    run = segarena.evaluate("clicks", users=["human"], out=tmp_path / "run", **RUN)

    assert of_user(run, "human").equals(of_user(simulated, "centre"))


class Moody:
    """Fails as long as a file is there."""

    trouble = None

    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        if self.trouble.exists():
            raise RuntimeError("out of memory")
        return [np.ones(encoded, dtype=bool) for _ in dialogues]


def test_what_failed_is_asked_again_with_what_was_given(people, simulated, tmp_path):
    Moody.trouble = tmp_path / "trouble"
    Moody.trouble.touch()
    people(lambda run: [Person(run, simulated.records())])
    options = {**RUN, "segmenter": Moody(), "limit": 1, "users": ["human"], "out": tmp_path / "run"}
    assert segarena.evaluate("clicks", **options).config.counts.failures > 0
    Moody.trouble.unlink()
    run = segarena.evaluate("clicks", retry_failed=True, **options)
    assert run.config.counts.failures == 0
    firsts = simulated.records().filter(round=1, sample=run.samples[0])["prompts"]
    assert run.records().filter(round=1)["prompts"].to_list() == firsts.to_list()


@pytest.mark.long
def test_several_people_share_a_run_and_who_says_that_all_is_well_ends_the_dialogue(
    people, simulated, tmp_path
):
    first = simulated.records().filter(round=1)
    both = threading.Barrier(2)
    people(lambda run: [Person(run, first, name, others=both) for name in ("p1", "p2")])
    run = segarena.evaluate("clicks", users=["human"], repeats=2, out=tmp_path / "run", **RUN)

    assert run.records()["round"].max() == 1
    assert set(run.people()["person"]) == {"p1", "p2"}
    assert run.people().group_by("sample", "target", "repeat").len()["len"].unique().to_list() == [
        2
    ]  # a click, the end
    once = simulated.records().filter(round=1)
    assert run.records().filter(repeat=1)["prompts"].to_list() == once["prompts"].to_list()


def test_runs_without_people_have_neither_a_table_of_them_nor_seats(simulated):
    assert {path.name for path in simulated.path.iterdir() if path.is_dir()} == {
        "records",
        "timings",
        "masks",
    }


def test_people_are_asked_by_one_process_and_only_where_somebody_is_one(tmp_path):
    with pytest.raises(InvalidInput, match="a run with people uses one process"):
        segarena.evaluate("clicks", users=["human"], workers=2, out=tmp_path / "a", **RUN)
    with pytest.raises(InvalidInput, match="no user of this run is a person"):
        segarena.evaluate(
            "clicks",
            people=human_page_server.PeopleSettings(at=tmp_path),
            out=tmp_path / "b",
            **RUN,
        )
    with pytest.raises(InvalidInput, match="people cannot give prompts in a challenge"):
        segarena.evaluate(
            challenge="https://lab.example",
            segmenter="graph",
            people=human_page_server.PeopleSettings(at=tmp_path),
        )


def test_without_the_pages_for_people_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(human_page_server, "entry_points", lambda group: ())
    with pytest.raises(MissingExtra, match=r'pip install "segarena\[studio\]"'):
        segarena.evaluate("clicks", users=["human"], out=tmp_path / "run", **RUN)


def test_a_person_gives_what_the_benchmarks_own_users_give():
    from segarena.engine.plan import make_plan

    def kinds(benchmark, **options):
        plan = make_plan(benchmark, segmenter=None, users=["human"], **options)
        return plan.benchmark.users[0].options["prompts"]

    assert kinds("davis") == ("scribble",)
    assert kinds("radioactive") == ("box", "click")
    assert kinds("cvpr2025") == ("box", "click", "limits")
    with pytest.raises(InvalidInput, match=r"cannot give the prompts of toss \(support\)"):
        make_plan("toss", segmenter=None, users=["human"])
