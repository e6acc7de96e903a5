"""Budget for large uploads: a limit on concurrent bytes, and a retry message above it."""

import asyncio
from types import SimpleNamespace

import pytest
from starlette.requests import Request

from segarena_server.http.middleware import RequestMiddleware
from segarena_server.http.request_body import MOST_LARGE_FORM_BYTES, read_body
from segarena_server.http_errors import Refusal
from segarena_server.limits.upload_budget import UploadBudget
from segarena_server.prometheus import RequestMetrics

PART = bytes(400_000)
MOST = 10**6


class Sending:
    """A request whose body arrives in given parts, to an application that reads it all."""

    def __init__(self, site, *, declares=b"0"):
        self.parts = asyncio.Queue()
        self.came = asyncio.Event()
        self._site = site
        headers = [(b"host", b"here"), (b"content-length", declares)]
        app = SimpleNamespace(state=SimpleNamespace(site=site))
        self._scope = {
            "type": "http",
            "method": "POST",
            "path": "/",
            "headers": headers,
            "app": app,
            "state": {},
        }

    async def answer(self):
        """Return the body, or the status of the refusal."""
        found = []

        async def app(scope, receive, send):
            try:
                found.append(await read_body(Request(scope, receive), MOST))
            except Refusal as refusal:
                found.append((refusal.status, refusal.retry_after_s))

        await RequestMiddleware(app, self._site)(self._scope, self._receive, None)
        return found[0]

    async def _receive(self):
        self.came.set()
        part = await self.parts.get()
        return {"type": "http.request", "body": part or b"", "more_body": part is not None}


@pytest.fixture
def site():
    settings = SimpleNamespace(hosts={"here"}, is_secure=False)
    return SimpleNamespace(intake=UploadBudget(MOST), settings=settings, counted=RequestMetrics())


def test_who_comes_when_there_is_no_room_is_told_to_come_again_and_then_there_is(site):
    async def play():
        first, second, third = Sending(site), Sending(site), Sending(site, declares=b"700000")
        going = asyncio.create_task(first.answer())
        await first.parts.put(PART)
        await first.came.wait()
        await first.parts.put(PART)
        await first.parts.put(b"")
        while not first.parts.empty():
            await asyncio.sleep(0)
        assert await third.answer() == (
            503,
            5.0,
        )  # by what it says of itself, before anything of it came
        await second.parts.put(PART)  # says nothing of itself, and is refused in the middle
        assert await second.answer() == (503, 5.0)
        await first.parts.put(None)
        assert len(await going) == 2 * len(PART)
        again = Sending(site)
        for part in (PART, PART, None):
            await again.parts.put(part)
        assert len(await again.answer()) == 2 * len(PART)

    asyncio.run(play())


def test_forms_come_through_however_much_else_comes(site):
    site.intake.take(MOST)

    async def play():
        sending = Sending(site)
        await sending.parts.put(b"x")
        await sending.parts.put(None)
        return await read_body(Request(sending._scope, sending._receive), MOST_LARGE_FORM_BYTES)

    assert asyncio.run(play()) == b"x"
