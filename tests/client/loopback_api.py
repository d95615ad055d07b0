"""A stand-in for the Messages API on 127.0.0.1: answers every prompt, logs what it was
sent.

Run as a script: `loopback_api.py LOG READY`. It brings up the loopback interface (a
fresh network namespace has it down), binds a free port, writes the port to READY and
appends one JSON line per request with messages to LOG. A file, because the server lives
in the clients' network namespace and the tests do not. It ends with its standard input,
so it never outlives the tests.
"""

import fcntl
import json
import os
import re
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REPLY = "REPLY-FROM-LOOPBACK"
CALL = re.compile("CALL-TOOL-([A-Za-z]+)")  # in a prompt: the answer calls that tool
USAGE = {"input_tokens": 10, "output_tokens": 5}

# From <linux/sockios.h> and <linux/if.h>; Python has no names for them.
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1


def bring_up_loopback() -> None:
    """Raise `lo` where it is down, as in a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(probe, SIOCGIFFLAGS, request))[1]
        if not flags & IFF_UP:
            fcntl.ioctl(
                probe, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP)
            )


def message(model: str, *, finished: bool) -> dict[str, Any]:
    return {
        "id": "msg_loopback",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": REPLY}] if finished else [],
        "stop_reason": "end_turn" if finished else None,
        "stop_sequence": None,
        "usage": USAGE,
    }


def wanted_tool(body: dict[str, Any]) -> str | None:
    """The tool that the last prompt asks for, unless its result came already."""
    turns = body.get("messages", [])
    answered = [i for i, turn in enumerate(turns) if turn["role"] == "assistant"]
    last = json.dumps(turns[max(answered, default=-1) + 1 :])
    asked = CALL.search(last)
    return asked[1] if asked and '"tool_result"' not in last else None


def stream(model: str, tool: str | None = None) -> Iterator[dict[str, Any]]:
    """The events of one streamed answer, in the order that the API sends them."""
    yield {"type": "message_start", "message": message(model, finished=False)}
    block: dict[str, Any] = {"type": "text", "text": ""}
    words = {"type": "text_delta", "text": REPLY}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    if tool is not None:
        block = {"type": "tool_use", "id": "toolu_loopback", "name": tool, "input": {}}
        words = {"type": "input_json_delta", "partial_json": "{}"}
        end["stop_reason"] = "tool_use"
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": words}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": end, "usage": USAGE}
    yield {"type": "message_stop"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log_path: Path

    def do_POST(self) -> None:
        body = self.read_json()
        self.log(body)
        if not self.path.startswith("/v1/messages"):
            self.answer("application/json", b"{}")
        elif "count_tokens" in self.path:
            self.answer("application/json", b'{"input_tokens": 10}')
        elif body.get("stream"):
            events = stream(body.get("model", ""), wanted_tool(body))
            text = "".join(
                f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events
            )
            self.answer("text/event-stream", text.encode())
        else:
            whole = message(body.get("model", ""), finished=True)
            self.answer("application/json", json.dumps(whole).encode())

    def do_GET(self) -> None:
        self.answer("application/json", b"{}")

    def do_HEAD(self) -> None:
        self.do_GET()

    def read_json(self) -> dict[str, Any]:
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        try:
            body = json.loads(raw)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def log(self, body: dict[str, Any]) -> None:
        """Append the conversation, by one write, so that requests served at once do not
        mix.
        """
        if body.get("messages"):
            sent = {"system": body.get("system"), "messages": body["messages"]}
            with self.log_path.open("ab", buffering=0) as log:
                log.write(json.dumps(sent).encode() + b"\n")

    def answer(self, content_type: str, payload: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing: the log file has it all."""


def main() -> None:
    log, ready = map(Path, sys.argv[1:])
    Handler.log_path = log
    bring_up_loopback()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        # Renamed into place, so that whoever waits for the file never reads half a
        # number.
        half_done = ready.with_suffix(".half")
        half_done.write_text(str(server.server_port))
        os.replace(half_done, ready)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    main()
