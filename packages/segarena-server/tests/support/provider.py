"""A small OpenID Connect provider for the tests, with real keys and configurable faults."""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey

CLIENT, SECRET = "arena", "a secret of theirs"


class Provider:
    """Listens on this machine until it is stopped.

    Attributes:
        claims: replacements for the correct claims of tokens; None omits a claim.
        sign: function that encodes claims as a token; by default with the published key.
        asked: paths of all received requests.
    """

    def __init__(self):
        self.key, self.other_key = new_key("k1"), new_key("k1")
        self.keys, self.claims, self.asked, self.codes = [self.key], {}, [], {}
        self.sign = self.by_key
        self.described = {}
        handler = type("Bound", (Handler,), {"provider": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}/realm"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def reset(self):
        self.keys, self.claims, self.sign, self.described = [self.key], {}, self.by_key, {}

    def let_in(self, address, subject, name=""):
        """Sign in at the provider like a person; return the code and state that the browser gets."""
        told = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        code = hashlib.sha256(f"{time.monotonic()}{subject}".encode()).hexdigest()
        self.codes[code] = told | {"sub": subject, "name": name}
        return {"code": code, "state": told["state"]}

    def by_key(self, claims, key=None, header=None):
        own = key or self.key
        return jwt.encode({"alg": "ES256", "kid": own.kid} | (header or {}), claims, own)

    def by_nobody(self, claims):
        return f"{in_base64({'alg': 'none', 'kid': 'k1'})}.{in_base64(claims)}."

    def by_public_key(self, claims):
        """Sign with the public key as if it were a shared secret."""
        head = f"{in_base64({'alg': 'HS256', 'kid': 'k1'})}.{in_base64(claims)}"
        secret = json.dumps(self.key.as_dict(private=False)).encode()
        made = hmac.new(secret, head.encode(), "sha256").digest()
        return f"{head}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"

    def token(self, told):
        now = int(time.time())
        right = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": told["sub"],
            "iat": now,
            "exp": now + 300,
        }
        claims = right | {"nonce": told["nonce"], "name": told["name"]} | self.claims
        return self.sign({name: value for name, value in claims.items() if value is not None})


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        provider, root = self.provider, self.provider.issuer
        provider.asked.append(self.path)
        pages = {
            "/realm/.well-known/openid-configuration": {
                "issuer": root, "authorization_endpoint": f"{root}/go", "token_endpoint": f"{root}/token",
                "jwks_uri": f"{root}/keys", **provider.described,
            },
            "/realm/keys": {"keys": [key.as_dict(private=False) for key in provider.keys]},
        }  # fmt: skip
        self.answer(pages.get(self.path))

    def do_POST(self):
        """Return a token for a code, once, to a client with the secret and the verifier."""
        self.provider.asked.append(self.path)
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        known = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        told = self.provider.codes.pop(form.get("code"), None)
        made = base64.urlsafe_b64encode(
            hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        )
        is_known = self.headers["authorization"] == f"Basic {known}"
        is_bound = told and made.rstrip(b"=").decode() == told["code_challenge"]
        if is_known and is_bound and form["redirect_uri"] == told["redirect_uri"]:
            return self.answer(
                {"id_token": self.provider.token(told), "access_token": "x", "token_type": "Bearer"}
            )
        return self.answer(None)

    def answer(self, told):
        body = json.dumps(told).encode()
        self.send_response(200 if told else 400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def new_key(name):
    return ECKey.generate_key("P-256", {"kid": name, "use": "sig", "alg": "ES256"})


def in_base64(told):
    return base64.urlsafe_b64encode(json.dumps(told).encode()).rstrip(b"=").decode()
