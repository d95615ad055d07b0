"""`ccmove PATH`: one path is enough. The other one is found by evidence,
and asked about once.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import click

from ccmove.cli.boundary import Call
from ccmove.commands import paths
from ccmove.errors import (
    CommandLine,
    Hint,
    NothingKnownError,
    RefusedError,
    UsageError,
    run,
)
from ccmove.inspect.lost import Basis, Candidate, Finder, described, nearest_folder
from ccmove.inspect.survey import Survey
from ccmove.report.console import Printer, at_home
from ccmove.rewrite.pathmap import tail_below
from ccmove.text import plural, printable

MOST_OFFERED = 9
MISSING = run("ccmove", "list", "--missing", text="all projects whose folder is gone")


class Match(NamedTuple):
    """A project whose folder is gone, and a folder that it may be now."""

    old: str
    candidate: Candidate
    kept: str  # what there is of it

    @property
    def why(self) -> str:
        doubt = "possible: " if self.candidate.is_by_name else ""
        against = "".join(f", but {reason}" for reason in self.candidate.against)
        return f"{doubt}{self.candidate.evidence[0]}{against}"

    @property
    def level(self) -> tuple[Basis, tuple[int, bool]]:
        """To compare by, the lower the better:
        what it is counts for more than what it was.
        """
        return self.candidate.basis, self.candidate.rank


def find_pair(call: Call, typed: str, *, yes: bool, dry_run: bool) -> paths.Pair:
    """OLD and NEW, of which one was typed;
    what is in doubt is asked about, or refused.
    """
    if not typed.strip():  # as a path it would mean the current folder
        raise UsageError("PATH is empty (an unset variable?)", paths.USUAL)
    bar = call.progress()
    survey = Survey(call.find_layout(), bar)
    new = os.path.realpath(typed) if os.path.isdir(typed) else None
    found = _of_old(survey, typed) if new is None else _of_new(survey, new)
    bar.close()
    found.sort(key=lambda match: (match.level, match.old, match.candidate.path))
    chosen = found[0]
    matches = [match for match in found if match.level == chosen.level][:MOST_OFFERED]
    if len(matches) == 1 and (dry_run or (yes and not chosen.candidate.is_by_name)):
        what = f"Found {_other(chosen, new)} ({chosen.why})"
        call.printer.on_stderr().say([("", what)])
    elif call.printer.as_json or not all(
        s and s.isatty() for s in (sys.stdin, sys.stderr)
    ):
        what = f"{typed}: can't ask for the other path without a terminal; give both"
        hints = [
            Hint(match.why, ("ccmove", *_with_both(call, match).to_argv()))
            for match in matches
        ]
        raise RefusedError(what, *hints)
    else:
        chosen = _ask(matches, new, call.printer.on_stderr())
    call.line = _with_both(call, chosen)  # every hint from here on names both
    return paths.resolve_pair(chosen.old, chosen.candidate.path)


def _with_both(call: Call, match: Match) -> CommandLine:
    typed = call.line or CommandLine()
    return replace(typed, arguments=(match.old, match.candidate.path))


def _other(match: Match, new: str | None) -> str:
    """The path that was not typed; both where the move is of something inside NEW."""
    if new is None:
        return match.candidate.path
    if new == match.candidate.path:
        return match.old
    return f"{match.old} to {match.candidate.path}"


def _ask(matches: list[Match], new: str | None, printer: Printer) -> Match:
    """The one that is meant; RefusedError when it is none."""
    others = [_other(match, new) for match in matches]
    first = matches[0]
    if len(matches) == 1:
        where = f"{'to' if new is None else 'from'} {others[0]}"
        question = f"Move {first.kept} {where} ({first.why})?"
        is_usual = not first.candidate.is_by_name
        chosen: int | None = answered(click.confirm, question, default=is_usual)
    else:
        asked = f"Where is {first.old} now?"
        if new is not None:
            asked = f"Which project was {new} before?"
        printer.lines([[("bold", asked)]])
        for number, (path, match) in enumerate(zip(others, matches, strict=True), 1):
            printer.lines(
                [[("", f"  {number}  "), ("", f"{path} ({match.kept}; {match.why})")]]
            )
        numbers = click.Choice([str(number) for number in range(len(matches) + 1)])
        how = {"type": numbers, "show_choices": False, "default": "0"}
        chosen = int(answered(click.prompt, "Number, 0 for none", **how) or 0)
    if not chosen:
        raise RefusedError("nothing was changed", MISSING)
    return matches[chosen - 1]


def answered(ask: Callable[..., Any], question: str, **how: object) -> Any:
    """What click is answered, on standard error alone;
    None at a closed input, Ctrl-C is raised.
    """
    if sys.stdin is None:  # closed by whoever started us
        return None
    room = shutil.get_terminal_size().columns - len(" [Y/n]: ")
    rows = click.wrap_text(
        at_home(printable(question)), max(room, 1), preserve_paragraphs=True
    )
    try:
        with contextlib.redirect_stdout(
            sys.stderr
        ):  # click writes a part of a prompt there
            return ask(rows, err=True, **how)
    except click.Abort as abort:
        click.echo(err=True)  # the question's line has not ended
        if isinstance(abort.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        return None


def _of_new(survey: Survey, new: str) -> list[Match]:
    """The projects that may have been at `new` before and are at no better place now.

    One that was inside another is there by the same relative name: by its own move only
    where the other's move does not bring it.
    """
    finder, known = Finder(survey, named=new), survey.by_path.get(new)
    sessions = known.sessions if known is not None else 0
    found = []
    for old in {*finder.lost, *(nearest_folder(path)[1] for path in finder.lost)}:
        _, outer = nearest_folder(old)
        inside = new + old[len(outer) :]
        places = finder.candidates(old)
        for place in places:
            is_weak = sessions and place.is_by_name and place.against
            is_best = all(place.rank[0] <= other.rank[0] for other in places)
            if place.path in (new, inside) and is_best and not is_weak:
                found.append(Match(old, place, _kept(finder, old)))
    if found:
        return [match for match in found if not _comes_along(match, found)]
    if sessions:
        what = (
            f"{new} is in place: Claude Code has {plural(sessions, 'session')} for it"
        )
        raise NothingKnownError(
            f"{what}, and no project whose folder is gone matches it", MISSING
        )
    gone = plural(len(finder.lost), "project")
    raise NothingKnownError(
        f"no project whose folder is gone matches {new}; compared it with {gone}",
        MISSING,
        run(
            "ccmove",
            "doctor",
            "--search",
            new,
            text="to look for lost projects inside it",
        ),
    )


def _comes_along(match: Match, matches: list[Match]) -> bool:
    """Whether the move of a folder around it, as well founded, brings it there, too."""
    for other in matches:
        below = tail_below(match.old, other.old)
        brought = below and other.candidate.path + below == match.candidate.path
        if brought and other.candidate.basis <= match.candidate.basis:
            return True
    return False


def _of_old(survey: Survey, typed: str) -> list[Match]:
    """Where the project that was at a path may be now."""
    finder = Finder(survey)
    known = paths.find_subject(typed, [*finder.lost, *survey.former], survey.by_path)
    spelled = (os.path.realpath(typed), os.path.abspath(typed))
    olds = [path for path in spelled if paths.at_or_below([path], known)][:1] or sorted(
        known
    )
    found = []
    for old in olds:
        if not finder.at_or_below(old):
            new = next(iter(survey.former[old]))
            raise NothingKnownError(
                f"{old} was moved to {new}: its data is in place", MISSING
            )
        found += [
            Match(old, place, _kept(finder, old)) for place in finder.candidates(old)
        ]
    if found:
        return found
    raise NothingKnownError(
        f"{olds[0]} is gone, and no folder was found that could be it",
        run(
            "ccmove",
            "doctor",
            "--search",
            survey.layout.home,
            olds[0],
            text="to look further",
        ),
        details=[f"looked in {folder}" for folder in finder.looked_in[:MOST_OFFERED]],
    )


def _kept(finder: Finder, old: str) -> str:
    projects = finder.at_or_below(old)
    sessions = sum(project.sessions for project in projects)
    return plural(sessions, "session") if sessions else described(projects[0])
