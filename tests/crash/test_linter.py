"""The trace linter finds nothing in a real run, and everything in a bad one."""

import pytest

from tests.crash.bench import Bench, bench_of, must
from tests.crash.calls import TRACE_MUTATING, parse
from tests.crash.fork import Job
from tests.crash.interruptions import KINDS
from tests.crash.linter import Linter, Violation
from tests.crash.sample import some
from tests.crash.scenarios import SCENARIOS
from tests.crash.sweep import break_off

# The least that a safe run does: one file is replaced, one directory renamed.
# The manifest of the run: first what will be staged, then everything that will be done.
RECORD = """\
7 openat(4</h/.claude/ccmove/run>, "manifest.json.new", O_WRONLY|O_CREAT|O_EXCL|O_NOFOLLOW, 0600) = 5</h/.claude/ccmove/run/manifest.json.new>
7 write(5</h/.claude/ccmove/run/manifest.json.new>, "{}", 2) = 2
7 fsync(5</h/.claude/ccmove/run/manifest.json.new>) = 0
7 renameat(4</h/.claude/ccmove/run>, "manifest.json.new", 4</h/.claude/ccmove/run>, "manifest.json") = 0
7 fsync(4</h/.claude/ccmove/run>) = 0
"""  # noqa: E501 - lines as strace prints them
LINE = """\
7 write(6</h/.claude/ccmove/run/progress>, "+1\\n", 3) = 3
7 fsync(6</h/.claude/ccmove/run/progress>) = 0
"""
GOOD = f"""\
7 mkdirat(4</h/.claude/ccmove>, "backups", 0700) = 0
7 mkdirat(4</h/.claude/ccmove>, "run", 0700) = 0
7 fsync(4</h/.claude/ccmove>) = 0
{RECORD}7 linkat(4</h>, ".claude.json", 5</h/.claude/ccmove/run/files>, "0", 0) = 0
7 openat(4</h>, ".ccmove-ID-0", O_WRONLY|O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC, 0600) = 5</h/.ccmove-ID-0>
7 write(5</h/.ccmove-ID-0>, "{{\\"projects\\": ", 400) = 400
7 fchmod(5</h/.ccmove-ID-0>, 0644) = 0
7 fsync(5</h/.ccmove-ID-0>) = 0
7 fsync(4</h/.claude/ccmove/run/files>) = 0
{RECORD}7 mkdirat(4</h/.claude>, "history.jsonl.lock", 0700) = 0
7 renameat(4</h>, ".ccmove-ID-0", 4</h>, ".claude.json") = 0
7 fsync(4</h>) = 0
{LINE}7 renameat2(4</h/.claude/projects>, "-a", 5</h/.claude/projects>, "-b", RENAME_NOREPLACE) = 0
7 fsync(5</h/.claude/projects>) = 0
7 rmdir("/h/.claude/history.jsonl.lock") = 0
7 fchmodat(4</h/.claude/ccmove/run/files>, "0", 0600) = 0
7 renameat2(4</h/.claude/ccmove>, "run", 5</h/.claude/ccmove/backups>, "ID", RENAME_NOREPLACE) = 0
7 fsync(5</h/.claude/ccmove/backups>) = 0
7 fsync(4</h/.claude/ccmove>) = 0
7 +++ exited with 0 +++
"""  # noqa: E501 - lines as strace prints them
LINES = GOOD.splitlines()
RECORDED, FLUSHED = 22, 23  # the line of the first change

COMMIT_FIRST = "the manifest is on disk before the first change of what is the user's"
NEVER_OPENED = "a user's file is never opened for writing"
NEVER_COPIED = "a transcript is never copied"
KEEPS_MODE = "a user's file keeps its mode, owner and time"
TRANSCRIPT = "11111111-2222-4333-8444-555555555555.jsonl"
FLUSHED_FIRST = "a directory is flushed before the next step: "
RECORDED_FIRST = "each change is recorded before the next one"
LINE_FIRST = "a line of the record is flushed before the next change"
OWN_FIRST = "a directory of ours is flushed before the manifest changes: "
NAMED_FIRST = "the manifest names what is staged before it is there"


def lint(trace: str) -> list[Violation]:
    return Linter("/h", "/h/.claude").check(parse(trace))


def without(*numbers: int) -> str:
    return "\n".join(line for i, line in enumerate(LINES) if i not in numbers)


def with_line(line: str, after: int = 18) -> str:
    """The good trace and one line more: as a rule after the commit, where most is
    allowed.
    """
    return "\n".join([*LINES[: after + 1], f"7 {line}", *LINES[after + 1 :]])


def replaced(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


BAD = {
    "staged data is not flushed": (without(12), "data is flushed before its rename"),
    "mode is set after the flush": (
        "\n".join([*LINES[:11], LINES[12], LINES[11], *LINES[13:]]),
        "data is flushed before its rename",
    ),
    "the manifest is not flushed": (without(16), "data is flushed before its rename"),
    "directory of the replaced file is not flushed": (without(21), FLUSHED_FIRST + "/h"),
    "directory of the rename is not flushed": (without(25), FLUSHED_FIRST + "/h/.claude/projects"),
    "the name of the backup is not flushed": (without(29), OWN_FIRST + "/h/.claude/ccmove/backups"),
    "that it is no run any more is not flushed": (without(30), OWN_FIRST + "/h/.claude/ccmove"),
    "what is saved is not flushed": (without(13), OWN_FIRST + "/h/.claude/ccmove/run/files"),
    "a backup that is removed may come back": (
        with_line('unlinkat(4</h/.claude/ccmove/backups>, "1", AT_REMOVEDIR) = 0', 27),
        OWN_FIRST + "/h/.claude/ccmove/backups",
    ),
    "a staged file that is removed may come back": (
        with_line('unlinkat(4</h>, ".ccmove-ID-1", 0) = 0', 27),
        FLUSHED_FIRST + "/h",
    ),
    "a change is not recorded": (without(RECORDED, FLUSHED), RECORDED_FIRST),
    "a line of the record is not flushed": (without(FLUSHED), LINE_FIRST),
    "no commit": (without(14, 15, 16, 17, 18), COMMIT_FIRST),
    "nothing before what is staged": (without(3, 4, 5, 6, 7, 14, 15, 16, 17, 18), NAMED_FIRST),
    "the first manifest's directory is not flushed": (without(7), NAMED_FIRST),
    "the manifest's directory is not flushed": (without(18), COMMIT_FIRST),
    "a change after the run is done": (
        with_line('renameat2(4</h/p>, "x", 4</h/p>, "y", RENAME_NOREPLACE) = 0', 30),
        COMMIT_FIRST,
    ),
    "a copy takes a transcript's place": (
        replaced(
            '".ccmove-ID-0", 4</h>, ".claude.json")',
            f'".ccmove-ID-0", 4</h/.claude/projects/-a>, "{TRANSCRIPT}")',
        ),
        NEVER_COPIED,
    ),
    "a new file that may be there already": (
        replaced("O_WRONLY|O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC", "O_WRONLY|O_CREAT|O_NOFOLLOW"),
        "a new file is made with O_CREAT|O_EXCL|O_NOFOLLOW",
    ),
    "a new file through a link": (
        replaced("O_WRONLY|O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC", "O_WRONLY|O_CREAT|O_EXCL"),
        "a new file is made with O_CREAT|O_EXCL|O_NOFOLLOW",
    ),
    "a new file that others can read": (
        replaced("O_NOFOLLOW|O_CLOEXEC, 0600", "O_NOFOLLOW|O_CLOEXEC, 0644"),
        "a new file is made with mode 0600",
    ),
    "a rename that may replace": (
        replaced('renameat2(4</h/.claude/projects>, "-a", 5</h/.claude/projects>, "-b", '
                 "RENAME_NOREPLACE)",
                 'renameat(4</h/.claude/projects>, "-a", 5</h/.claude/projects>, "-b")'),
        "what is the user's is renamed with a call that replaces nothing",
    ),
}  # fmt: skip
DIRECTORY = "4</h/.claude/projects/-a>"
# What is wrong after the commit too, where most is allowed.
NEVER = {
    "a user's file is opened for writing": (
        'openat(4</h/.claude>, "history.jsonl", O_WRONLY|O_APPEND|O_NOFOLLOW) = 9', NEVER_OPENED,
    ),
    "a user's file is emptied": (
        'openat(4</h/.claude>, "history.jsonl", O_RDWR|O_TRUNC) = 9', NEVER_OPENED,
    ),
    "a user's file is cut": (
        'truncate("/h/.claude/history.jsonl", 5) = 0', "nothing is ever truncated",
    ),
    "a user's file is written in place": (
        'write(9</h/.claude/history.jsonl>, "x", 1) = 1', "a user's file is never written to",
    ),
    "a user's file gets another mode": (
        "fchmod(9</h/.claude/history.jsonl>, 0600) = 0", KEEPS_MODE,
    ),
    "a user's file gets another mode through its link": (
        'fchmodat(4</h/.claude/ccmove/run/files>, "0", 0600) = 0', KEEPS_MODE,
    ),
    "a transcript is re-dated": (
        f'utimensat({DIRECTORY}, "{TRANSCRIPT}", [{{tv_sec=1}}], 0) = 0', KEEPS_MODE,
    ),
    "a transcript is linked": (
        f'linkat({DIRECTORY}, "{TRANSCRIPT}", 5</h/.claude/ccmove>, "x", 0) = 0', NEVER_COPIED,
    ),
    "a transcript is opened for writing": (
        f'openat({DIRECTORY}, "{TRANSCRIPT}", O_WRONLY|O_NOFOLLOW) = 9', NEVER_OPENED,
    ),
    "a link among the user's files": (
        'linkat(4</h>, ".claude.json", 5</h>, "second.json", 0) = 0',
        "links are made among our own files only",
    ),
}  # fmt: skip
BAD |= {what: (with_line(line), rule) for what, (line, rule) in NEVER.items()}


def test_nothing_is_wrong_with_the_least_that_a_safe_run_does() -> None:
    assert lint(GOOD) == []


@pytest.mark.parametrize("what", BAD)
def test_each_broken_rule_is_named(what: str) -> None:
    trace, rule = BAD[what]
    assert rule in {violation.rule for violation in lint(trace)}


def test_a_call_that_failed_has_changed_nothing() -> None:
    failed = 'openat(4</h/.claude>, "history.jsonl", O_WRONLY) = -1 EACCES (Permission denied)'
    assert lint(with_line(failed)) == []


def test_calls_outside_of_the_state_are_not_looked_at() -> None:
    assert (
        lint(with_line('openat(AT_FDCWD</x>, "/x/out", O_WRONLY|O_CREAT, 0666) = 9'))
        == []
    )


def lint_run(bench: Bench, job: Job, *, committed: bool = False) -> list[Violation]:
    linter = Linter(str(bench.live), str(bench.state.config_dir), committed)
    return linter.check(parse(must(job, ["-y", "-e", TRACE_MUTATING]).trace))


@pytest.mark.crash
@pytest.mark.parametrize("command", ["move", "restore"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_real_run_breaks_no_rule(scenario: str, command: str) -> None:
    bench = bench_of(scenario, command, on_disk=True)
    bench.reset()
    assert lint_run(bench, bench.job()) == []


@pytest.mark.crash
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scenario", some(SCENARIOS, "merge"))
def test_a_recovery_breaks_no_rule(scenario: str, kind: str) -> None:
    bench = bench_of(scenario, "move")
    break_off(bench, kind)
    assert lint_run(bench, bench.recovery, committed=True) == []


@pytest.mark.crash
@pytest.mark.parametrize("command", ["move", "restore"])
def test_control_without_fsync_the_linter_finds_missing_flushes(command: str) -> None:
    bench = bench_of("merge", command)
    bench.reset()
    rules = {
        violation.rule for violation in lint_run(bench, bench.job(["without_fsync"]))
    }
    assert "data is flushed before its rename" in rules
    assert COMMIT_FIRST in rules
    assert f"{FLUSHED_FIRST}{bench.state.projects}" in rules
    assert LINE_FIRST in rules


@pytest.mark.crash
@pytest.mark.parametrize("command", ["move", "restore"])
def test_control_without_a_record_the_linter_misses_it(command: str) -> None:
    bench = bench_of("merge", command)
    bench.reset()
    found = lint_run(bench, bench.job(["without_record"]))
    assert {violation.rule for violation in found} == {RECORDED_FIRST}


@pytest.mark.crash
def test_control_without_a_journal_the_linter_misses_it() -> None:
    bench = bench_of("merge")
    bench.reset()
    rules = {
        violation.rule for violation in lint_run(bench, bench.job(["without_journal"]))
    }
    assert COMMIT_FIRST in rules
