"""A storage with the part of S3 that tests need; it rejects unknown keys and does not check signatures."""

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

BUCKET = "files"
KEY = "good"


class S3:
    """A server with one bucket. `trouble` makes it "busy" (503) or "silent" (no answer)."""

    def __init__(self):
        self.files, self.trouble = {}, ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads, self._server.storage = True, self
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = (
        True  # head and body are sent apart, and would wait 40 ms for each other
    )

    def log_message(self, *_):
        pass

    def do_PUT(self):
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        if name := self.name():
            part = parse_qs(urlsplit(self.path).query).get("partNumber")
            name += f"?{int(part[0]):05d}" if part else ""
            self.server.storage.files[name] = content
            self.say(200, b"", name)

    def do_POST(self):
        """Begin or complete a multipart upload."""
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if name := self.name():
            if self.path.endswith(("?uploads", "?uploads=")):
                told = f"<Bucket>{BUCKET}</Bucket><Key>{name}</Key><UploadId>1</UploadId>"
                self.say(
                    200,
                    f"<InitiateMultipartUploadResult>{told}</InitiateMultipartUploadResult>".encode(),
                )
            else:
                files = self.server.storage.files
                parts = sorted(each for each in files if each.startswith(f"{name}?"))
                files[name] = b"".join(files.pop(part) for part in parts)
                tag = f'<ETag>"{hashlib.md5(files[name]).hexdigest()}"</ETag>'
                self.say(
                    200,
                    f"<CompleteMultipartUploadResult>{tag}</CompleteMultipartUploadResult>".encode(),
                    name,
                )

    def do_GET(self):
        if name := self.name():
            if name in self.server.storage.files:
                self.say(200, self.server.storage.files[name], name)
            else:
                self.fail(404, "NoSuchKey")

    do_HEAD = do_GET

    def name(self):
        """Return the key of the request; None if it was rejected."""
        bucket, _, name = self.path.partition("?")[0].lstrip("/").partition("/")
        if self.server.storage.trouble == "silent":
            time.sleep(3)
            self.close_connection = True
            return None
        if self.server.storage.trouble == "busy":
            return self.fail(503, "SlowDown")
        if f"Credential={KEY}/" not in self.headers.get("authorization", ""):
            return self.fail(403, "InvalidAccessKeyId")
        return name if bucket == BUCKET else self.fail(404, "NoSuchBucket")

    def fail(self, status, code):
        self.say(status, f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>".encode())

    def say(self, status, body, name=""):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.send_header("last-modified", "Sun, 22 Nov 2026 12:00:00 GMT")
        if name:
            self.send_header(
                "etag", f'"{hashlib.md5(self.server.storage.files[name]).hexdigest()}"'
            )
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
