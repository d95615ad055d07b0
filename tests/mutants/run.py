"""`python -m tests.mutants.run [--by-hand] [MODULE...]`: which small faults does no
test notice?

mutmut changes one thing at a time (an operator, a number, a text, an argument) and runs
the tests that come through the changed function. Every mutant must be killed, or
explained in `explained.toml`; one that runs into the time limit counts as killed only
if it is explained there. Then come those of `by_hand.toml`, or with `--by-hand` only
these. One whose text is not in the code any more is named: it must be rewritten, or go.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
# The quickest tests that are about the module: what survives them survives.
TESTS = {
    "naming": ["tests/claude/test_naming.py", "tests/fuzz"],
    "pathmap": ["tests/rewrite/test_pathmap.py", "tests/fuzz"],
    "jsonspan": [
        "tests/rewrite/test_jsonspan.py",
        "tests/rewrite/test_jsonspan_properties.py",
    ],
    "splice": ["tests/rewrite/test_splice.py", "tests/rewrite/test_documents.py"],
    "settings": ["tests/rewrite/test_documents.py", "tests/shapes/test_documents.py"],
    "index": ["tests/rewrite/test_documents.py"],
    "planner": ["tests/shapes"],
    "journal": ["tests/hostile/test_data_not_orders.py"],
    "backups": ["tests/run/test_ids.py", "tests/e2e/test_backups.py"],
    "rollback": ["tests/laws", "tests/crash/test_recovery.py"],
    "undoing": ["tests/shapes"],
}
PACKAGES = {
    "naming": "claude", "planner": "plan", "journal": "run", "backups": "run",
    "rollback": "run", "undoing": "run",
}  # fmt: skip
PYTEST = ["-p", "tests.mutants.plugin", "-p", "no:cacheprovider"]


def source_of(module: str) -> Path:
    return Path("ccmove", PACKAGES.get(module, "rewrite"), f"{module}.py")


def try_module(module: str) -> None:
    """Make the mutants of one module and run the tests on each."""
    from mutmut.__main__ import cli
    from mutmut.configuration import config
    from mutmut.workers import isolation

    # A limit of processor time is enough. mutmut's second one goes by the clock: on a
    # busy machine it ends mutants that are only slow, and maybe the next process that
    # has the same number.
    isolation.register_timeout = lambda **_: None
    config().timeout_constant, config().timeout_multiplier = 5.0, 1.0
    resource.setrlimit(
        resource.RLIMIT_AS, (4 << 30, 4 << 30)
    )  # an endless loop may fill memory
    shutil.rmtree("mutants", ignore_errors=True)
    config().only_mutate = [str(source_of(module))]
    config().pytest_add_cli_args = PYTEST
    config().pytest_add_cli_args_test_selection = TESTS[module]
    cli(["run", "--max-children", "1"], standalone_mode=False)


def outcome(module: str) -> bool:
    """Say how the mutants of the module ended; whether each was killed or is explained."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.stats import status_by_exit_code

    data = SourceFileMutationData(path=source_of(module))
    data.load()
    reasons = explained(module)
    unused = set(reasons)
    counts: Counter[str] = Counter()
    for mutant, code in data.exit_code_by_key.items():
        status = status_by_exit_code[code]
        if status != "killed":
            diff = get_diff_for_mutant(mutant)
            if changed_lines(diff) not in reasons:
                print(f"\n{mutant}: {status}\n{diff}")
                status += ", not explained"
            unused.discard(changed_lines(diff))
        counts[status] += 1
    for was, becomes in sorted(unused):
        print(f"\nexplained, but killed or gone:\n-{was}\n+{becomes}")
    killed, total = counts["killed"] + counts["timeout"], counts.total()
    print(f"\n{module}: {total} mutants, {killed / total:.1%} killed; {dict(counts)}")
    return killed + counts["survived"] == total


def try_by_hand(module: str) -> bool:
    """Try what mutmut leaves out, each in a copy of the code; whether all apply and
    were killed.
    """
    source = source_of(module)
    text = source.read_text()
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for name in ("ccmove", "tests", "fixtures", "fuzz"):
            shutil.copytree(name, place / name)
        shutil.copy("pyproject.toml", place)
        for entry in tomllib.loads((HERE / "by_hand.toml").read_text()).get(module, []):
            for becomes in entry["becomes"]:
                end = "applies no more"
                if text.count(entry["was"]) == 1:
                    (place / source).write_text(text.replace(entry["was"], becomes))
                    end = noticed(place, entry.get("tests", TESTS[module]))
                ends[end] += 1
                if end != "killed":
                    print(f"\n{source}, by hand: {end}\n-{entry['was']}\n+{becomes}")
    print(f"{module}, by hand: {ends.total()} mutants; {dict(ends)}", flush=True)
    return ends["killed"] == ends.total()


def noticed(place: Path, tests: list[str]) -> str:
    command = [sys.executable, "-m", "pytest", "-xq", *PYTEST, *tests]
    code = subprocess.run(command, cwd=place, capture_output=True).returncode
    return {0: "survived", 1: "killed"}.get(code, f"pytest ended with {code}")


def explained(module: str) -> set[tuple[str, str]]:
    """The mutants of the module that have a reason: (what was there, what became of
    it).
    """
    entries = tomllib.loads((HERE / "explained.toml").read_text()).get(module, [])
    return {
        (entry["was"], becomes) for entry in entries for becomes in entry["becomes"]
    }


def changed_lines(diff: str) -> tuple[str, str]:
    """What a diff takes away and what it puts there."""
    lines = diff.splitlines()[2:]
    was, becomes = (
        " ".join(line[1:].strip() for line in lines if line[0] == c) for c in "-+"
    )
    return was, becomes


def main(words: list[str]) -> int:
    by_hand = "--by-hand" in words
    modules = [word for word in words if word != "--by-hand"] or list(TESTS)
    if by_hand:
        good = [try_by_hand(module) for module in modules]
        return 0 if all(good) else 1
    if len(modules) == 1:
        try_module(modules[0])
        good = [outcome(modules[0]), try_by_hand(modules[0])]
        return 0 if all(good) else 1
    command = [sys.executable, "-m", "tests.mutants.run"]
    return max(subprocess.run([*command, module]).returncode for module in modules)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
