"""A fake server of one challenge on loopback, in this process, with faults on demand, to test clients.

It stores only what tests set here; test_with_server.py tests clients with the real server.
"""

import json
import threading
import uuid
from contextlib import contextmanager
from dataclasses import asdict
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from segarena.engine.lockstep_dialogues import load_sample, open_sessions
from segarena.engine.rows import Rows
from segarena.protocol.message_frames import CONTENT_TYPE
from segarena.protocol.replies import DialogueReply, pack_reply
from segarena.protocol.sample_serialization import pack_sample
from segarena.protocol.turns import unpack_turn
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.run_plan import challenge_info, participant_plan

TOKEN = "a-token"


class Arena:
    """One phase of one challenge.

    Attributes:
        requests: "METHOD path" of all received requests.
        faults: responses to the next requests, one each: a status, (status, JSON, headers), "cut" to close the
            connection before the response, "deaf" to close it after the turn is accepted.
        headers: headers of every response.
    """

    def __init__(self, benchmark="clicks(rounds=3)", dataset="demo", samples=1, **phase):
        self.challenge = ChallengeDescription(
            slug="spring",
            title="Spring",
            benchmark=benchmark,
            dataset=dataset,
            phases=(Phase(**{"name": "test", "shows": "prompts", **phase}),),
        )
        self.phase = self.challenge.phases[0]
        self.cast = participant_plan(self.challenge, self.phase).cast()
        names = list(self.cast.dataset.sample_ids)[:samples]
        self.samples = {
            f"k{place}": load_sample(self.cast.dataset, name) for place, name in enumerate(names)
        }
        self.bodies = {key: pack_sample(sample) for key, sample in self.samples.items()}
        self.runs, self.requests, self.faults = {}, [], []
        self.headers = {"Segarena-Api": "1"}
        self.lock = threading.Lock()

    def records(self, run):
        rows = Rows()
        for held in self.runs[run].values():
            for session in held["sessions"]:
                rows.extend(session.rows())
        return rows.records

    def begin(self, run):
        if run not in self.runs:
            self.runs[run] = {
                key: {
                    "sessions": open_sessions(self.cast, sample),
                    "turns": [],
                    "waiting": set(),
                    "over": set(),
                }
                for key, sample in self.samples.items()
            }
        places = [
            {
                "key": key,
                "bytes": len(self.bodies[key]),
                "sha256": sha256(self.bodies[key]).hexdigest(),
                "dialogues": [self.told(session) for session in held["sessions"]],
            }
            for key, held in self.runs[run].items()
        ]
        return {"id": run, "places": places, "shows": self.phase.shows}

    def told(self, session):
        lift = session.dialogue.lift
        number = 1 + [target.id for target in session.sample.targets].index(session.target.id)
        return {
            "target": str(number),
            "user": session.user_name,
            "repeat": session.repeat,
            "objects": session.target.objects,
            "lift": None if lift is None else asdict(lift),
        }

    def turn(self, run, key, number, body):
        held = self.runs[run][key]
        if number < len(held["turns"]):
            before, reply = held["turns"][number]
            return (
                (200, reply)
                if before == body
                else (409, {"error": "conflict", "message": "another answer"})
            )
        sessions = held["sessions"]
        objects = {n: sessions[n].target.objects for n in held["waiting"]}
        header, answers = unpack_turn(body, shape=self.samples[key].shape, objects=objects)
        if header.failed:
            for session in sessions:
                session.fail(header.failed)
        replies = [self.ask(held, dialogue, None) for dialogue in header.open]
        for dialogue, answer in answers.items():
            session, values = sessions[dialogue], None
            held["waiting"].discard(dialogue)
            if isinstance(answer, str):
                session.fail(answer)
            else:
                values = dict(session.submit(answer, 0.0))
            replies.append(self.ask(held, dialogue, values))
        reply = pack_reply(replies)
        held["turns"].append((body, reply))
        return 200, reply

    def ask(self, held, number, values):
        session = held["sessions"][number]
        dialogue = None if session.is_over else session.next()
        shown_values = values if self.phase.shows != "prompts" else None
        if dialogue is None:
            held["over"].add(number)
            return DialogueReply(dialogue=number, over=True, values=shown_values)
        held["waiting"].add(number)
        return DialogueReply(dialogue=number, rounds=[dialogue.rounds[-1]], values=shown_values)

    def is_over(self, run):
        return all(len(held["over"]) == len(held["sessions"]) for held in self.runs[run].values())

    def answer(self, method, path, body):
        """Return status and content of a response."""
        match method, path.strip("/").split("/")[2:]:
            case "GET", ["ping"]:
                return 200, {}
            case "GET", ["challenges", "spring"]:
                return 200, json.loads(msgspec.json.encode(challenge_info(self.challenge)))
            case "POST", ["challenges", "spring", "phases", "test", "runs"]:
                return 201, self.begin(str(uuid.UUID(json.loads(body)["id"])))
            case "GET", ["runs", run, "samples", key]:
                assert run in self.runs
                return 200, self.bodies[key]
            case "POST", ["runs", run, "samples", key, "turns", number]:
                return self.turn(run, key, int(number), body)
            case "GET", ["runs", run, "samples", key, "turns", number]:
                return 200, self.runs[run][key]["turns"][int(number)][1]
            case "GET", ["runs", run, "scores"]:
                return 200, {"state": "over" if self.is_over(run) else "open"}
        return 404, {"error": "unknown", "message": f"there is no {path}"}


@contextmanager
def serving(arena, port=0):
    """Serve on loopback; yield the server's address."""

    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = (
            True  # head and body are sent apart, and would wait 40 ms for each other
        )

        protocol_version = "HTTP/1.1"

        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with arena.lock:
                arena.requests.append(f"{self.command} {self.path}")
                fault = arena.faults.pop(0) if arena.faults else None
                if fault == "cut":
                    self.close_connection = True
                    return
                if isinstance(fault, int):
                    self.tell(fault, {"error": "fault", "message": "on demand"}, {})
                    return
                if isinstance(fault, tuple):
                    self.tell(*fault)
                    return
                if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    self.tell(401, {"error": "token", "message": "who are you?"}, {})
                    return
                status, content = arena.answer(self.command, self.path, body)
                if fault == "deaf":
                    self.close_connection = True
                    return
                self.tell(status, content, {})

        def tell(self, status, content, headers):
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**arena.headers, **headers}.items():
                self.send_header(name, value)
            self.send_header(
                "Content-Type", CONTENT_TYPE if isinstance(content, bytes) else "application/json"
            )
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = handle_any

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
