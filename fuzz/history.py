"""The history rewriter: the fast scan against a slow oracle, in blocks of any size.

Nesting that is too deep for recursion is left to the unit tests: it costs too much time
here.
"""

from __future__ import annotations

from ccmove.rewrite import history
from ccmove.rewrite.history import ByPath
from ccmove.rewrite.pathmap import PathMap
from fuzz.source import Source, blank, document, spelled, text
from tests.support.history_oracle import moved_history
from tests.support.oddlines import kind_names, odd_line, stringify

LONGEST_INPUT = 96
OLD = "/code/app"
SESSION = "1ebd2854-0a0b-4b48-ae8a-a54551583a56"
MOVES: tuple[PathMap, ...] = (
    PathMap(((OLD, "/src/new-app"),)),
    PathMap(((OLD, OLD + "/main"),)),
    PathMap(((OLD + "/main", OLD),)),
    PathMap((("/code", "/src"), (OLD, "/lib"))),
    PathMap((("/code", "/src"), ("/src", "/code"))),
    PathMap(((OLD, '/code/q"x\n'), ("/src/new-app", "/z"))),
    PathMap((("/code/caf\u00e9", "/code/\U0001f680"),)),
    PathMap((("/code/\U0001f680", "/p"), ("/code/a\\b", "/q"))),
    PathMap(((OLD, "/src/new-app"),), frozenset({OLD + "/web"})),
    PathMap((("C:\\code\\app", "D:\\new"),)),
    PathMap((("C:\\code\\app", "/src/new-app"), (OLD, "C:\\code"))),
)
PATHS = (
    OLD,
    OLD + "/main",
    OLD + "/main/x y",
    OLD + "/web/a",
    OLD + "-docker",
    OLD + "/",
    "/code",
    "/src/new-app",
    '/code/q"x\n',
    "/code/caf\u00e9/a",
    "/code/\U0001f680",
    "/code/a\\b/c",
    "C:\\code\\app\\web",
    "c:/code/app",
    "C:\\code\\application",
    "\ud83d",
)
NAMES = ("project", "project", "display", "Project", "pro\\ject", "sessionId")
TIMES = (1780000061003, 1780000061003, 0, -1, 10**20, 1.5)
BLOCKS = (4 << 20, 4 << 20, 5, 13, 40, 100)  # smaller ones take longer and say no more
ENDS = (b"\n", b"\n", b"\r\n", b"", b"\n\n")


def check(data: bytes) -> None:
    """A history, moves and block sizes; the first bytes choose."""
    source = Source(data)
    paths, block = source.pick(MOVES), source.pick(BLOCKS)
    source.byte()  # the kept inputs have one more
    start = source.byte()
    made = source.rest() if source.yes() else _lines(source)
    before, history.BLOCK = history.BLOCK, block
    try:
        _check(made, paths, start)
    finally:
        history.BLOCK = before


def _check(data: bytes, paths: PathMap, skipped: int) -> None:
    def read(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    expected = moved_history(data, paths.map)
    found = history.scan(read, len(data), ByPath(paths))
    after = b"".join(history.rewritten(read, found))
    assert after == expected
    assert found.size == len(data)
    assert found.new_size() == len(after)
    assert found.lines == len(list(found)) == sum(found.counts.values())
    changed = [
        a != b for a, b in zip(data.split(b"\n"), after.split(b"\n"), strict=True)
    ]
    assert sum(changed) <= found.lines
    _check_spans(data, found, after)
    _check_tail(data, paths, skipped)


def _check_spans(data: bytes, found: history.Scan, after: bytes) -> None:
    """Every byte outside of the spans is there again, in order."""
    position, pieces = 0, []
    for start, swap, _ in found:
        assert position <= start
        pieces += [data[position:start], swap.new]
        position = start + len(swap.old)
        assert data[start:position] == swap.old
    assert b"".join([*pieces, data[position:]]) == after


def _check_tail(data: bytes, paths: PathMap, skipped: int) -> None:
    """What was appended, looked at alone, becomes the tail of the whole."""

    def read(offset: int, length: int) -> bytes:
        return data[offset : offset + length]

    head = b"".join(line + b"\n" for line in data.split(b"\n")[:-1][: skipped % 8])
    tail = history.scan(read, len(data), ByPath(paths), len(head))
    after = b"".join(history.rewritten(read, tail, len(head)))
    assert after == moved_history(data[len(head) :], paths.map)
    assert tail.new_size() - len(head) == len(after)


# -- lines that look like a history's --------------------------------------------------------------


def _lines(source: Source) -> bytes:
    ways = (_usual, _object, _odd, _torn, _any_bytes)
    return b"".join(
        source.pick(ways)(source) + source.pick(ENDS) for _ in range(source.below(7))
    )


def _usual(source: Source) -> bytes:
    """As the client writes it, now and before it knew sessions."""
    record = {
        "display": text(source, PATHS),
        "pastedContents": {str(n): _paste(source, n) for n in range(source.below(3))},
        "timestamp": source.pick(TIMES),
        "project": text(source, PATHS),
    }
    return stringify(record | {"sessionId": SESSION} if source.yes() else record)


def _paste(source: Source, number: int) -> dict[str, object]:
    names = ("type", "content", "project")[: source.below(4)]
    return {"id": number} | {name: text(source, PATHS) for name in names}


def _object(source: Source) -> bytes:
    """Some members, `project` among them in any spelling, any number of times."""
    members = []
    for _ in range(source.below(5)):
        head = f"{blank(source)}{spelled(source, text(source, NAMES))}{blank(source)}:"
        if source.yes():
            value = document(source, NAMES, PATHS, depth=4)
        else:
            value = spelled(source, text(source, PATHS))
        members.append(f"{head}{blank(source)}{value}")
    line = f"{blank(source)}{{{','.join(members)}}}{blank(source)}"
    return line.replace("\n", " ").encode()


def _odd(source: Source) -> bytes:
    path = source.pick([path for path in PATHS if path.startswith(OLD)])
    return odd_line(source.below(len(kind_names())), path, SESSION).raw.rstrip(b"\n")


def _torn(source: Source) -> bytes:
    at, length = source.byte(), source.below(4)
    put = source.raw(3)
    line = _usual(source) if source.yes() else _object(source)
    return line[:at] + put + line[at + length :]


def _any_bytes(source: Source) -> bytes:
    return source.raw(60)
