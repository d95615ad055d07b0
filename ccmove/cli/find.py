"""`ccmove PATH`: one path is enough. The other one is found by evidence, and asked about once."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

import click

from ccmove.cli import resolve
from ccmove.cli.boundary import Call
from ccmove.errors import Hint, NothingKnownError, RefusedError, UsageError, run
from ccmove.inspect.findings import Basis, Candidate
from ccmove.inspect.lost import SAME_PLACE, Finder, described, nearest_folder
from ccmove.inspect.survey import Survey, look
from ccmove.report.console import at_home
from ccmove.text import plural, printable

MOST_OFFERED = 9
MISSING = run("ccmove", "list", "--missing", text="all projects whose folder is gone")


class Match(NamedTuple):
    """A project whose folder is gone, and a folder that it may be now."""

    old: str
    new: str
    what: str  # is kept for it
    candidate: Candidate

    @property
    def why(self) -> str:
        """The best of the evidence, and what speaks against it."""
        doubt = "possible: " if self.candidate.basis is Basis.NAME else ""
        against = "".join(f", but {reason}" for reason in self.candidate.against)
        return f"{doubt}{self.candidate.evidence[0]}{against}"

    def is_equal(self, other: Match) -> bool:
        """Whether neither of the two has more for it than the other."""
        one, two = self.candidate, other.candidate
        return one.basis == two.basis and (self.new == other.new or one.rank[0] == two.rank[0])


def find_pair(call: Call, typed: str, *, yes: bool, dry_run: bool) -> resolve.Pair:
    """OLD and NEW, of which one was typed; what is in doubt is asked about, or refused."""
    if not typed.strip():  # as a path it would mean the current folder
        raise UsageError("PATH is empty (an unset variable?)", resolve.USUAL)
    bar = call.progress()
    survey = look(call.find_layout(), bar)
    is_new = os.path.isdir(typed)
    found = _matches_of_new(survey, os.path.realpath(typed)) if is_new else _of_old(survey, typed)
    bar.close()
    best = [match for match in found if match.is_equal(found[0])]
    chosen = best[0]
    is_offered = yes and chosen.candidate.basis is not Basis.NAME
    if len(best) == 1 and (is_offered or dry_run):
        if not call.printer.quiet and not call.printer.as_json:
            _say(f"Found {chosen.old if is_new else chosen.new} ({chosen.why})")
    elif call.printer.as_json or not _somebody_is_there():
        raise _undecided(call, typed, best)
    elif len(best) == 1:
        _ask(chosen, is_new)
    else:
        chosen = _ask_which(best, is_new)
    call.argv = _words(call, typed, chosen)  # so that every hint from here on names both
    return resolve.resolve_pair(chosen.old, chosen.new)


# -- evidence --------------------------------------------------------------------------------------


def _matches_of_new(survey: Survey, new: str) -> list[Match]:
    """The projects that may have been at `new` before, the best first."""
    finder = Finder(survey, named=new)
    known = survey.by_path.get(new)
    sessions = known.sessions if known is not None else 0
    found = []
    for old in {*finder.lost, *(nearest_folder(path)[1] for path in finder.lost)}:
        places = finder.homes[old] if old in finder.homes else finder.candidates(old)
        candidate = next((place for place in places if place.path == new), None)
        if candidate is None or any(place.rank[0] < candidate.rank[0] for place in places):
            continue
        if not (sessions and candidate.basis is Basis.NAME and candidate.against):
            found.append(Match(old, new, _kept(finder, old), candidate))
    found = [match for match in found if match.candidate.evidence != [SAME_PLACE]] or found
    if found:
        # The folder was named by somebody, so what it is counts for more than what it was.
        return sorted(found, key=lambda m: (m.candidate.basis, m.candidate.rank, m.old))
    gone = plural(len(finder.lost), "project")
    search = run("ccmove", "doctor", "--search", new, text="look elsewhere with --search DIR")
    if sessions:
        what = f"{new} is in place: Claude Code has {plural(sessions, 'session')} for it"
        raise NothingKnownError(
            f"{what}, and nothing says that it had another path before", MISSING
        )
    raise NothingKnownError(
        f"found no project that may have been {new} before; looked at {gone} whose folder is gone",
        "if you know the old path: ccmove OLD NEW",
        *((MISSING, search) if finder.lost else ()),
    )


def _of_old(survey: Survey, typed: str) -> list[Match]:
    """Where the project that was at a path may be now, the best first."""
    finder = Finder(survey)
    names = [*finder.lost, *survey.former]
    known = resolve.find_subject(typed, names, survey.by_path)
    spelled = (os.path.realpath(typed), os.path.abspath(typed))
    olds = [path for path in spelled if resolve.at_or_below([path], known)][:1] or sorted(known)
    found = []
    for old in olds:
        if not finder.at_or_below(old):
            new = next(iter(survey.former[old]))
            raise NothingKnownError(f"{old} was moved to {new}: its data is in place", MISSING)
        places = finder.homes[old] if old in finder.homes else finder.candidates(old)
        found += [Match(old, place.path, _kept(finder, old), place) for place in places]
    if found:
        return sorted(found, key=lambda match: (match.candidate.rank, match.new))
    home = survey.layout.home
    raise NothingKnownError(
        f"{olds[0]} is gone, and no folder that may be it was found",
        run("ccmove", "doctor", "--search", home, olds[0], text="look elsewhere with --search DIR"),
        details=[f"looked in {folder}" for folder in finder.looked_in[:MOST_OFFERED]],
    )


def _kept(finder: Finder, old: str) -> str:
    projects = finder.at_or_below(old)
    sessions = sum(project.sessions for project in projects)
    return plural(sessions, "session") if sessions else described(projects[0])


# -- questions -------------------------------------------------------------------------------------


@contextlib.contextmanager
def asking() -> Iterator[None]:
    """A question is wholly on standard error; Ctrl-C ends more than the question."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # click writes a part of a prompt there
            yield
    except click.Abort as abort:
        click.echo(err=True)  # the question's line has not ended
        if isinstance(abort.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


def _say(text: str) -> None:
    click.echo(at_home(printable(text)), err=True)


def _somebody_is_there() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def _ask(match: Match, is_new: bool) -> None:
    where = f"from {match.old}" if is_new else f"to {match.new}"
    question = at_home(printable(f"Move {match.what} {where} ({match.why})?"))
    with contextlib.suppress(click.Abort), asking():
        if click.confirm(question, default=match.candidate.basis is not Basis.NAME, err=True):
            return
    raise _declined()


def _ask_which(matches: list[Match], is_new: bool) -> Match:
    _say("Which one?")
    for number, match in enumerate(matches[:MOST_OFFERED], 1):
        _say(f"  {number}  {match.old if is_new else match.new} ({match.what}; {match.why})")
    numbers = click.IntRange(0, min(len(matches), MOST_OFFERED))
    with contextlib.suppress(click.Abort), asking():
        if number := click.prompt("Number, 0 for none", type=numbers, default=0, err=True):
            return matches[number - 1]
    raise _declined()


def _declined() -> RefusedError:
    return RefusedError("nothing was changed", MISSING)


def _undecided(call: Call, typed: str, matches: list[Match]) -> RefusedError:
    """Nobody can be asked, so every answer is a command."""
    hints = [
        Hint(match.why, ("ccmove", *_words(call, typed, match))) for match in matches[:MOST_OFFERED]
    ]
    what = f"{matches[0].old} may be {matches[0].new} now; without a terminal nobody can be asked"
    if len(matches) > 1:
        what = f"{typed}: several paths may be the other one"
    return RefusedError(what, *hints)


def _words(call: Call, typed: str, match: Match) -> list[str]:
    """What was typed, with both paths."""
    words = call.argv[::-1]
    at = words.index(typed)
    words[at : at + 1] = [match.new, match.old]
    return words[::-1]
