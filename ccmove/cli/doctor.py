"""`ccmove doctor` and `verify`: what is wrong, and how to fix it."""

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import click

from ccmove.claude.naming import possible_names
from ccmove.cli import options
from ccmove.cli.boundary import Answer, Call, text_answer
from ccmove.cli.completion import known_projects
from ccmove.cli.options import flag
from ccmove.cli.questions import confirm, prompt
from ccmove.commands.move import move
from ccmove.commands.options import DoctorOptions, MoveOptions
from ccmove.commands.paths import Pair, at_or_below, find_subject
from ccmove.errors import RefusedError, UsageError
from ccmove.hints import Asked, ask, in_words
from ccmove.inspect.findings import Examination, Finding, examine
from ccmove.inspect.survey import Survey
from ccmove.report.console import Printer
from ccmove.report.doctor import (
    Repair,
    candidate_lines,
    show_examination,
    show_repair,
)
from ccmove.run.rollback import recover
from ccmove.text import plural, printable

Choices = list[tuple[Finding, str]]  # each with its new path
LETTERS = LEAVE, SKIP_REST, QUIT = "n", "s", "q"
HOW = "  number or path (n: leave it, s: skip the rest, q: change nothing)"
OF_ALL = ("interrupted-run", "unreadable")  # findings that concern every project
# Findings of these kinds make data inconsistent; all others are harmless.
FAILURES = {*OF_ALL, "moved-entries", "split-session", "index"}


@options.command("doctor", DoctorOptions, *options.with_details("Show all evidence."))
@options.words(metavar="[SUBJECT]...", shell_complete=known_projects)
@flag("--fix", help="Ask where each lost project is now, then move them.")
@flag("-y", "--yes", help="Don't ask; fix only what is certain.")
@flag("--plan", help="Print the moves as OLD<TAB>NEW, for --from-file.")
@click.option(
    "--search",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="Also look in DIR for folders that are gone; may be repeated.",
)
def doctor_command(call: Call, asked: DoctorOptions) -> Answer:
    """Find lost projects and stale entries, and how to fix each.

    SUBJECT is a path, a folder's name or a session's ID. Changes nothing without --fix.
    The exit code is 1 if something is wrong. For scripts `ccmove verify` tells only
    whether the data is consistent.
    """
    _check_words(asked)
    examination, _ = _examine(call, asked, asked.search)
    if asked.plan:
        lines = _plan(examination)
        if not lines:
            see = call.printer.command("doctor")
            remark = ["No move is certain or likely. See: ", see]
            call.printer.on_stderr().say(remark)
        return text_answer(lines)
    if asked.fix:
        repair = _fix(call, examination, asked)
        show = partial(show_repair, repair)
        return Answer(show, repair.exit_code)
    one_by_one = replace(asked, fix=True, quiet=False, verbose=False)
    fix = one_by_one.to_line()
    show = partial(show_examination, examination, fix=fix)
    return Answer(show, examination.exit_code)


def _check_words(asked: DoctorOptions) -> None:
    """UsageError for options that do not go together."""
    if asked.yes and not asked.fix:
        raise UsageError("--yes needs --fix", ask(replace(asked, fix=True)))
    if asked.plan and (asked.fix or asked.json):
        raise UsageError("--plan goes with neither --fix nor --json")


def _examine(
    call: Call, asked: Asked, roots: Iterable[str] | None
) -> tuple[Examination, set[str]]:
    """What is wrong with the subjects that were asked about, and all names of those;
    what concerns every project is always there.
    """
    bar = call.progress()
    survey = Survey(call.find_layout(), bar)
    examination = examine(survey, roots)
    bar.close()
    names = _names(examination, asked)
    findings = [
        finding
        for finding in examination.findings
        if finding.kind in OF_ALL or _is_about(finding, names)
    ]
    return replace(examination, findings=tuple(findings)), names


def _plan(examination: Examination) -> str:
    """The moves that are certain or likely; not what fits in no line."""
    lines = ""
    for finding in examination.findings:
        if finding.can_be_asked and finding.best is not None:
            old = finding.subject
            new = finding.best.path
            if old.isprintable() and new.isprintable():
                lines += f"{old}\t{new}\n"
    return lines


def _fix(call: Call, examination: Examination, asked: DoctorOptions) -> Repair:
    """Roll back an interrupted run, first and alone: everything else may look
    different then. Else move what is lost.
    """
    layout = examination.survey.layout
    findings = examination.findings
    for finding in findings:
        if finding.kind != "interrupted-run":
            continue
        question = f"{finding.what}. Roll it back?"
        if not asked.yes and not confirm(question, default=True):
            return Repair(layout.config_dir, findings)
        rolled_back = recover(layout, call.progress())
        look_again = ask(asked, "look again to see what else there is")
        notes = (": ".join(in_words(look_again)),)
        return Repair(layout.config_dir, recovered=rolled_back, notes=notes)
    lost = [finding for finding in findings if finding.can_be_asked]
    if not asked.yes:
        screen = call.printer.on_stderr()
        return _repair(call, examination, _ask(lost, screen))
    choices: Choices = []
    for finding in lost:
        sure = finding.sure
        if sure is not None:
            choices.append((finding, sure.path))
    return _repair(call, examination, choices)


def _repair(call: Call, examination: Examination, choices: Choices) -> Repair:
    """Make all chosen moves in one transaction;
    what would be refused is left out and named.
    """
    layout = examination.survey.layout
    subjects = {finding.subject for finding in examination.findings}
    notes, pairs = [], []
    for finding, new in choices:
        old = finding.subject
        pair = Pair(old, new, old)
        preview = MoveOptions(arguments=(old, new), dry_run=True)
        try:
            why = move(layout, [pair], preview).error
        except RefusedError as error:
            why = error.message
        if why is not None:
            notes.append(f"{why}: {call.printer.typed(old, new)}")
        else:
            pairs.append(pair)
            subjects -= at_or_below(old, subjects)
    result = None
    if pairs:
        result = move(layout, pairs, MoveOptions(), call.progress())
    left = tuple(
        finding for finding in examination.findings if finding.subject in subjects
    )
    return Repair(layout.config_dir, left, result, notes=tuple(notes))


def _ask(lost: list[Finding], screen: Printer) -> Choices:
    """Where each lost project is now;
    nothing at all unless the whole list is confirmed.
    """
    choices: Choices = []
    likely_first = sorted(lost, key=lambda finding: finding.best is None)
    for number, finding in enumerate(likely_first, 1):
        answer = _ask_where(finding, f"[{number}/{len(lost)}] ", screen)
        if answer == QUIT:
            return []
        if answer == SKIP_REST:
            break
        if answer != LEAVE:
            choices.append((finding, answer))
    if not choices:
        return []
    screen.lines([f"  {lost.subject} -> {new}"] for lost, new in choices)
    question = f"Apply {plural(len(choices), 'move')}?"
    if confirm(question, default=True):
        return choices
    return []


def _ask_where(finding: Finding, number: str, screen: Printer) -> str:
    """A folder, or one of the letters; a closed input quits."""
    most, *_ = finding.what.split(", ")  # its sessions, if there are any
    question = f"{number}{finding.subject} is gone: {most}. Where is it now?"
    screen.lines([[("bold", question)]])
    answers = {letter: letter for letter in LETTERS}
    for choice, candidate in enumerate(finding.candidates, 1):
        lines = candidate_lines(candidate, f"  {choice}  ")
        screen.lines(lines)
        answers[str(choice)] = candidate.path
    default = LEAVE
    if finding.best is not None:
        default = "1"
        answers["y"] = finding.best.path

    def check(typed: str) -> str:
        if typed in answers:
            return answers[typed]
        if typed == "y" and finding.candidates:
            raise click.UsageError("that is not certain: type a number or a path")
        path = os.path.realpath(os.path.expanduser(typed))
        if os.path.isdir(path):
            return path
        what = f"{printable(typed)} is neither a number above nor a folder"
        raise click.UsageError(what)

    return prompt(HOW, default=default, check=check) or QUIT


@options.command(
    "verify", Asked, *options.with_details("Also show what is no inconsistency.")
)
@options.one_word(metavar="[PATH]", shell_complete=known_projects)
def verify_command(call: Call, asked: Asked) -> Answer:
    """Check that Claude Code's data for PATH (default: all projects) is consistent.

    The exit code is 0 or 1, or 3 if Claude Code has no data for PATH.
    """
    examination, names = _examine(call, asked, None)
    survey = examination.survey
    projects = str(survey.layout.projects)
    failures, notes = [], []
    for finding in examination.findings:
        # What concerns every project may be about the directory of another one.
        is_in_projects = os.path.dirname(finding.subject) == projects
        is_ours = _is_about(finding, names) or not is_in_projects
        if finding.kind in FAILURES and is_ours:
            failures.append(finding)
        else:
            notes.append(finding)
    verdict = replace(
        examination,
        findings=tuple(failures),
        harmless=tuple(notes),
        verified=tuple(sorted(names.intersection(survey.by_path))),
    )
    show = partial(show_examination, verdict)
    return Answer(show, verdict.exit_code)


def _is_about(finding: Finding, names: set[str]) -> bool:
    return not names.isdisjoint((finding.subject, *finding.names))


def _names(examination: Examination, asked: Asked) -> set[str]:
    """The names of these subjects, each of which must be known: a path with all below
    it, a name, a session. With those of the projects that hold such a session, and of
    the projects' directories; without subjects, of everything.
    """
    survey = examination.survey
    paths = survey.by_path
    sessions = survey.directories_of_sessions
    known = {*paths, *survey.directories, *sessions}
    for finding in examination.findings:
        known.add(finding.subject)
        known.update(finding.names)
    names = set[str]()
    if not asked.arguments:
        names = known
    for typed in asked.arguments:
        found = find_subject(survey.layout, asked, typed, known, paths)
        names |= found
    holding = set[str]()  # directories with one of the sessions
    for session in names.intersection(sessions):
        holding.update(sessions[session])
    for path, project in paths.items():
        directories = project.directories
        if path in names or holding.intersection(directories):
            names |= {path, *directories, *possible_names(path)}
    return names
