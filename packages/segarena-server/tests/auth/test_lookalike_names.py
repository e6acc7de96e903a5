"""Look-alike names: mixed scripts, whole words in another script, letters and digits."""

import time

import pytest

from segarena.errors import InvalidInput
from segarena_server.auth.accounts import clean_name, register
from segarena_server.auth.lookalike_names import looks_like_any, mixes_scripts, skeleton

ALIKE = [
    ("anna", "ann\u0430"),  # a Cyrillic a
    ("anna", "\u0430nn\u0430"),
    ("oca", "\u043e\u0441\u0430"),  # all Cyrillic
    ("Paul", "PauI"),
    ("Paul", "Pau1"),
    ("Olga", "0lga"),
    ("Arne", "Ame"),
    ("Zoe", "Zo\u0435"),
    ("Anna", "\uff21nna"),  # full width
    ("Jose\u0301", "Jos\u00e9"),
    ("Anna", "ANN\u0391"),  # a Greek capital alpha
]
DIFFERENT = [
    ("anna", "hanna"),
    ("Team 1", "Team 2"),
    ("Team 1", "Team 11"),
    ("Ian", "Jan"),
    ("Jose", "Jos\u00e9"),
    ("\u0418\u0432\u0430\u043d", "\u0418\u0432\u0430"),
    ("\u674e\u660e", "\u674e\u660c"),
]


@pytest.mark.parametrize(("name", "other"), ALIKE)
def test_names_that_look_alike_have_one_skeleton(name, other):
    assert skeleton(name) == skeleton(other)
    assert looks_like_any(other, ["Bela", name])


@pytest.mark.parametrize(("name", "other"), DIFFERENT)
def test_names_that_look_different_have_their_own(name, other):
    assert skeleton(name) != skeleton(other)


MIXED = ["ann\u0430", "\u0430lice", "p\u03b1ul", "Ada \u0412ela", "\u0410\u043d\u043da"]
HONEST = [
    "Ada Lovelace",
    "Jos\u00e9-Mar\u00eda O'Neill 2",
    "\u0418\u0432\u0430\u043d \u041f\u0435\u0442\u0440\u043e\u0432",
    "\u0418\u0432\u0430\u043d Petrov",
    "\u039c\u03b1\u03c1\u03af\u03b1",
    "\u674e\u660e",
    "\u3055\u304f\u3089 \u82b1\u5b50",
    "\u82b1\u5b50\u3055\u3093",
    "\uae40\ubbfc\uc900",
    "\u0645\u062d\u0645\u062f",
    "lab_3",
]


@pytest.mark.parametrize("name", MIXED)
def test_a_word_of_two_scripts_is_no_name(name):
    assert mixes_scripts(name)
    with pytest.raises(InvalidInput, match="more than one script"):
        clean_name(name)


@pytest.mark.parametrize("name", HONEST)
def test_names_of_one_script_a_word_are_names(name):
    assert clean_name(name) == name


def test_whoever_looks_like_an_account_cannot_register(database):
    with database.writing() as session:
        register(session, 0.0, name="oca", kept="-")
        with pytest.raises(InvalidInput, match="looks like"):
            register(session, 0.0, name="\u043e\u0441\u0430", kept="-")
        register(session, 0.0, name="ocean", kept="-")


def test_ten_thousand_names_are_compared_within_a_second():
    names = [f"Person number {number}" for number in range(10_000)]
    started = time.process_time()
    assert not looks_like_any("Anna", names)
    first_s = time.process_time() - started
    started = time.process_time()
    assert looks_like_any("Person number 99l0", names)
    assert first_s < 5.0
    assert time.process_time() - started < 1.0
