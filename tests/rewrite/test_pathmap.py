"""Paths are mapped by whole components, once, and by the nearest move."""

import os
import string

import pytest

from ccmove.rewrite.pathmap import (
    NameMap,
    PathMap,
    client_spelling,
    is_root,
    tail_below,
)
from ccmove.rewrite.windows import is_windows

APP = PathMap((("/code/app", "/code/new"),))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/code/app", "/code/new"),
        ("/code/app/", "/code/new/"),
        ("/code/app/src/x.py", "/code/new/src/x.py"),
        ("/code/app//x", "/code/new//x"),
        ("/code/app/app", "/code/new/app"),
        ("/code/app/back\\slash", "/code/new/back\\slash"),
    ],
)
def test_a_path_in_the_move_is_mapped(path: str, expected: str) -> None:
    assert APP.map(path) == expected
    assert APP.covers(path)


@pytest.mark.parametrize(
    "path",
    [
        "/code/app-docker", "/code/app2", "/code/app.bak", "/code/app old/x", "/code/app\\x",
        "/code", "/code/ap", "/CODE/app", "code/app", "/srv/code/app", " /code/app",
        "--flag=/code/app", "", "/",
    ],
)  # fmt: skip
def test_a_path_that_only_looks_alike_is_not_mapped(path: str) -> None:
    assert APP.map(path) is None
    assert not APP.covers(path)


@pytest.mark.parametrize(
    "path", ["", "/", "//", "C:", "c:\\", "Z:/", "C:\\/", "\\", "\\\\"]
)
def test_these_paths_are_roots(path: str) -> None:
    assert is_root(path)


@pytest.mark.parametrize(
    "path", ["/a", "C:\\a", "C:/a", "CC:", "é:", "a", "\\\\server", "/:", ":"]
)
def test_these_paths_are_not_roots(path: str) -> None:
    assert not is_root(path)


DOWN = PathMap(
    (("/code/app", "/code/app/main"),)
)  # must not go into itself again and again
HOME = PathMap(((r"C:\Users\me\app", r"C:\Users\me\new"),))
NESTED = (("/code", "/src"), ("/code/app/web", "/web"), ("/code/app", "/lib"))
LONGEST = {"/code/x": "/src/x", "/code/app/x": "/lib/x", "/code/app/web/x": "/web/x"}
EACH: dict[str, tuple[PathMap | NameMap, dict[str, str | None]]] = {
    "the longest old wins": (PathMap(NESTED), {**LONGEST}),
    "in any order": (PathMap(NESTED[::-1]), {**LONGEST}),
    "a swap maps each path once": (
        PathMap((("/a", "/b"), ("/b", "/a"))), {"/a/x": "/b/x", "/b/x": "/a/x"},
    ),
    "so does a chain": (
        PathMap((("/a", "/b"), ("/b", "/c"))), {"/a": "/b", "/b": "/c", "/c": None},
    ),
    "a kept project and what is below it stay": (
        PathMap((("/code/app", "/new"),), frozenset({"/code/app/web"})),
        {"/code/app/web": None, "/code/app/web/src": None, "/code/app": "/new",
         "/code/app/web-docker": "/new/web-docker"},
    ),
    "but not what a nearer move takes": (
        PathMap((("/code", "/new"), ("/code/app/web", "/web")), frozenset({"/code/app"})),
        {"/code/app/x": None, "/code/app/web/x": "/web/x"},
    ),
    "what is at or below new is in place already": (
        DOWN,
        {"/code/app": "/code/app/main", "/code/app/src": "/code/app/main/src",
         "/code/app/main": None, "/code/app/main/src": None,
         "/code/app/main-docker": "/code/app/main/main-docker"},
    ),
    "every spelling of one folder of Windows, with its separators": (
        HOME,
        {r"C:\Users\me\app": r"C:\Users\me\new", r"C:\Users\me\app\src": r"C:\Users\me\new\src",
         r"c:\Users\me\app\src": r"C:\Users\me\new\src", "c:/Users/me/app": "C:/Users/me/new",
         r"C:\USERS\Me\APP\src": r"C:\Users\me\new\src",
         "C:/Users/me/app/src": "C:/Users/me/new/src",
         r"C:\Users\me/app\x/y": r"C:\Users\me\new\x/y"},
    ),
    "what only looks alike is not mapped": (
        HOME,
        dict.fromkeys(
            [r"C:\Users\me\app-docker", r"D:\Users\me\app", "/Users/me/app", r"C;\Users\me\app"]
        ),
    ),
    "another drive is written as given": (
        PathMap(((r"c:\app", r"D:\lib\app"),)), {"C:/app/x": "D:/lib/app/x"},
    ),
    "new takes the separators of what it replaces": (
        PathMap(((r"C:\app", "C:/lib/app"),)),
        {r"C:\app\x": r"C:\lib\app\x", "C:/app/x": "C:/lib/app/x", r"C:/app\x": r"C:/lib/app\x"},
    ),
    "a network share is found with either separator": (
        PathMap(((r"\\server\share\app", r"\\server\share\new"),)),
        {r"\\server\share\app\x": r"\\server\share\new\x",
         "//server/share/app/x": "//server/share/new/x"},
    ),
    "from Windows the tail takes the separators of new": (
        PathMap(((r"C:\app", "/mnt/app"),)), {r"C:\app\a\b": "/mnt/app/a/b"},
    ),
    "to Windows as well": (PathMap((("/mnt/app", r"C:\app"),)), {"/mnt/app/a/b": r"C:\app\a\b"}),
    **{  # their capitals are I and S
        f"a letter that only looks like a drive is none: {letter}": (
            PathMap(((f"{letter.upper()}:\\code", "D:\\src"),)),
            {f"{letter.upper()}:\\code\\a": "D:\\src\\a", f"{letter}:\\code\\a": None},
        )
        for letter in ("\u0131", "\u017f")
    },
    "a session can leave its directory alone": (
        NameMap((), sessions={("-a", "s1"): "-b"}),
        {"/c/projects/-a/s1.jsonl": "/c/projects/-b/s1.jsonl",
         "/c/projects/-a/s1/subagents/x": "/c/projects/-b/s1/subagents/x",
         r"C:\c\projects\-a\s1\subagents": r"C:\c\projects\-b\s1\subagents",
         "/c/projects/-a/s2.jsonl": None, "/c/projects/-a": None},
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", EACH)
def test_each_path_is_mapped_once_and_by_the_nearest_move(what: str) -> None:
    paths, expected = EACH[what]
    assert {path: paths.map(path) for path in expected} == expected


def test_a_windows_path_is_told_by_its_drive_or_its_backslashes() -> None:
    assert [
        p for p in ("C:/x", "c:\\x", "\\\\server\\share") if not is_windows(p)
    ] == []
    assert [p for p in ("/C:/x", "C:", "Cx:/x", "\\x") if is_windows(p)] == []


def test_needles_are_in_every_path_that_is_mapped() -> None:
    assert APP.needles() == ("/code/app",)
    assert HOME.needles() == ("app",)
    assert PathMap((("C:/Users/me/app", "C:/x"),)).needles() == ("app",)
    assert PathMap(
        (("/a", "/b"), ("/a", "/b"), (r"\\s\share", r"\\s\x"))
    ).needles() == (
        "/a",
        "share",
    )


def test_tail_below_is_empty_for_the_path_itself() -> None:
    assert tail_below("/a/b", "/a/b") == ""
    assert tail_below("/a/b/c", "/a/b") == "/c"
    assert tail_below("/a/bc", "/a/b") is None
    assert tail_below("/a", "/a/b") is None


@pytest.mark.parametrize(("parent", "separators"), [("/a", "/"), (r"C:\a", "\\/")])
def test_only_a_separator_begins_what_is_below(parent: str, separators: str) -> None:
    found = {c for c in string.printable if tail_below(parent + c, parent) is not None}
    assert found == set(separators)


def test_the_client_spells_a_name_that_is_not_utf8_with_replacement_characters() -> (
    None
):
    assert client_spelling(os.fsdecode(b"/code/caf\xe9/x")) == "/code/caf\ufffd/x"
    assert client_spelling("/code/caf\u00e9") == "/code/caf\u00e9"


class TestNamedIn:
    """A string that holds the path as a whole path, and is not one itself."""

    @pytest.mark.parametrize(
        "text",
        [
            "/code/app", "see /code/app.", "see /code/app, please", "--flag=/code/app/x",
            "-I/code/app/include", "-o/code/app", r"a line\n/code/app", r"a line\r/code/app",
            r"a tab\t/code/app", "PATH=/bin:/code/app/bin", "Read(//code/app/**)",
            "file:///code/app/x", '"/code/app"', "/code/app-docker and /code/app",
        ],
    )  # fmt: skip
    def test_a_whole_path_is_seen(self, text: str) -> None:
        assert APP.named_in(text)

    @pytest.mark.parametrize(
        "text",
        [
            "/code/app-docker", "/code/app_2", "/code/app.bak", "/code/apples", "/code/appé",
            "/code/app~", "/code/app+x", "/code/app@2", "/code/app.-x", "/srv/code/app",
            "/srv/x-/code/app", "~/code/app", "../code/app", "code/app", "",
        ],
    )  # fmt: skip
    def test_a_part_of_another_path_is_not(self, text: str) -> None:
        assert not APP.named_in(text)

    def test_windows_paths_are_seen_however_they_are_spelled(self) -> None:
        paths = HOME
        assert paths.named_in(r"--root=c:\Users\me\app\x")
        assert paths.named_in("--root=C:/Users/me/app")
        assert paths.named_in(r'{"a": "x C:\\Users\\me\\app\\y"}')
        assert not paths.named_in(r"--root=C:\Users\me\app2")
        assert not paths.named_in(r"--root=D:\Users\me\app")
        assert PathMap(((r"C:\a\\b", r"C:\x"),)).named_in(r"--root=C:\a\b")

    def test_a_path_that_moves_up_is_named_although_new_begins_like_it(self) -> None:
        up = DOWN.reversed()
        assert up.named_in("--dir=/code/app/main/x")

    def test_what_is_in_place_or_kept_is_not_named(self) -> None:
        assert not DOWN.named_in("--dir=/code/app/main/x")
        assert DOWN.named_in("--dir=/code/app/main/x --from=/code/app/x")
        kept = PathMap((("/code/app", "/new"),), frozenset({"/code/app/web"}))
        assert not kept.named_in("--dir=/code/app/web")
        assert kept.named_in("--dir=/code/app/website")
        assert kept.named_in("--dir=/code/app/WEB")


class TestNameMap:
    NAMES = NameMap((("-my-app", "-new-app"),), PathMap((("/my-app", "/new-app"),)))

    @pytest.mark.parametrize(
        "path",
        [
            "/home/.claude/projects/-my-app/x.jsonl", "/home/.claude/projects/-my-app",
            r"C:\me\.claude\projects\-my-app\x.jsonl", "/srv/projects/projects/-my-app/x",
            "/my-app/.claude/projects/other/x", "/my-app/.claude/projects/-my-app/x",
        ],
    )  # fmt: skip
    def test_the_name_of_the_directory_is_replaced(self, path: str) -> None:
        assert self.NAMES.map(path) == path.replace("my-app", "new-app")

    @pytest.mark.parametrize(
        "path",
        [
            "/home/.claude/projects/-my-app-docker/x", "/home/.claude/other/-my-app/x",
            "/home/myprojects/-my-app/x", "-my-app", "/projects/",
        ],
    )  # fmt: skip
    def test_another_name_stays(self, path: str) -> None:
        assert self.NAMES.map(path) is None


class TestAsPeopleWriteIt:
    HOME = "/home/dev"

    def test_each_spelling_stays_what_it_is_inside_of_the_home(self) -> None:
        paths = PathMap((("/home/dev/a", "/home/dev/b"),)).as_people_write(self.HOME)
        for home in ("/home/dev", "~", "$HOME", "${HOME}"):
            assert paths.map(f"{home}/a/x") == f"{home}/b/x"
            assert paths.map(f"{home}/a-2") is None
            assert paths.named_in(f"see {home}/a, and so on")
            assert not paths.named_in(f"see {home}/a-2")

    def test_outside_of_the_home_it_is_absolute(self) -> None:
        paths = PathMap((("/home/dev/a", "/srv/b"),)).as_people_write(self.HOME)
        assert paths.map("~/a/x") == "/srv/b/x"

    def test_a_new_path_that_is_the_home(self) -> None:
        paths = PathMap((("/home/dev/a", "/home/dev"),)).as_people_write(self.HOME)
        assert paths.map("$HOME/a/x") == "$HOME/x"

    @pytest.mark.parametrize("old", ["/home/dev", "/Users/dev", "/home/dev2/a"])
    def test_an_old_path_that_is_not_in_the_home_is_written_in_one_way(
        self, old: str
    ) -> None:
        paths = PathMap(((old, "/srv/b"),))
        assert paths.as_people_write(self.HOME) == paths

    @pytest.mark.parametrize(
        ("path", "becomes"),
        [
            ("~/a/x", "~/b/x"),
            (r"~\a\x", r"~\b\x"),
            ("$HOME/a", "$HOME/b"),
            ("/c/Users/dev/a/x", "/c/Users/dev/b/x"),
            ("C:/Users/dev/a/x", "C:/Users/dev/b/x"),
            ("~/a-2", None),
            ("/c/Users/dev/a-2", None),
        ],
    )
    def test_on_windows_with_slashes_and_as_in_bash(
        self, path: str, becomes: str | None
    ) -> None:
        moves = PathMap(((r"C:\Users\dev\a", r"C:\Users\dev\b"),))
        paths = moves.as_people_write(r"C:\Users\dev")
        assert paths.map(path) == becomes
        assert bool(paths.named_in(f"see {path}.")) == (becomes is not None)

    def test_what_stays_stays_in_each_spelling(self) -> None:
        moves = PathMap(
            (("/home/dev/a", "/home/dev/b"),), frozenset({"/home/dev/a/kept"})
        )
        assert moves.as_people_write(self.HOME).map("~/a/kept/x") is None
