"""`ccmove PATH`: one path is enough. The other one is found by evidence, and asked about once."""

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from ccmove.cli import resolve
from ccmove.cli.boundary import Call
from ccmove.errors import Hint, NothingKnownError, RefusedError, UsageError, run
from ccmove.inspect.findings import Basis, Candidate
from ccmove.inspect.lost import SAME_PLACE, Finder, described, nearest_folder
from ccmove.inspect.survey import Survey
from ccmove.report.console import at_home
from ccmove.text import plural, printable

MOST_OFFERED = 9
MISSING = run("ccmove", "list", "--missing", text="all projects whose folder is gone")


class Match(NamedTuple):
    """A project whose folder is gone, and a folder that it may be now."""

    old: str
    found: str  # the one of the two that was not typed
    kept: str  # what there is of it
    candidate: Candidate

    @property
    def why(self) -> str:
        """The best of the evidence, and what speaks against it."""
        doubt = "possible: " if self.candidate.basis is Basis.NAME else ""
        against = "".join(f", but {reason}" for reason in self.candidate.against)
        return f"{doubt}{self.candidate.evidence[0]}{against}"


def find_pair(call: Call, typed: str, *, yes: bool, dry_run: bool) -> resolve.Pair:
    """OLD and NEW, of which one was typed; what is in doubt is asked about, or refused."""
    if not typed.strip():  # as a path it would mean the current folder
        raise UsageError("PATH is empty (an unset variable?)", resolve.USUAL)
    bar, printer = call.progress(), call.printer
    survey = Survey(call.find_layout(), bar)
    is_new = os.path.isdir(typed)
    matches = _of_new(survey, os.path.realpath(typed)) if is_new else _of_old(survey, typed)
    bar.close()
    best = matches[0].candidate
    matches = [
        match
        for match in matches
        if match.candidate.basis == best.basis
        and (match.candidate.path == best.path or match.candidate.rank[0] == best.rank[0])
    ][:MOST_OFFERED]
    chosen = matches[0]
    is_offered = yes and chosen.candidate.basis is not Basis.NAME
    if len(matches) == 1 and (is_offered or dry_run):
        if not printer.quiet and not printer.as_json:
            _say(f"Found {chosen.found} ({chosen.why})")
    elif printer.as_json or not all(s and s.isatty() for s in (sys.stdin, sys.stderr)):
        raise _undecided(call, typed, matches)
    else:
        chosen = _ask(matches)
    call.argv = _words(call, typed, chosen)  # so that every hint from here on names both
    return resolve.resolve_pair(chosen.old, chosen.candidate.path)


def _of_new(survey: Survey, new: str) -> list[Match]:
    """The projects that may have been at `new` before, the best first."""
    finder = Finder(survey, named=new)
    known = survey.by_path.get(new)
    sessions = known.sessions if known is not None else 0
    found = []
    for old in {*finder.lost, *(nearest_folder(path)[1] for path in finder.lost)}:
        places = finder.candidates(old)
        candidate = next((place for place in places if place.path == new), None)
        if candidate is None or any(place.rank[0] < candidate.rank[0] for place in places):
            continue
        if not (sessions and candidate.basis is Basis.NAME and candidate.against):
            found.append(Match(old, old, _kept(finder, old), candidate))
    found = [match for match in found if match.candidate.evidence != [SAME_PLACE]] or found
    if found:
        # The folder was named by somebody, so what it is counts for more than what it was.
        return sorted(found, key=lambda m: (m.candidate.basis, m.candidate.rank, m.old))
    if sessions:
        what = f"{new} is in place: Claude Code has {plural(sessions, 'session')} for it"
        raise NothingKnownError(
            f"{what}, and nothing says that it had another path before", MISSING
        )
    gone = plural(len(finder.lost), "project")
    search = run("ccmove", "doctor", "--search", new, text="look elsewhere with --search DIR")
    raise NothingKnownError(
        f"found no project that may have been {new} before; looked at {gone} whose folder is gone",
        "if you know the old path: ccmove OLD NEW",
        *((MISSING, search) if finder.lost else ()),
    )


def _of_old(survey: Survey, typed: str) -> list[Match]:
    """Where the project that was at a path may be now, the best first."""
    finder = Finder(survey)
    known = resolve.find_subject(typed, [*finder.lost, *survey.former], survey.by_path)
    spelled = (os.path.realpath(typed), os.path.abspath(typed))
    olds = [path for path in spelled if resolve.at_or_below([path], known)][:1] or sorted(known)
    found = []
    for old in olds:
        if not finder.at_or_below(old):
            new = next(iter(survey.former[old]))
            raise NothingKnownError(f"{old} was moved to {new}: its data is in place", MISSING)
        kept, places = _kept(finder, old), finder.candidates(old)
        found += [Match(old, place.path, kept, place) for place in places]
    if found:
        return sorted(found, key=lambda match: (match.candidate.rank, match.candidate.path))
    search = ("ccmove", "doctor", "--search", survey.layout.home, olds[0])
    raise NothingKnownError(
        f"{olds[0]} is gone, and no folder that may be it was found",
        run(*search, text="look elsewhere with --search DIR"),
        details=[f"looked in {folder}" for folder in finder.looked_in[:MOST_OFFERED]],
    )


def _kept(finder: Finder, old: str) -> str:
    projects = finder.at_or_below(old)
    sessions = sum(project.sessions for project in projects)
    return plural(sessions, "session") if sessions else described(projects[0])


def answered(ask: Callable[..., Any], question: str, **how: object) -> Any:
    """What click is answered, on standard error alone; None at a closed input, Ctrl-C is raised."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # click writes a part of a prompt there
            return ask(question, err=True, **how)
    except click.Abort as abort:
        click.echo(err=True)  # the question's line has not ended
        if isinstance(abort.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        return None


def _ask(matches: list[Match]) -> Match:
    """The one that is meant; RefusedError when it is none."""
    first = matches[0]
    if len(matches) == 1:
        where = "from" if first.found == first.old else "to"
        question = at_home(printable(f"Move {first.kept} {where} {first.found} ({first.why})?"))
        is_usual = first.candidate.basis is not Basis.NAME
        chosen: int | None = answered(click.confirm, question, default=is_usual)
    else:
        _say("Which one?")
        for number, match in enumerate(matches, 1):
            _say(f"  {number}  {match.found} ({match.kept}; {match.why})")
        numbers = click.IntRange(0, len(matches))
        chosen = answered(click.prompt, "Number, 0 for none", type=numbers, default=0)
    if not chosen:
        raise RefusedError("nothing was changed", MISSING)
    return matches[chosen - 1]


def _say(text: str) -> None:
    click.echo(at_home(printable(text)), err=True)


def _undecided(call: Call, typed: str, matches: list[Match]) -> RefusedError:
    """Nobody can be asked, so every answer is a command."""
    first = matches[0]
    what = f"{first.old} may be {first.candidate.path} now; without a terminal nobody can be asked"
    if len(matches) > 1:
        what = f"{typed}: several paths may be the other one"
    hints = [Hint(match.why, ("ccmove", *_words(call, typed, match))) for match in matches]
    return RefusedError(what, *hints)


def _words(call: Call, typed: str, match: Match) -> list[str]:
    """What was typed, with both paths."""
    words = call.argv[::-1]
    at = words.index(typed)
    words[at : at + 1] = [match.candidate.path, match.old]
    return words[::-1]
