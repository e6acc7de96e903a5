"""A small mail server for the tests: it accepts or rejects e-mails, hangs, requires a password, speaks TLS."""

import base64
import socketserver
import subprocess
import threading
from email import message_from_bytes, policy


class MailServer:
    """Listens on this machine until it is stopped.

    Attributes:
        letters: received e-mails, the newest last.
        way: whether to accept, reject or never answer: "take" | "refuse" | "hang".
    """

    def __init__(self, *, password="", context=None):
        self.letters, self.way, self.password, self.context = [], "take", password, context
        self.is_over = threading.Event()
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.mail = self
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def stop(self):
        self.is_over.set()
        self._server.shutdown()
        self._server.server_close()


class Handler(socketserver.StreamRequestHandler):
    """One SMTP session."""

    def handle(self):
        self.mail = self.server.mail
        self.is_safe = self.is_known = False
        if self.mail.way == "hang":
            self.mail.is_over.wait(30)
            return
        self.say("220 here")
        while line := self.rfile.readline():
            words = line.decode().strip()
            verb = words.split()[0].lower() if words else ""
            getattr(self, f"do_{verb}", self.do_other)(words)
            if verb == "quit":
                break

    def finish(self):
        super().finish()
        self.request.close()

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")

    def do_quit(self, words):
        self.say("221 bye")

    def do_other(self, words):
        self.say("500 what?")

    def do_ehlo(self, words):
        can = [
            "here",
            *(["STARTTLS"] if self.mail.context and not self.is_safe else []),
            "AUTH PLAIN",
        ]
        for word in can[:-1]:
            self.say(f"250-{word}")
        self.say(f"250 {can[-1]}")

    def do_starttls(self, words):
        self.say("220 go on")
        self.request = self.mail.context.wrap_socket(self.request, server_side=True)
        self.rfile, self.wfile = (
            self.request.makefile("rb"),
            self.request.makefile("wb", buffering=0),
        )
        self.is_safe = True

    def do_auth(self, words):
        told = base64.b64decode(words.split()[2]).decode().split("\0")
        self.is_known = told[2] == self.mail.password
        self.say("235 welcome" if self.is_known else "535 no")

    def do_mail(self, words):
        is_let = self.is_known or not self.mail.password
        self.say("250 ok" if self.mail.way == "take" and is_let else "550 not here")

    def do_rset(self, words):
        self.say("250 ok")

    def do_rcpt(self, words):
        self.recipients = [*getattr(self, "recipients", []), words.partition(":")[2].strip(" <>")]
        self.say("250 ok")

    def do_data(self, words):
        self.say("354 go on")
        body = b""
        while (line := self.rfile.readline()) != b".\r\n":
            body += line.removeprefix(b".") if line.startswith(b"..") else line
        letter = message_from_bytes(body, policy=policy.default)
        letter.recipients, letter.was_safe = self.recipients, self.is_safe
        self.mail.letters.append(letter)
        self.say("250 taken")


def certificate(folder):
    """Return the files of a certificate for this machine and its key, made by openssl."""
    made, key = folder / "certificate.pem", folder / "key.pem"
    words = [
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "1",
    ]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    told = ["openssl", "req", *words, "-keyout", str(key), "-out", str(made), *names]
    subprocess.run(told, check=True, capture_output=True)
    return made, key
