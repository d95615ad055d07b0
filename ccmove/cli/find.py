"""`ccmove PATH`: one path is enough. The other one is found by evidence,
and asked about once.
"""

import os
import sys
from dataclasses import replace
from typing import NamedTuple

import click

from ccmove.cli.boundary import Call
from ccmove.cli.questions import confirm, prompt
from ccmove.commands import paths
from ccmove.commands.options import DoctorOptions, MoveOptions
from ccmove.errors import NothingKnownError, RefusedError, UsageError
from ccmove.hints import ask, run
from ccmove.inspect.lost import (
    SAME_PLACE,
    Basis,
    Candidate,
    Finder,
    described,
    nearest_folder,
)
from ccmove.inspect.survey import Survey
from ccmove.report.console import Printer
from ccmove.text import plural

MOST_OFFERED = 9
NONE = "0"
MISSING = run("ccmove", "list", "--missing", text="all projects whose folder is gone")


class Match(NamedTuple):
    """A project whose folder is gone, and a folder that it may be now."""

    old: str
    candidate: Candidate
    kept: str  # what there is of it

    @property
    def pair(self) -> tuple[str, str]:
        return self.old, self.candidate.path

    @property
    def why(self) -> str:
        doubt = "possible: " if self.is_by_name else ""
        against = "".join(f", but {reason}" for reason in self.candidate.against)
        return f"{doubt}{self.candidate.evidence[0]}{against}"

    @property
    def is_by_name(self) -> bool:
        return self.candidate.basis is Basis.NAME

    @property
    def level(self) -> tuple[int, bool, tuple[int, bool]]:
        """To compare by, the lower the better:
        what it is counts for more than what it was.
        """
        place = self.candidate
        return place.basis, place.evidence == [SAME_PLACE], place.rank

    def order(self) -> tuple[object, ...]:
        return self.level, *self.pair


def find_pair(call: Call, asked: MoveOptions) -> tuple[str, str]:
    """OLD and NEW, of which one was typed;
    what is in doubt is asked about, or refused.
    """
    (typed,) = asked.arguments
    if not typed.strip():  # as a path it would mean the current folder
        raise UsageError("PATH is empty (an unset variable?)", paths.USUAL)
    bar = call.progress()
    survey = Survey(call.find_layout(), bar)
    is_new = os.path.isdir(typed)
    if is_new:
        matches = _of_new(survey, os.path.realpath(typed))
    else:
        matches = _of_old(survey, typed)
    bar.close()
    first, *others = sorted(matches, key=Match.order)
    rivals = [match for match in others if match.level == first.level]
    offered = [first, *rivals][:MOST_OFFERED]
    is_accepted = asked.dry_run or (asked.yes and not first.is_by_name)
    screen = call.printer.on_stderr()
    if is_accepted and not rivals:
        other = first.pair[0 if is_new else 1]
        screen.say([("", f"Found {other} ({first.why})")])
        return first.pair
    if call.printer.as_json or not _has_terminal():
        what = f"{typed}: can't ask for the other path without a terminal; give both"
        raise RefusedError(
            what,
            *(ask(replace(asked, arguments=each.pair), each.why) for each in offered),
        )
    if rivals:
        return _ask_which(offered, is_new, screen)
    return _ask_whether(first, is_new)


def _has_terminal() -> bool:
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def _ask_whether(match: Match, is_new: bool) -> tuple[str, str]:
    """The only match; RefusedError when it is not meant."""
    old, new = match.pair
    where = f"from {old}" if is_new else f"to {new}"
    question = f"Move {match.kept} {where} ({match.why})?"
    if not confirm(question, default=not match.is_by_name):
        raise RefusedError("nothing was changed", MISSING)
    return match.pair


def _ask_which(matches: list[Match], is_new: bool, screen: Printer) -> tuple[str, str]:
    """The one that is meant; RefusedError when it is none."""
    old, new = matches[0].pair
    question = f"Which project was {new} before?" if is_new else f"Where is {old} now?"
    screen.lines([[("bold", question)]])
    for number, match in enumerate(matches, 1):
        path = match.pair[0 if is_new else 1]
        about = f"{path} ({match.kept}; {match.why})"
        screen.lines([[("", f"  {number}  "), ("", about)]])
    numbers = click.Choice([str(number) for number in range(len(matches) + 1)])

    def check(typed: str) -> str:
        return numbers.convert(typed, None, None)

    number = int(prompt("Number, 0 for none", default=NONE, check=check) or NONE)
    if number == 0:
        raise RefusedError("nothing was changed", MISSING)
    return matches[number - 1].pair


def _of_new(survey: Survey, new: str) -> list[Match]:
    """The projects that may have been at `new` before
    and are at no better place now.
    """
    finder = Finder(survey, named=new)
    sessions = 0
    if new in survey.by_path:
        sessions = survey.by_path[new].sessions
    olds = {nearest_folder(path)[1] for path in finder.lost}
    olds.update(finder.lost)
    matches = []
    for old in olds:
        places = finder.candidates(old)
        best = min((place.rank[0] for place in places), default=0)
        for place in places:
            is_weak = sessions and place.basis is Basis.NAME and place.against
            if place.path == new and place.rank[0] == best and not is_weak:
                matches.append(Match(old, place, _kept(finder, old)))
    if matches:
        return matches
    if sessions:
        raise NothingKnownError(
            f"{new} is in place: Claude Code has {plural(sessions, 'session')} for "
            "it, and no project whose folder is gone matches it",
            MISSING,
        )
    gone = plural(len(finder.lost), "project")
    search = DoctorOptions(search=(new,))
    raise NothingKnownError(
        f"no project whose folder is gone matches {new}; compared it with {gone}",
        MISSING,
        ask(search, "to look for lost projects inside it"),
    )


def _of_old(survey: Survey, typed: str) -> list[Match]:
    """Where the project that was at a path may be now."""
    finder = Finder(survey)
    known = paths.find_subject(typed, [*finder.lost, *survey.former], survey.by_path)
    olds = sorted(known)
    for spelling in (os.path.abspath(typed), os.path.realpath(typed)):
        if paths.at_or_below(spelling, known):
            olds = [spelling]
    matches = []
    for old in olds:
        if not finder.at_or_below(old):
            new = next(iter(survey.former[old]))
            raise NothingKnownError(
                f"{old} was moved to {new}: its data is in place", MISSING
            )
        kept = _kept(finder, old)
        matches += [Match(old, place, kept) for place in finder.candidates(old)]
    if matches:
        return matches
    further = DoctorOptions(search=(str(survey.layout.home),), arguments=(olds[0],))
    raise NothingKnownError(
        f"{olds[0]} is gone, and no folder was found that could be it",
        ask(further, "to look further"),
        details=[f"looked in {folder}" for folder in finder.looked_in[:MOST_OFFERED]],
    )


def _kept(finder: Finder, old: str) -> str:
    projects = finder.at_or_below(old)
    sessions = sum(project.sessions for project in projects)
    return plural(sessions, "session") if sessions else described(projects[0])
