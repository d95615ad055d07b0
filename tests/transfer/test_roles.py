"""Which names fit which role, and which names no archive may have."""

import pytest

from ccmove.transfer.roles import ROLES, Names, Part, is_portable, part_of
from tests.transfer.archives import FIRST, sample_archive

BASE = "projects/1"
PARTS = {
    ("transcript", f"projects/12/sessions/{FIRST}.jsonl"): Part(
        "transcript", 12, FIRST
    ),
    ("session-folder", f"{BASE}/sessions/{FIRST}/a/b.txt"): Part(
        "session-folder", 1, FIRST, below=("a", "b.txt")
    ),
    ("session-note", f"{BASE}/sessions/{FIRST}.ccr-tip.json"): Part(
        "session-note", 1, FIRST, "ccr-tip"
    ),
    ("agent", f"{BASE}/agents/agent-0aF.jsonl"): Part("agent", 1, "0aF"),
    ("memory", f"{BASE}/memory/MEMORY.md"): Part("memory", 1, below=("MEMORY.md",)),
    ("index", f"{BASE}/index.json"): Part("index", 1),
    ("history", f"{BASE}/history.jsonl"): Part("history", 1),
    ("config", f"{BASE}/config.json"): Part("config", 1),
    ("file-history", f"file-history/{FIRST}/a@v1"): Part(
        "file-history", 0, FIRST, below=("a@v1",)
    ),
    ("tasks", f"tasks/{FIRST}/1.json"): Part("tasks", 0, FIRST, below=("1.json",)),
    ("plan", "plans/calm-otter.md"): Part("plan", 0, "calm-otter"),
    ("paste", "paste-cache/0123456789abcdef.txt"): Part("paste", 0, "0123456789abcdef"),
}
WRONG = {
    "another role's name": ("index", f"{BASE}/config.json"),
    "a role that does not exist": ("settings", "settings.json"),
    "no role": ("", "ccmove.json"),
    "a way up": ("memory", f"{BASE}/memory/../config.json"),
    "a way to nowhere": ("memory", f"{BASE}/memory//x"),
    "a folder": ("memory", f"{BASE}/memory/x/"),
    "the folder itself": ("memory", f"{BASE}/memory/"),
    "absolute": ("memory", f"/{BASE}/memory/x"),
    "a drive": ("memory", f"{BASE}/memory/C:x"),
    "strokes of Windows": ("memory", f"{BASE}/memory/..\\..\\x"),
    "project 0": ("index", "projects/0/index.json"),
    "a project with a sign": ("index", "projects/+1/index.json"),
    "another script's digit": ("index", "projects/\u0661/index.json"),
    "no session": ("transcript", f"{BASE}/sessions/x.jsonl"),
    "a session in capitals": ("transcript", f"{BASE}/sessions/{FIRST.upper()[:-1]}A.jsonl"),
    "a session with more": ("transcript", f"{BASE}/sessions/{FIRST}.jsonl.jsonl"),
    "a newline": ("transcript", f"{BASE}/sessions/{FIRST}.jsonl\n"),
    "a plan that leads elsewhere": ("plan", "plans/../settings.md"),
    "a plan of Windows": ("plan", "plans/con.md"),
    "a hidden plan": ("plan", "plans/.md"),
    "a hash in capitals": ("paste", "paste-cache/0123456789ABCDEF.txt"),
    "credentials": ("credentials", ".credentials.json"),
}  # fmt: skip
UNPORTABLE = [
    "", ".", "..", "a/../b", "a//b", "a/", "/a", "a\0b", "a\nb", "a\x1b[2J", "a\x7f", "a\x85b",
    "a\\b", "a:b", "a*b", "a?", '"a"', "<a>", "a|b", "a.", "a ", "b/a. ", "con", "CON.txt",
    "Nul.tar.gz", "com1", "LPT9.x", "com\xb9", "aux .md", "CONIN$", "\ud800", "\udcff",
    "x" * 201, "\xe9" * 101, "/".join(["x" * 150] * 8),
]  # fmt: skip
PORTABLE = [
    "a", "a b", ".hidden", "..a", "a..b", "con1", "console.md", "com0", "com10", "x" * 200,
    "caf\xe9.md", "\U0001f680", "[red]", "-rf", "~", "$HOME", "a@v1", "`x`", "'", "a;b", "\u202e",
]  # fmt: skip


@pytest.mark.parametrize(("role", "name"), PARTS)
def test_a_name_says_what_a_member_is(role: str, name: str) -> None:
    part = PARTS[role, name]
    assert part_of(role, name) == part
    assert part.name == name


def test_every_role_has_an_example() -> None:
    assert {role for role, _ in PARTS} == set(ROLES)
    assert {row["role"] for row in sample_archive().header["members"]} == set(ROLES)


def test_a_name_fits_one_role_only() -> None:
    for _, name in PARTS:
        assert len([role for role in ROLES if part_of(role, name)]) == 1


@pytest.mark.parametrize("why", WRONG)
def test_what_does_not_fit_its_role_is_nothing(why: str) -> None:
    assert part_of(*WRONG[why]) is None


def test_a_name_that_some_system_can_not_have_is_refused() -> None:
    assert [name for name in UNPORTABLE if is_portable(name)] == []
    assert [name for name in PORTABLE if not is_portable(name)] == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a", "a"),
        ("a/b", "a/B"),
        ("A/b", "a/c"),
        ("a", "a/b"),
        ("a/b", "a"),
        ("A/b", "a"),
        ("caf\xe9", "cafe\u0301"),
        ("caf\xe9", "CAFE\u0301"),
        ("stra\xdfe", "STRASSE"),
        ("\u212b", "\xe5"),
    ],
)
def test_two_names_that_may_be_one_file_are_not_both_taken(
    first: str, second: str
) -> None:
    names = Names()
    assert names.add(first)
    assert not names.add(second)
    assert names.add("something else")


def test_names_that_differ_are_all_taken() -> None:
    names = Names()
    for name in ("a", "b/a", "b/b", "b/c/d", "ab", "c/a", "caf\xe9", "cafe"):
        assert names.add(name), name
