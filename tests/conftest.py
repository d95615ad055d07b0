"""Fences every test off from the real home, and gives it a sample one."""

import os
import shutil
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.crash import figures, places
from tests.crash.sample import EXHAUSTIVE, told
from tests.support import home_guard
from tests.support.state import StateBuilder
from tests.systems import windows

home_guard.install()
if windows.HERE:
    windows.write_lines_as_the_client_does()
pytest.register_assert_rewrite(
    "tests.shapes.bench", "tests.shapes.undoing", "tests.output.golden"
)

# Flushing to a disk is most of the time that a run takes; who needs a disk asks for
# one.
if place := os.environ.get(places.HERE) or (
    "/dev/shm" if os.access("/dev/shm", os.W_OK) else ""
):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", place)

# A shell's background job ignores Ctrl-C, and so would the children that tests send it
# to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile(
    "ccmove",
    deadline=None,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow
    ],  # says more of the machine than of us
    print_blob=True,
    max_examples=200 if EXHAUSTIVE else 25,
    derandomize=bool(os.environ.get("CI")),
)
hypothesis.settings.load_profile("ccmove")

_XDG = ("CONFIG", "CACHE", "DATA", "STATE", "RUNTIME")


@pytest.fixture(autouse=True)
def throw_away_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An empty home of the test's own; children that inherit the environment get it
    too.
    """
    home = tmp_path_factory.mktemp("throw-away-home")
    for name in [name for name in os.environ if name.startswith("CLAUDE")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for kind in _XDG:
        suffix = "DIR" if kind == "RUNTIME" else "HOME"
        monkeypatch.setenv(f"XDG_{kind}_{suffix}", str(home / f".xdg-{kind.lower()}"))
    return home


@pytest.fixture(autouse=True, scope="session")
def real_home_stays_as_it_is() -> Iterator[None]:
    """Fails the run when ccmove left its mark in the real home; in CI, when anything
    changed.
    """
    before = home_guard.fingerprint()
    yield
    after = home_guard.fingerprint()
    # A developer's own client may be running in the real home meanwhile; it never makes
    # `ccmove`.
    watched = home_guard.WATCHED if os.environ.get("CI") else (".claude/ccmove",)
    changed = [name for name in watched if before[name] != after[name]]
    assert not changed, (
        f"changed in {home_guard.REAL_HOME} while the tests ran: {changed}"
    )


@pytest.fixture
def state(tmp_path: Path) -> StateBuilder:
    """Claude Code state without any project yet."""
    return StateBuilder(tmp_path)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """On Windows, what can't even be imported there."""
    if not windows.HERE:
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    return name in windows.FILES or None


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """With CCMOVE_SHARE=8 every eighth test of each file, the first one among them."""
    share = int(os.environ.get("CCMOVE_SHARE") or 1)
    files: Counter[Path] = Counter()
    kept = []
    for item in items:
        if files[item.path] % share == 0:
            kept.append(item)
        files[item.path] += 1
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_report_header() -> str:
    return told()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    figures.pytest_terminal_summary(terminalreporter)
    if windows.HERE:
        windows.tell(terminalreporter)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if windows.HERE and (reason := windows.reason_for(item.nodeid)):
        pytest.skip(reason)
    if item.get_closest_marker("crash") and shutil.which("strace") is None:
        pytest.skip("needs strace")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where a kind of test is required (`.ci/run` says so), skipping one of it is a
    failure.
    """
    report = yield
    required = os.environ.get("CCMOVE_REQUIRED_MARKERS", "").split()
    if report.skipped and any(item.get_closest_marker(name) for name in required):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} must not be skipped here: {report.longrepr}"
    return report
