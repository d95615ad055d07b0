"""Each whole occurrence of a path inside a value moves, or the value stays.

The oracle below is written from the sentences of the contract, not from the code.
"""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ccmove.rewrite.occurrences import Occurrences
from ccmove.rewrite.pathmap import PathMap

OLD, NEW = "/home/dev/app", "/home/dev/new"
W_OLD, W_NEW = r"C:\Users\dev\app", r"C:\Users\dev\new"


def occurrences(
    *moves: tuple[str, str],
    home: str = "/home/dev",
    kept: tuple[str, ...] = (),
    there: tuple[str, ...] = (),
) -> Occurrences:
    paths = PathMap(moves or ((OLD, NEW),), frozenset(kept))
    return Occurrences.of(paths, home, there.__contains__)


FOLLOW = """
OLD
OLD/x
Read(/OLD/**)
Read(//OLD/**)
Edit(/OLD/src/**)
Bash(OLD/run.sh:*)
--root=OLD
-IOLD/include
-Wl,-LOLD/lib
OLD/src:OLD/lib
OLD/src;OLD/lib
PYTHONPATH=OLD/src:OLD/lib
PYTHONPATH=/usr/lib:OLD/lib
PATH=$PATH:OLD/bin:${GOBIN}:OLD/go
X=:OLD
file://OLD/x
file:OLD/x
sqlite://OLD/db
sqlite:///OLD/db
OLD:/srv
a,OLD,b
{"root":"OLD"}
['OLD', OLD]
cd OLD && make -C OLD/sub
OLD*
cat "OLD"
see OLD
<OLD>
""".strip().splitlines()

STAY = """
OLD-docker
OLD.bak
OLD_2
OLD2
OLDé
OLDя
OLD字
OLDक
OLDः
OLD🚀
OLD%20x
OLD~
OLD+x
OLD@2
xOLD
/srvOLD
/srv/xOLD
../OLD
~OLD
${ROOT}OLD
https://hostOLD/x
https://host:8080OLD
ssh://me@hostOLD
me@host:OLD
C:OLD
Bash(scp me@host:OLD/x .)
""".strip().splitlines()

UNCLEAR = """
OLD/..
OLD/../x
OLD/./..
OLD?mode=ro
OLD#x
OLD&&make
OLD=x
OLD"x"
OLD\\ x
OLD.
a|OLD
host:OLD/x
@OLD
""".strip().splitlines()


@pytest.mark.parametrize("value", FOLLOW)
def test_a_whole_occurrence_moves(value: str) -> None:
    before = value.replace("OLD", OLD)
    assert occurrences().inside(before) == value.replace("OLD", NEW)


@pytest.mark.parametrize("value", STAY)
def test_a_part_of_another_path_stays_and_keeps_nothing_from_moving(value: str) -> None:
    before = value.replace("OLD", OLD)
    moves = occurrences()
    assert moves.inside(before) is None
    assert moves.inside(f"{OLD}/x {before}") == f"{NEW}/x {before}"


@pytest.mark.parametrize("value", UNCLEAR)
def test_a_value_that_is_unclear_stays_as_a_whole(value: str) -> None:
    before = f"{OLD}/x " + value.replace("OLD", OLD)
    assert occurrences().inside(before) is None


@pytest.mark.parametrize("sign", ["~", "$HOME", "${HOME}"])
def test_a_spelling_of_the_home_stays_in_kind_where_new_is_in_the_home(
    sign: str,
) -> None:
    assert occurrences().inside(f"--x={sign}/app/y") == f"--x={sign}/new/y"
    assert occurrences().inside(f"Read({sign}/app/**)") == f"Read({sign}/new/**)"
    away = occurrences((OLD, "/srv/new"))
    assert away.inside(f"--x={sign}/app/y") == "--x=/srv/new/y"
    assert away.inside(f"Read({sign}/app/**)") == "Read(//srv/new/**)"
    assert away.inside(f"Bash({sign}/app/run:*)") == "Bash(/srv/new/run:*)"


def test_a_blank_ends_it_unless_the_longer_text_is_a_path() -> None:
    moves = occurrences(("/me/My", "/me/Mine"), there=("/me/My App",))
    assert moves.inside("/me/My App") is None
    assert moves.inside("ls /me/My App/x") is None
    assert moves.inside("ls '/me/My App' /me/My") == "ls '/me/My App' /me/Mine"
    assert moves.inside("ls /me/My x") == "ls /me/Mine x"
    in_home = occurrences(there=(f"{OLD} two",))
    assert in_home.inside("~/app two/x") is None
    assert in_home.inside("~/app three/x") == "~/new three/x"


def test_what_stays_by_only_and_what_is_in_place_already_stays() -> None:
    kept = occurrences(kept=(f"{OLD}/web",))
    assert kept.inside(f"{OLD}/web:{OLD}/lib") == f"{OLD}/web:{NEW}/lib"
    assert kept.inside(f"{OLD}/web/x") is None
    assert kept.inside(f"{OLD}/website") == f"{NEW}/website"
    down = occurrences((OLD, f"{OLD}/main"))
    assert down.inside(f"{OLD}/main:{OLD}") == f"{OLD}/main:{OLD}/main"


def test_each_occurrence_moves_once_and_by_the_longest_old() -> None:
    swap = occurrences(("/a", "/b"), ("/b", "/a"))
    assert swap.inside("Bash(cp /a/x /b/y)") == "Bash(cp /b/x /a/y)"
    nested = occurrences(("/code", "/src"), ("/code/app", "/lib"))
    assert nested.inside("/code/x:/code/app/x") == "/src/x:/lib/x"


def test_a_new_path_with_a_blank_goes_into_a_shells_line_only_inside_of_quotes() -> (
    None
):
    moves = occurrences((OLD, "/srv/new app"))
    assert moves.inside(f"Bash({OLD}/run:*)") is None
    assert moves.inside(f"Bash('{OLD}/run':*)") == "Bash('/srv/new app/run':*)"
    assert moves.inside(f"Read(/{OLD}/**)") == "Read(//srv/new app/**)"
    assert moves.inside(f"--root={OLD}") == "--root=/srv/new app"
    assert moves.in_command(f"{OLD}/hook") is None


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        (r"C:\Users\dev\app", r"C:\Users\dev\new"),
        (r"c:\users\DEV\app\x", r"C:\Users\dev\new\x"),
        ("C:/Users/dev/app/x", "C:/Users/dev/new/x"),
        (r"--root=C:\Users\dev\app", r"--root=C:\Users\dev\new"),
        (r"C:\Users\dev\app\a;C:/Users/dev/app/b", r"C:\Users\dev\new\a;C:/Users/dev/new/b"),
        ("file:///C:/Users/dev/app/x", "file:///C:/Users/dev/new/x"),
        ("Read(//c/Users/dev/app/**)", "Read(//c/Users/dev/new/**)"),
        ("Bash(cd /c/Users/dev/app && make:*)", "Bash(cd /c/Users/dev/new && make:*)"),
        (r"~\app\x", r"~\new\x"),
        ("~/app/x", "~/new/x"),
        (r"-IC:\Users\dev\app", r"-IC:\Users\dev\new"),
        (r"C:\Users\dev\app-docker", None),
        (r"D:\Users\dev\app", None),
        (r"xC:\Users\dev\app", None),
        (r"C:\Users\dev\app\..\x", None),
    ],
)  # fmt: skip
def test_paths_of_windows_however_they_are_put(value: str, becomes: str | None) -> None:
    moves = occurrences((W_OLD, W_NEW), home=r"C:\Users\dev")
    assert moves.inside(value) == becomes


@pytest.mark.parametrize(
    ("rule", "becomes"),
    [
        ("Read(//c/Users/dev/app/**)", "Read(//d/work/b/**)"),
        ("Read(~/app/**)", "Read(//d/work/b/**)"),
        (r"Read(C:\Users\dev\app\**)", r"Read(D:\work\b\**)"),
        ("Bash(cd /c/Users/dev/app && make:*)", "Bash(cd /d/work/b && make:*)"),
        ("Bash(C:/Users/dev/app/run.sh:*)", "Bash(D:/work/b/run.sh:*)"),
        ("Read(//c/Users/dev/app-2/**)", None),
    ],
)
def test_rules_of_windows_that_leave_the_home(rule: str, becomes: str | None) -> None:
    moves = occurrences((W_OLD, r"D:\work\b"), home=r"C:\Users\dev")
    assert moves.inside(rule) == becomes


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        (r"C:\work\app\x", "/srv/new/x"),
        (r"C:\work\app\my dir\x", "/srv/new/my dir/x"),
        (r"--root=C:\work\app\a\b --sed \d+", r"--root=/srv/new/a/b --sed \d+"),
        (r"C:\work\app\a;C:\other\b", r"/srv/new/a;C:\other\b"),
        (r"Read(C:\work\app\src\**)", "Read(//srv/new/src/**)"),
        ("Read(//c/work/app/**)", "Read(//srv/new/**)"),
        (r"Bash(C:\work\app\bin\run.cmd:*)", "Bash(/srv/new/bin/run.cmd:*)"),
        (r'node "C:\work\app\x.js" "\n"', r'node "/srv/new/x.js" "\n"'),
    ],
)
def test_paths_of_windows_on_another_system(value: str, becomes: str) -> None:
    moves = ((r"C:\work\app", "/srv/new"), ("/c/work/app", "/srv/new"))
    assert occurrences(*moves, home="/home/me").inside(value) == becomes


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        ("/work/app/x", r"C:\code\new\x"),
        ("/work/app/my dir/x", r"C:\code\new\my dir\x"),
        (
            "--root=/work/app/a/b https://host/x",
            r"--root=C:\code\new\a\b https://host/x",
        ),
        ("/work/app/a:/usr/b", r"C:\code\new\a:/usr/b"),
        ("Read(//work/app/src/**)", "Read(//c/code/new/src/**)"),
        ("Bash(/work/app/bin/run:*)", "Bash(/c/code/new/bin/run:*)"),
        ("~/app/x", r"C:\code\new\x"),
        ("Read(~/app/**)", "Read(//c/code/new/**)"),
    ],
)
def test_paths_of_another_system_on_windows(value: str, becomes: str) -> None:
    moves = (("/work/app", r"C:\code\new"), ("~/app", r"C:\code\new"))
    assert occurrences(*moves, home=r"C:\Users\me").inside(value) == becomes


# -- the sentences of the contract, on pieces ------------------------------------------

# What may stand ahead of a path, and whether one begins after it.
BEGINS = {
    "": True, "x=": True, "a,": True, "a;": True, '"': True, "'": True, "(": True,
    "[": True, "{": True, "x ": True, "-I": True, "file://": True, "/usr/lib:": True,
    "X=:": True, "file:": True,
    "x": False, "é": False, "字": False, "/srv": False, "/srv/x": False, ".": False,
    "me@host:": False, "~": False, "x-": False, "9": False, "https://host": False,
}  # fmt: skip
# What may come after it, and whether it ends there.
ENDS = {
    "": True, "/": True, "/x.py": True, ":": True, ";b": True, ",b": True, ")": True,
    "]": True, "}": True, "*": True, "/**": True, " x": True, "/x y": True, ":*": True,
    "-docker": False, ".bak": False, "2": False, "x": False, "_": False, "é": False,
    "字": False, "я": False, "ः": False, "-": False, ".bak/x": False, "s/x": False,
}  # fmt: skip
SEPARATORS = (" ", ",", ";", " && ", " x ")
Piece = tuple[str, str]  # what is ahead of a path, and what is after it
PIECES = st.lists(
    st.tuples(st.sampled_from(sorted(BEGINS)), st.sampled_from(sorted(ENDS))),
    min_size=1,
    max_size=4,
)


def told(pieces: list[Piece], between: str, path: str, new: str) -> str:
    """The value with `new` wherever `path` is whole, as the contract has it."""
    parts = []
    for ahead, after in pieces:
        is_whole = BEGINS[ahead] and ENDS[after]
        parts.append(ahead + (new if is_whole else path) + after)
    return between.join(parts)


@given(PIECES, st.sampled_from(SEPARATORS))
@example([("x=", ":"), ("", "-docker"), ("file://", "/x.py")], " ")
@example([("me@host:", ""), ("file://", "")], " ")
def test_a_value_becomes_what_the_contract_says(
    pieces: list[Piece], between: str
) -> None:
    before = told(pieces, between, OLD, OLD)
    after = told(pieces, between, OLD, NEW)
    moves = occurrences()
    assert (moves.inside(before) or before) == after
    back = occurrences((NEW, OLD))
    assert (back.inside(after) or after) == before


# On Windows the drive begins the path, so that `:` and `~` ahead of it say other things.
ON_WINDOWS = sorted(set(BEGINS) - {"file://", "file:", "~", "/usr/lib:", "X=:", "/srv"})


@given(
    st.lists(
        st.tuples(st.sampled_from(ON_WINDOWS), st.sampled_from(sorted(ENDS))),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(SEPARATORS),
    st.sampled_from([W_OLD, W_OLD.replace("\\", "/")]),
)
def test_a_value_with_paths_of_windows_as_well(
    pieces: list[Piece], between: str, spelling: str
) -> None:
    new = W_NEW.replace("\\", "/") if "/" in spelling else W_NEW
    moves = occurrences((W_OLD, W_NEW), home="C:\\Users\\dev")
    before = told(pieces, between, spelling, spelling)
    assert (moves.inside(before) or before) == told(pieces, between, spelling, new)


@pytest.mark.slow
@given(st.text(string.printable + "é字/", max_size=40), st.text(max_size=20))
def test_nothing_is_half_rewritten(ahead: str, after: str) -> None:
    """Whatever stands around it: OLD as a whole is moved everywhere, or nowhere."""
    value = f"{OLD} {ahead}{OLD}{after} {OLD}"
    new = occurrences().inside(value)
    if new is not None:
        assert new.startswith(NEW)
        assert new.endswith(NEW)
