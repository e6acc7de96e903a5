"""The state of a claim log, compared with a reference that stores one word per unit."""

from hypothesis import given
from hypothesis import strategies as st

from segarena.work.sharing.claim_state import ClaimEntry, ClaimState, ranges_of

COUNT = 6
units = st.lists(st.integers(0, COUNT + 1), max_size=4).map(ranges_of)
who = st.sampled_from("abc")
entries = st.builds(
    ClaimEntry,
    who=who,
    joins=st.booleans(),
    leaves=st.booleans(),
    count=st.sampled_from([None, None, None, COUNT]),
    ends=st.lists(who, max_size=1).map(tuple),
    done=units,
    undone=units,
    takes=units,
    keeps=st.sampled_from([None, True, False]),
)


class Reference:
    """Units by number: "free", "done", or the process that claimed them."""

    def __init__(self):
        self.units, self.members, self.keeper = {}, set(), None

    def add(self, entry):
        if entry.count:
            self.units = dict.fromkeys(range(entry.count), "free")
        if entry.joins:
            self.members.add(entry.who)
        self.set(entry.done, "done")
        self.set(entry.undone, "free")
        for gone in [*entry.ends, *([entry.who] if entry.leaves else [])]:
            self.units = {
                unit: "free" if what == gone else what for unit, what in self.units.items()
            }
            self.members.discard(gone)
            self.keeper = None if self.keeper == gone else self.keeper
        self.set(entry.takes, entry.who, only="free")
        if entry.keeps is True and self.keeper is None:
            self.keeper = entry.who
        if entry.keeps is False and self.keeper == entry.who:
            self.keeper = None

    def set(self, ranges, what, only=None):
        for first, stop in ranges:
            for unit in range(first, stop):
                if unit in self.units and only in (None, self.units[unit]):
                    self.units[unit] = what

    def of(self, what):
        return {unit for unit, now in self.units.items() if now == what}


@given(st.lists(entries, max_size=30))
def test_it_agrees_with_the_reference_after_every_entry(said):
    shares, reference = ClaimState(), Reference()
    for entry in said:
        shares.add(entry)
        reference.add(entry)
        assert set(shares.free()) == reference.of("free")
        assert {who: shares.claims.get(who, set()) for who in "abc"} == {
            who: reference.of(who) for who in "abc"
        }
        assert (shares.count_free, shares.count_done) == (
            len(reference.of("free")),
            len(reference.of("done")),
        )
        assert (set(shares.members), shares.keeper) == (reference.members, reference.keeper)


def test_why_units_failed_is_known_until_they_are_done_again():
    shares = ClaimState()
    shares.add(ClaimEntry(who="a", count=3))
    shares.add(ClaimEntry(who="a", done=((0, 2),), failed={1: ("InvalidMask", "no mask")}))
    assert shares.failed == {1: ("InvalidMask", "no mask")}
    shares.add(ClaimEntry(who="b", done=((1, 2),)))
    assert shares.failed == {}
