"""Presence of processes, from times of the file system and from process ids of this machine."""

import os
import signal
import subprocess
import sys
import time

import msgspec
import pytest

from segarena.errors import StoreError
from segarena.work.sharing.process_heartbeats import Presence, Sharer, present_sharers

UTIME = os.utime


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "claims"


def elsewhere(folder, **changes):
    """Add the presence of a process on another machine; return its token."""
    who = msgspec.structs.replace(Sharer.here(), host="other", machine="other", **changes)
    (folder / f"{who.token}.sharer").write_bytes(msgspec.json.encode(who))
    return who.token


def test_a_process_is_there_from_its_coming_to_its_going(folder):
    with Presence(folder) as one, Presence(folder) as other:
        assert set(present_sharers(folder)) == {one.me.token, other.me.token}
        assert other.is_live(one.me.token)
        assert str(one.me).endswith(f"(process {os.getpid()})")
    assert not present_sharers(folder)
    assert not other.is_live(one.me.token)


def test_silence_is_told_by_the_file_system_and_by_no_clock(folder, monkeypatch):
    server_s = 1e6  # of 1970, whatever the hosts think

    def touch_on_server(path):
        UTIME(path, (server_s, server_s))

    with Presence(folder, expire_s=600.0) as one:
        monkeypatch.setattr(os, "utime", touch_on_server)
        monkeypatch.setattr(time, "time", lambda: 1 / 0)
        other = elsewhere(folder)
        touch_on_server(folder / f"{other}.sharer")
        server_s += 600
        assert one.is_live(other)
        server_s += 1
        assert not one.is_live(other)
        touch_on_server(folder / f"{other}.sharer")
        assert one.is_live(other)


def test_a_process_of_this_machine_that_is_dead_is_known_at_once(folder):
    script = "import sys; from pathlib import Path; from segarena.work.sharing.process_heartbeats import Presence\n"
    script += "with Presence(Path(sys.argv[1])) as here: print(here.me.token, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(folder)]
    with (
        Presence(folder) as one,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        token = process.stdout.readline().strip()
        assert one.is_live(token)
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # nobody has buried it yet
        assert not one.is_live(token)


def test_another_process_of_the_same_number_is_not_taken_for_it(folder):
    with Presence(folder) as one:
        before = msgspec.structs.replace(Sharer.here(), started="1")
        (folder / f"{before.token}.sharer").write_bytes(msgspec.json.encode(before))
        assert not one.is_live(before.token)
        assert one.is_live(elsewhere(folder, process=2**22))


def test_one_that_was_silent_for_too_long_knows(folder):
    with Presence(folder, expire_s=600.0) as one:
        one.touch()
        assert not one.take_lapse()
        UTIME(folder / f"{one.me.token}.sharer", (0, 0))
        one.touch()
        assert one.take_lapse()
        assert not one.take_lapse()


def test_one_that_was_given_up_comes_back(folder):
    with Presence(folder) as one, Presence(folder) as other:
        other.forget(one.me.token)
        assert not other.is_live(one.me.token)
        one.touch()
        assert other.is_live(one.me.token)
        assert one.take_lapse()


def test_it_shows_itself_again_and_again(folder):
    with Presence(folder, expire_s=0.06) as one:
        file = folder / f"{one.me.token}.sharer"
        UTIME(file, (0, 0))
        until = time.monotonic() + 60
        while not file.stat().st_mtime:
            assert time.monotonic() < until


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        Presence(tmp_path / "file" / "claims").__enter__()
