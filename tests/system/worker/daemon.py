#!/usr/bin/env python3
"""A fake daemon for workers: it speaks doc/protocol.md over TCP, and does nothing else.

    daemon.py HOME [--wrong-code] [--late] [--make-room]

It writes HOME/daemon.json. It keeps received entries in HOME/record/<run>/<node>.jsonl, ordered by
their sequence numbers. The commands of a run are the files HOME/commands/<run>/<number>.json, which
may have any reply. A command with "when": "ended" is given only after the end of the run is in the
record, as the real daemon does. With "when": "complete", the record also has all entries of the
nodes. HOME/runs/<run> is a link to the folder of the run, whose RUN_DIR/secret it reads.
HOME/obeyed.<run> has the number of the last command that the run got. HOME/refused lists what it
refused. With --wrong-code it signs with another secret, as a false daemon would. With --late it
answers entries two seconds late, as a daemon on a busy machine would. With --make-room it removes the
file `filler` in the folder of a run that has ended and has no outcome yet."""
import hmac
import http.server
import json
import os
import pathlib
import sys
import threading
import time

home = pathlib.Path(sys.argv[1])
wrong_code = "--wrong-code" in sys.argv
late_s = 2 if "--late" in sys.argv else 0
lock = threading.Lock()
committed = {}
ended = {}


def code(secret, *lines, body=b""):
    message = b"".join(line.encode() + b"\n" for line in lines) + body
    return hmac.new(secret, message, "sha512").hexdigest()[:64]


def take(run, node, entries):
    """Takes entries in order, drops known ones, and stops at a gap. Returns the last number
    taken."""
    with lock:
        path = home / "record" / run / f"{node}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        if (run, node) not in committed:
            known = path.read_bytes() if path.exists() else b""
            path.write_bytes(known[:known.rfind(b"\n") + 1])  # a killed daemon may have cut the last line
            committed[run, node] = known.count(b"\n")
        with path.open("a") as file:
            for entry in entries:
                if entry["seq"] == committed[run, node] + 1:
                    file.write(json.dumps(entry) + "\n")
                    committed[run, node] += 1
                if entry["type"] == "ended":
                    ended[run] = entry["finals"]
                    folder = home / "runs" / run
                    if "--make-room" in sys.argv and not (folder / "outcome.json").exists():
                        (folder / "filler").unlink(missing_ok=True)
        return committed[run, node]


def is_time(when, run):
    """Whether a command may be given."""
    with lock:
        finals = ended.get(run, {})
        has_all = all(committed.get((run, node), 0) >= last for node, last in finals.items())
        return not when or run in ended and (when == "ended" or has_all)


def command(run, after):
    """Returns the next command after a number. Waits for it, but not as long as the real daemon."""
    end = time.monotonic() + 5
    (home / f"obeyed.{run}").write_text(str(after))
    while time.monotonic() < end:
        path = home / "commands" / run / f"{after + 1}.json"
        if path.exists():
            reply = json.loads(path.read_text())
            if is_time(reply.pop("when", None), run):
                return reply
        time.sleep(0.02)
    return {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, status, reply, mac=None):
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if self.secret:
            secret = bytes(32) if wrong_code else self.secret
            nonce = self.headers["Phased-Nonce"]
            self.send_header("Phased-MAC", code(secret, "reply", nonce, str(status), body=body))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def authentic(self, run, body):
        try:
            self.secret = bytes.fromhex((home / "runs" / run / "secret").read_text().strip())
        except OSError:
            return False
        wanted = code(self.secret, "request", self.command, self.path,
                      self.headers["Phased-Nonce"], body=body)
        return hmac.compare_digest(wanted, self.headers["Phased-MAC"] or "")

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        run = self.path.split("/")[3]
        if not self.authentic(run, body):
            self.secret = None
            with (home / "refused").open("a") as file:
                file.write(f"{self.command} {self.path}\n")
            self.answer(403, {"error": {"code": "forbidden", "message": "wrong code"}})
        elif self.command == "POST":
            message = json.loads(body)
            time.sleep(late_s)
            self.answer(200, {"committed": take(run, message["node"], message["entries"])})
        else:
            self.answer(200, command(run, int(self.path.split("after=")[1])))

    do_GET = do_POST = handle_any

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
port = server.server_address[1]
temporary = home / "daemon.json.tmp"
temporary.write_text(json.dumps({"host": "127.0.0.1", "port": port, "pid": os.getpid()}))
temporary.rename(home / "daemon.json")
server.serve_forever()
