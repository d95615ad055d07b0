"""What Claude Code runs when a session starts: one line that says where the sessions of
this folder are, when it was renamed. Or nothing, which is what mostly is to be said.

Nothing is changed, and whatever goes wrong nothing is said: an error at every start
would be worse than a message that is missing. Of a folder that has sessions only its
directory is listed, so this module loads nothing but `json`.
"""

import json
import os
import sys

LARGEST_EVENT = 1 << 20  # bytes; an event has some hundred
ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"
FOR_PEOPLE = """\
Claude Code runs this at the start of a session. To set it up:
  ccmove hook --install
"""

Event = dict[str, object]


def run_by_client(args: list[str] | None = None) -> None:
    """`ccmove hook`, with `--config-dir DIR` or without."""
    words = sys.argv[1:] if args is None else args
    answer(words[2] if len(words) > 1 else None)


def answer(config_dir: str | None) -> None:
    """Answer the event on standard input."""
    try:
        if sys.stdin is None or sys.stdout is None:
            return
        if os.isatty(0):
            os.write(2, FOR_PEOPLE.encode())
            return
        message = message_for(_read_event(), config_dir)
        if message is not None:
            line = json.dumps({"systemMessage": message})
            os.write(1, f"{line}\n".encode())
    except BaseException:  # also Ctrl-C: whoever started us has other things to do
        return


def _read_event() -> Event:
    """The event; one without anything in it where there is none."""
    data = bytearray()
    while len(data) <= LARGEST_EVENT:
        block = os.read(0, LARGEST_EVENT)
        data += block
        if not block:
            break
    event = json.loads(data)
    return event if isinstance(event, dict) else {}


def message_for(event: Event, config_dir: str | None) -> str | None:
    """What to say at the start of a session; None in any doubt."""
    if event.get("source") != "startup":
        return None
    if os.environ.get(ATTENDED) == "0":
        return None
    folder = event.get("cwd")
    session = event.get("session_id")
    if not isinstance(folder, str) or not isinstance(session, str):
        return None
    if not os.path.isabs(folder) or config_dir == "":  # a variable that is not set
        return None
    transcript = event.get("transcript_path")
    if isinstance(transcript, str):
        directory = os.path.dirname(transcript)
        if has_another_session(directory, session):
            return None
    from ccmove.inside.renamed import message_in

    return message_in(folder, session, config_dir)


def has_another_session(directory: str, session: str) -> bool:
    """Whether a project directory has a transcript besides that of this session."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:  # so it is at the first start in a folder
        return False
    for name in names:
        is_of_agent = name.startswith("agent-")
        if name.endswith(".jsonl") and not is_of_agent and name != f"{session}.jsonl":
            return True
    return False
