"""`ccmove PATH`: one path is enough. The other one is found by evidence,
and asked about once.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import click

from ccmove.cli.boundary import Call
from ccmove.cli.questions import confirm, prompt
from ccmove.commands import paths
from ccmove.commands.move import move, pairs_of
from ccmove.commands.options import DoctorOptions, MoveOptions
from ccmove.errors import NothingKnownError, RefusedError
from ccmove.hints import ask, to_type
from ccmove.inspect.lost import Candidate, Finder, described, nearest_folder
from ccmove.inspect.survey import Survey
from ccmove.report.console import Printer
from ccmove.rewrite.pathmap import tail_below
from ccmove.text import plural

MOST_OFFERED = 9
NONE = "0"
MISSING = to_type(
    "ccmove", "list", "--missing", text="all projects whose folder is gone"
)


class Match(NamedTuple):
    """A project whose folder is gone, and a folder that it may be now."""

    old: str
    candidate: Candidate
    kept: str  # what there is of it

    def of(self, asked: MoveOptions) -> MoveOptions:
        """What was asked, with both paths."""
        return replace(asked, arguments=(self.old, self.candidate.path))

    @property
    def why(self) -> str:
        doubt = ""
        if self.candidate.is_by_name:
            doubt = "possible: "
        against = "".join(f", but {reason}" for reason in self.candidate.against)
        return f"{doubt}{self.candidate.evidence[0]}{against}"

    @property
    def level(self) -> tuple[object, ...]:
        """To compare by, the lower the better:
        what it is counts for more than what it was.
        """
        return self.candidate.basis, self.candidate.rank

    def order(self) -> tuple[object, ...]:
        return self.level, self.old, self.candidate.path

    def other(self, new: str | None) -> str:
        """The path that was not typed; both where it is of something inside NEW."""
        if new is None:
            return self.candidate.path
        if new == self.candidate.path:
            return self.old
        return f"{self.old} to {self.candidate.path}"


def find_pair(call: Call, asked: MoveOptions) -> MoveOptions:
    """With OLD and NEW, of which one was typed; what is in doubt is asked about, or
    refused.
    """
    (typed,) = asked.arguments
    paths.refuse_odd("PATH", typed)
    bar = call.progress()
    survey = Survey(call.find_layout(), bar)
    new = None
    if os.path.isdir(typed):
        new = os.path.realpath(typed)
        matches = _of_new(survey, new)
    else:
        matches = _of_old(survey, asked)
    bar.close()
    matches.sort(key=Match.order)
    level = matches[0].level
    best = [match for match in matches if match.level == level]
    choice = _choose(call, asked, best[:MOST_OFFERED], new)
    asked = choice.of(asked)
    call.asked = asked
    return asked


def _choose(
    call: Call, asked: MoveOptions, best: list[Match], new: str | None
) -> Match:
    """The only one, where that is accepted, else the one that is meant.

    A preview needs no question, --yes answers it unless the name is all there is.
    """
    first = best[0]
    screen = call.printer.on_stderr()
    is_accepted = asked.yes and not first.candidate.is_by_name
    if len(best) == 1 and (asked.dry_run or is_accepted):
        screen.say([f"Found {first.other(new)} ({first.why})"])
        return first
    if call.printer.as_json or not _has_terminal():
        (typed,) = asked.arguments
        hints = []
        for match in best:
            both = match.of(asked)
            hints.append(ask(both, match.why))
        what = f"{typed}: can't ask for the other path without a terminal; give both"
        raise RefusedError(what, *hints)
    folders = [first.old, first.candidate.path]
    if len(best) > 1:
        folders = [new or first.old]
    layout = call.find_layout()
    if not asked.dry_run:  # which tells it with its plan
        paths.refuse_live(layout, folders, asked)
    if len(best) == 1:  # what would refuse the move refuses before the question
        call.asked = first.of(asked)
        preview = replace(call.asked, dry_run=True)
        move(layout, pairs_of(preview), preview)
    return _ask(best, new, screen)


def _has_terminal() -> bool:
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def _ask(matches: list[Match], new: str | None, screen: Printer) -> Match:
    """The one that is meant; RefusedError when it is none."""
    if len(matches) == 1:
        (match,) = matches
        where = f"to {match.other(new)}"
        if new is not None:
            where = f"from {match.other(new)}"
        question = f"Move {match.kept} {where} ({match.why})?"
        is_usual = not match.candidate.is_by_name
        number = int(confirm(question, default=is_usual))
    else:
        question = f"Where is {matches[0].old} now?"
        if new is not None:
            question = f"Which project was {new} before?"
        screen.lines([[("bold", question)]])
        for number, match in enumerate(matches, 1):
            about = f"{match.other(new)} ({match.kept}; {match.why})"
            screen.lines([[f"  {number}  ", about]])
        offered = range(len(matches) + 1)
        numbers = click.Choice([str(number) for number in offered])
        check = partial(numbers.convert, param=None, ctx=None)
        answer = prompt("Number, 0 for none", default=NONE, check=check)
        number = int(answer or NONE)
    if number == 0:
        raise RefusedError("nothing was changed", MISSING)
    return matches[number - 1]


def _of_new(survey: Survey, new: str) -> list[Match]:
    """The projects that may have been at `new` before and are at no better place now.

    One that was inside another is there by the same relative name: by its own move only
    where the other's move does not bring it.
    """
    finder = Finder(survey, named_folder=new)
    sessions = 0
    if new in survey.by_path:
        sessions = survey.by_path[new].sessions
    matches = []
    olds = set(finder.lost)
    for path in finder.lost:
        _, outermost = nearest_folder(path)
        olds.add(outermost)
    for old in olds:
        for candidate in _best_at(finder, old, new):
            is_weak = sessions and candidate.is_by_name and candidate.against
            if not is_weak:
                matches.append(_match(finder, old, candidate))
    if matches:
        return [match for match in matches if not _comes_along(match, matches)]
    if sessions:
        has = f"Claude Code has {plural(sessions, 'session')} for it"
        what = f"{new} is in place: {has}, and no project whose folder is gone matches"
        raise NothingKnownError(f"{what} it", MISSING)
    gone = plural(len(finder.lost), "project")
    search = DoctorOptions(search=(new,))
    raise NothingKnownError(
        f"no project whose folder is gone matches {new}; compared it with {gone}",
        MISSING,
        ask(search, "to look for lost projects inside it"),
    )


def _best_at(finder: Finder, old: str, new: str) -> Iterator[Candidate]:
    """The best places for what was at `old`, as far as they are `new` or as deep
    inside it as that was in what is gone.
    """
    _, outer = nearest_folder(old)
    tail = old.removeprefix(outer)
    candidates = finder.candidates(old)
    for candidate in candidates:
        if candidate.confidence != candidates[0].confidence:
            break
        if candidate.path in (new, new + tail):
            yield candidate


def _comes_along(match: Match, matches: list[Match]) -> bool:
    """Whether the move of a folder around it, as well founded, brings it there, too."""
    for other in matches:
        below = tail_below(match.old, other.old)
        brought = below and other.candidate.path + below == match.candidate.path
        if brought and other.candidate.basis <= match.candidate.basis:
            return True
    return False


def _of_old(survey: Survey, asked: MoveOptions) -> list[Match]:
    """Where the project that was at a path may be now."""
    (typed,) = asked.arguments
    finder = Finder(survey)
    gone = [*finder.lost, *survey.former]
    layout = survey.layout
    subjects = paths.find_subject(layout, asked, typed, gone, survey.by_path)
    olds = sorted(subjects)
    spellings = (os.path.abspath(typed), os.path.realpath(typed))
    for spelling in spellings:
        if paths.at_or_below(spelling, subjects):
            olds = [spelling]
    matches: list[Match] = []
    for old in olds:
        if not finder.at_or_below(old):
            moved = min(paths.at_or_below(old, survey.former))
            new = next(iter(survey.former[moved]))
            what = f"{moved} was moved to {new}: its data is in place"
            raise NothingKnownError(what, MISSING)
        for candidate in finder.candidates(old):
            match = _match(finder, old, candidate)
            matches.append(match)
    if matches:
        return matches
    further = DoctorOptions(search=(str(layout.home),), arguments=(olds[0],))
    looked_in = list(finder.around.depths)[:MOST_OFFERED]
    raise NothingKnownError(
        f"{olds[0]} is gone, and no folder was found that could be it",
        ask(further, "to look further"),
        details=[f"looked in {folder}" for folder in looked_in],
    )


def _match(finder: Finder, old: str, candidate: Candidate) -> Match:
    projects = finder.at_or_below(old)
    sessions = sum(project.sessions for project in projects)
    kept = described(projects[0])
    if sessions:
        kept = plural(sessions, "session")
    return Match(old, candidate, kept)
