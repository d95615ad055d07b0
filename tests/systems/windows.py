"""What of the suite can't run on Windows, each with its reason.

A name is that of a directory, of a file, or of a test in it, as pytest spells it. The rest runs
there; what it meets that Windows does not have (a terminal of POSIX, strace, root) skips it.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

HERE = os.name == "nt"
OF = "CCMOVE_TESTS_IN_ALL"  # how many tests there are on Linux; `make test-windows` sets it

CLIENT = "drives the client on a terminal of POSIX; tests/client/test_windows.py has Windows' own"
STRACE = "needs strace, or signals that kill and stop"
MODES = "modes and owners, which mean nothing on Windows"
MOUNTS = "needs mounts of Linux, or limits of POSIX"
NAMES = "names that can't exist on Windows"
PROC = "looks at what only POSIX has: /proc, descriptors of directories, signals, shells"
LINKS = "needs symbolic links, which Wine does not show as such"
APFS = "about names on macOS"
MUTANTS = "about the tests themselves, and the same everywhere"

# Not even collected: these files ask for things of POSIX as they are imported.
FILES = {
    "tests/client": CLIENT,
    "tests/mutants": MUTANTS,
    "tests/hostile/test_full_disks.py": MOUNTS,
    "tests/hostile/test_limits.py": MOUNTS,
    "tests/hostile/test_meddling.py": STRACE,
    "tests/hostile/test_names.py": NAMES,
    "tests/hostile/test_owner_and_mode.py": MODES,
    "tests/claude/test_live.py": PROC,
    "tests/claude/test_reading.py": PROC,
}
GIT = "needs git, which the test bed does not have"
SPELLING = "spells paths as POSIX does in its own expectations"
TESTS = {
    "tests/systems/test_apfs.py": APFS,
    "tests/systems/test_homes.py::test_what_is_the_users_own_may_be_a_link_and_stays_one": LINKS,
    "tests/systems/test_homes.py::test_any_other_link_is_refused_with_what_to_do": LINKS,
    "tests/hostile/test_symlinks.py": LINKS,
    "tests/e2e/test_interrupts.py": PROC,
    "tests/e2e/test_who_is_at_new.py": GIT,
    "tests/shapes/test_config_values.py": SPELLING,
    "tests/shapes/test_paths.py::test_windows_paths_in_the_data": SPELLING,
    "tests/e2e/test_refusals.py::test_in_a_folder_that_was_deleted_the_message_says_so": PROC,
    "tests/e2e/test_refusals.py::test_in_a_folder_that_was_deleted_whole_paths_work": PROC,
    "tests/e2e/test_move.py::test_saved_files_are_readable_by_the_owner_only": MODES,
    "tests/e2e/test_move.py::test_a_move_with_a_loose_umask_keeps_our_files_private": MODES,
}


def reason_for(name: str) -> str | None:
    """Why a test of this name does not run on Windows; None when it does."""
    name = name.replace("\\", "/")
    for table in (FILES, TESTS):
        for prefix, reason in table.items():
            if name == prefix or name.startswith((prefix + "/", prefix + "::", prefix + "[")):
                return reason
    return None


def tell(reporter: pytest.TerminalReporter) -> None:
    """How many of how many tests ran, and why the others did not."""
    counts = {kind: len(reporter.stats.get(kind, ())) for kind in ("passed", "failed", "error")}
    ran = sum(counts.values())
    of = os.environ.get(OF, "")
    reporter.section("on Windows")
    skipped = Counter(_reason(report) for report in reporter.stats.get("skipped", ()))
    for reason, number in skipped.most_common():
        reporter.write_line(f"{number:5} {reason}")
    if of:
        reporter.write_line(
            f"{int(of) - ran - skipped.total():5} in files that are for POSIX alone:"
        )
        for name, reason in FILES.items():
            reporter.write_line(f"        {name}: {reason}")
    reporter.write_line(f"ran {ran}{f' of {of}' if of else ''} tests")


def _reason(report: pytest.TestReport) -> str:
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return told.removeprefix("Skipped: ")
