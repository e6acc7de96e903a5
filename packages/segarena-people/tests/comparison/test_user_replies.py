import numpy as np
from people_users import SHAPE, Boxer, write_people

from segarena.prompts import Box, Click
from segarena_people.collection import Collection
from segarena_people.comparison.user_replies import ReplyCollector, requested_target
from segarena_people.mask_files import GOALS, PREVIOUS, encode_mask_png
from segarena_people.prompt_table import write_prompt_table
from segarena_people.prompts import PersonPrompt, PointerSample


def correction(folder, goal, wanted):
    """Write a collection of one correction: `wanted` is missing or surplus in the previous mask."""
    before = np.zeros(SHAPE, bool)
    before[20:60, 20:60] = True
    part = np.zeros(SHAPE, bool)
    part[wanted] = True
    for name, mask in ((GOALS, part), (PREVIOUS, before)):
        (folder / name).mkdir(parents=True)
        (folder / name / "0.png").write_bytes(encode_mask_png(mask))
    row = PersonPrompt(
        id="one", study="s", dataset="d", sample="a", target="1", width=SHAPE[1], height=SHAPE[0], goal=goal,
        goal_mask="0.png", previous_mask="0.png", round=3, kind="click", person="p", is_positive=goal == "missing",
        points=(PointerSample(stroke=0, x=1.0, y=1.0),),
    )  # fmt: skip
    write_prompt_table([row], folder / "prompts.parquet")
    return Collection.open(folder)[0], before, part


class Looker:
    """Records its turn, and clicks with both signs."""

    def next(self, turn):
        self.turn = turn
        return (Click((40, 70)), Click((30, 30), is_positive=False), Box((0, 0), (5, 5)))


def test_who_corrects_is_shown_exactly_what_was_missing(tmp_path):
    given, before, part = correction(tmp_path, "missing", np.s_[20:60, 60:80])
    user = Looker()
    reply = ReplyCollector(user, name="looker").ask(given)
    assert reply.prompts == (Click((40, 70)),)
    assert np.array_equal(user.turn.target.mask, before | part)
    assert (user.turn.round, user.turn.of_one.missing_area, user.turn.of_one.surplus_area) == (
        3,
        part.sum(),
        0,
    )


def test_of_what_is_too_much_only_negative_prompts_are_taken(tmp_path):
    given, before, part = correction(tmp_path, "surplus", np.s_[20:40, 20:40])
    reply = ReplyCollector(Looker(), name="looker").ask(given)
    assert reply.prompts == (Click((30, 30), is_positive=False),)
    assert np.array_equal(requested_target(given), before & ~part)


def test_a_user_of_volumes_is_asked_about_a_volume_of_one_plane(tmp_path):
    from segarena.registry import build

    given = Collection.open(write_people(tmp_path / "boxes", {"p": Boxer(spread=0.0)}, images=1))[0]
    reply = ReplyCollector(build("user", "cvpr2025(most_px=0)"), name="volumes").ask(given)
    assert reply.prompts == (given.prompt,)


class Painter:
    """Clicks on the brightest pixel of the picture."""

    def next(self, turn):
        return (Click(tuple(np.unravel_index(turn.sample.image[..., 0].argmax(), SHAPE))),)


def test_who_looks_at_pictures_is_found(tmp_path):
    given = Collection.open(write_people(tmp_path / "boxes", {"p": Boxer()}, images=1))[0]
    given = given.__class__(
        given.row.__class__(
            **{**{f: getattr(given.row, f) for f in given.row.__struct_fields__}, "kind": "click"}
        ),
        given._files,
        given._targets,
    )
    assert ReplyCollector(Painter(), name="painter").looks_at_pictures(given)
    assert not ReplyCollector(Looker(), name="looker").looks_at_pictures(given)
