"""The command: install, make, run, print."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import report
from bench.contenders import Contender, is_available, tool
from bench.install import REPOSITORY, InstallError, install, install_ccmove, version_of
from bench.rounds import Bench, Results, say
from bench.scenarios import (
    FULL,
    GROWING,
    GROWTH,
    HOOK,
    LARGE,
    MANY,
    QUICK,
    TYPICAL,
    Programs,
    Scale,
    groups,
)
from bench.transfer import PACKING, PORTAGE, UNPACKING

# (package, what stands before OLD NEW, what after): each told that the folder has moved
# already.
OTHER_TOOLS = (
    ("claudepath", ("remap",), ("--yes",)),
    ("claude-repath", ("rewire",), ("--yes",)),
)
ALONE = (*GROWING, MANY, *GROWTH, LARGE, HOOK)  # groups without other tools
TRANSFER = (PACKING, UNPACKING)  # groups with one of their own


def main() -> None:
    options = _options()
    scale = QUICK if options.quick else FULL
    # Not a name of tempfile's: with a `_` in it one of the tools finds nothing.
    root = Path(options.dir or tempfile.gettempdir(), f"ccmove-bench-{os.getpid()}")
    root = root.resolve()
    root.mkdir(mode=0o700)
    try:
        # The other tools take part in the first groups only.
        left_out = ("claude-repath",) if options.quick else ()
        if any(options.only and options.only in name for name in (*ALONE, *TRANSFER)):
            left_out = tuple(package for package, _, _ in OTHER_TOOLS)
        if options.only and not any(options.only in name for name in TRANSFER):
            left_out = (*left_out, PORTAGE)
        programs, versions = _fleet(root, options.source, left_out)
        bench = Bench(root / "data", settle=not options.quick)
        for group in groups(scale, programs):
            if options.only in group.name:
                bench.run(group)
        heading = report.heading(root, quick=options.quick)
        if options.only:
            text = _part(bench.results, scale, versions, heading)
        else:
            text = _whole(bench.results, scale, versions, heading)
        print(text)
        if options.save:
            _save(text, _short(bench.results, scale, report.heading(root)))
        sys.exit(_wrong(bench.results))
    except InstallError as error:
        sys.exit(f"benchmarks/run: {error}")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="small and once: does it all run?"
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="groups whose name holds TEXT"
    )
    parser.add_argument(
        "--source",
        type=Path,
        default=REPOSITORY,
        metavar="DIR",
        help="another checkout of ccmove",
    )
    parser.add_argument(
        "--dir", metavar="DIR", help="where the data goes; needs 5 GB on a disk"
    )
    parser.add_argument(
        "--save",
        action="store_true",
        help="put the tables into benchmarks/README.md and README.md",
    )
    options = parser.parse_args()
    if options.save and (options.quick or options.only):
        parser.error("--save needs the whole run: neither --quick nor --only")
    return options


# -- who takes part --------------------------------------------------------------------------------


def _fleet(
    root: Path, source: Path, left_out: tuple[str, ...]
) -> tuple[Programs, dict[str, str]]:
    """Everything that will be run, and its versions; of a tool that can't be had, why."""
    say("installing ccmove")
    ccmove = install_ccmove(root / "ccmove", source)
    versions = {"ccmove": version_of(ccmove, "ccmove")}
    for command in ("sed", "jq"):
        versions[command] = (
            _first_line(command) if is_available(command) else "not available"
        )
    found: list[Contender] = []
    for package, before, after in OTHER_TOOLS:
        if place := _installed(root, package, left_out, versions):
            program = place / package
            found.append(tool(package, program, *before, after=after, most=3))
    portage = None
    if place := _installed(root, PORTAGE, left_out, versions):
        portage = place / PORTAGE
    return Programs(ccmove, tuple(found), portage), versions


def _installed(
    root: Path, package: str, left_out: tuple[str, ...], versions: dict[str, str]
) -> Path | None:
    """Where a tool of PyPI is now; what is noted else is why it is not."""
    if package in left_out:
        versions[package] = "left out"
        return None
    say(f"installing {package}")
    try:
        place = install(root / package, package)
    except InstallError as error:
        versions[package] = f"not available: {error}"
        return None
    versions[package] = version_of(place, package)
    return place


def _wrong(results: Results) -> str | None:
    """A fast move that is not right counts for nothing: why the benchmark fails, or
    None.
    """
    for (group, _, contender), tally in results.items():
        if contender in report.OURS and tally.note:
            return f"benchmarks/run: {contender} was not right: {group}: {tally.note}"
    return None


def _first_line(command: str) -> str:
    done = subprocess.run(
        [command, "--version"], capture_output=True, text=True, check=False
    )
    return done.stdout.partition("\n")[0]


# -- what is printed -------------------------------------------------------------------------------


def _whole(
    results: Results, scale: Scale, versions: dict[str, str], heading: str
) -> str:
    movers = ("cp && sync", *(name for name in versions if name != PORTAGE))
    parts = [
        heading,
        report.goal_table(results, scale),
        "Medians; in brackets how many times the copy's.",
        report.history_table(results, scale, movers),
        report.outcome_table(results, versions),
    ]
    return "\n\n".join([*parts, *_scaling_tables(results)])


def _scaling_tables(results: Results) -> list[str]:
    measured = {group for group, _, _ in results}
    scaling = (TYPICAL, *ALONE, *TRANSFER)
    return [
        report.scaling_table(results, group) for group in scaling if group in measured
    ]


def _part(
    results: Results, scale: Scale, versions: dict[str, str], heading: str
) -> str:
    """Of some groups: their goals and their own tables, and who else was there."""
    parts = [heading, report.goal_table(results, scale, whole=False)]
    took_part = {name for _, _, name in results}
    others = {name: versions[name] for name in versions if name in took_part}
    if others.keys() > {"ccmove"}:
        parts.append(report.outcome_table(results, others))
    return "\n\n".join([*parts, *_scaling_tables(results)])


def _short(results: Results, scale: Scale, heading: str) -> str:
    return f"{heading}\n\n{report.goal_table(results, scale, detailed=False)}"


def _save(whole: str, short: str) -> None:
    _put(REPOSITORY / "benchmarks" / "README.md", whole)
    _put(REPOSITORY / "README.md", short)


def _put(path: Path, text: str) -> None:
    """Between the two marks; a file without them stays as it is."""
    begin, end = "<!-- benchmark -->", "<!-- /benchmark -->"
    old = path.read_text(encoding="utf-8")
    head, found, rest = old.partition(begin)
    _, closed, tail = rest.partition(end)
    if found and closed:
        path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")
    else:
        say(f"{path.name}: no {begin} … {end}, left as it is")
