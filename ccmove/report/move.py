"""What is said about a move, an undo and a recovery. The last line counts most."""

import os
import re
from collections.abc import Iterable, Iterator, Sized
from itertools import groupby
from operator import attrgetter

from ccmove.claude.layout import are_settings
from ccmove.hints import in_words
from ccmove.inspect.mentions import NAMES
from ccmove.inspect.values import counted
from ccmove.report.belongings import Belongings
from ccmove.report.console import Line, Piece, Printer, note, paragraphs
from ccmove.report.json import to_json
from ccmove.report.result import Change, Moves, Result
from ccmove.rewrite.pathmap import fewest, tail_below
from ccmove.text import amounts, plural, readable_size, sessions_in_words

MOST_PROJECTS = 10  # before -v
FORMS = ("other", "index", "config")  # what matters most stands nearest to the end
DONE = {"rename": "renamed", "merge": "merged", "split": "split", "same": "kept"}
# The undo of an unpack, whether it is planned; as wide as what stands below it.
_TAKEN_OUT = {True: "Would take out of", False: "  Took out of"}
REMEMBERED = (
    "in {} Claude still refers to the old memory folder: run /compact there once"
)


def show_result(result: Result, printer: Printer) -> None:
    """Print one result, or what went wrong; the most important line is the last."""
    if printer.as_json:
        printer.json(to_json(result))
        return
    error = result.error
    if error is None or result.is_planned:
        printer.say(*result_lines(result, printer))
    if error is not None:
        printer.out.flush()  # the plan comes before what is in its way
        lines = _failure(result, error)
        printer.on_stderr().lines(lines)


def _failure(result: Result, error: str) -> Iterator[Line]:
    """What went wrong, in detail, and what to do next."""
    if result.rolled_back:
        yield [("good", result.rolled_back)]
    yield [("bad", "ccmove: "), error]
    for detail in result.details:
        yield [f"  {detail}"]
    for text, command in result.hints:
        line: list[Piece] = [("title", "  -> "), text]
        if text and command:
            line.append(": ")
        if command:
            line.append(("command", command))
        yield line


def result_lines(result: Result, printer: Printer) -> list[Line]:
    """The whole answer: what, how much, in detail when it is wanted, and how it
    ended.
    """
    if result.status == "recovered":
        if result.rolled_back:
            return [[("good", result.rolled_back)]]
        return [[("good", "Nothing to roll back:"), " no run was interrupted."]]
    most = None if printer.verbose else MOST_PROJECTS
    details: list[Iterator[Line]] = []
    if len(result.projects) > max(1, len(_moves_to_tell(result, most))):
        details = [_each_project(result)]
    if printer.verbose:
        why = "Why each directory is moved or left alone"
        details = [
            _directories(result),
            _section("Differences", _differences(result)),
            _section("Left alone", _left_alone(result)),
            _section(why, _reasons(result)),
        ]
    to_do = "Still to do"
    if result.is_planned:
        to_do = "Still to do afterwards"
    return paragraphs(
        _heading(result, most),
        _summary(result),
        *details,
        _section(to_do, _still_to_do(result)),
        _notes(result),
        [_how_it_ended(result, printer)],
    )


def _heading(result: Result, most: int | None) -> Iterator[Line]:
    """What was done, from where to where; of a whole home in one line."""
    if result.rolled_back:
        yield [("good", result.rolled_back)]
    if result.status == "nothing":
        return
    verb, link = _words_of(result)
    moves = _moves_to_tell(result, most)
    if moves != result.moves and not result.is_undo:
        verb += f" {plural(len(result.projects), 'project')} from"
    for old, new in moves[:most]:
        yield [("title", f"{verb}  "), old]
        yield [("dim", f"{link:>{len(verb)}}  "), ("bold", new)]
    yield from more(moves, most)


def _moves_to_tell(result: Result, most: int | None) -> Moves:
    """All of them; of a whole home that came the folders that it is in."""
    is_long = most is not None and len(result.moves) > most
    if is_long and result.is_unpack:
        return fewest(result.moves)
    return result.moves


def _words_of(result: Result) -> tuple[str, str]:
    """What was done, and what stands before the other path."""
    is_planned = result.is_planned
    if result.is_unpack and result.is_undo:
        return _TAKEN_OUT[is_planned], "unpacked from"
    verb = "Moved"
    if is_planned:
        verb = "Would move"
    if result.is_unpack:
        verb = "Unpacked"
        if is_planned:
            verb = "Would unpack"
    if result.is_of_settings:
        verb = "Rewrote settings"
        if is_planned:
            verb = "Would rewrite settings"
    if result.is_undo:
        verb += " back"
    if result.is_of_settings:
        verb += " from"
    return verb, "to"


def more(rows: Sized, most: int | None) -> Iterator[Line]:
    """How many of these there are beyond the first ones."""
    if most is not None and len(rows) > most:
        yield [f"  and {len(rows) - most} more (-v)"]


def _summary(result: Result) -> Iterator[Line]:
    """What people would have missed, in their words."""
    folders = len(result.folders)
    if folders == 1:
        yield ["  the folder itself"]
    elif folders:
        yield [f"  {plural(folders, 'folder')}"]
    sessions = total = prompts = 0
    for project in result.projects:
        sessions += project.transcripts
        total += project.size
    if result.history is not None:
        prompts = result.history.count
    words = sessions_in_words(sessions, total)
    words += amounts((prompts, "prompt"), (result.belongings.notes, "note"))
    for row in (words, _settings(result.belongings)):
        if row:
            yield [f"  {', '.join(row)}"]
    files = [change for change in result.changes if are_settings([change.file])]
    for changes in _by_document(files):
        names = map(_names, changes)
        yield [f"  {counted(names)} in {changes[0].ends}"]
    yield from _merged(result)


def _settings(belongings: Belongings) -> list[str]:
    """What is in the config file, as far as there is any of it."""
    words = ["trust"] if belongings.trusted else []
    words += amounts(
        (belongings.allowed_tools, "allowed tool"),
        (belongings.mcp_servers, "MCP server"),
        (belongings.github_links, "GitHub link"),
    )
    if belongings.others:
        words.append(f"settings of {plural(belongings.others, 'other project')}")
    if belongings.entries and not words:
        words.append("settings")
    return words


def _merged(result: Result) -> Iterator[Line]:
    verb = "Merged"
    has = "had"
    if result.is_planned:
        verb = "Would merge"
        has = "has"
    for path, number in result.merged:
        into = f" into a project that {has} {plural(number, 'session')} of its own"
        if len(result.projects) > 1:
            into += f": {path}"
        yield [("note", f"  {verb}"), into]


def _each_project(result: Result) -> Iterator[Line]:
    """A line for each of the first ten."""
    projects = result.projects[:MOST_PROJECTS]
    width = 0
    for project in projects:
        name = _short_name(project.new_path, result)
        width = max(width, len(name))
    for project in projects:
        name = _short_name(project.new_path, result)
        label = f"  {name:{width}}"
        words = sessions_in_words(project.transcripts, project.size)
        yield [("bold", label), "   ", *words]
    yield from more(result.projects, MOST_PROJECTS)


def _short_name(path: str, result: Result) -> str:
    """Of what is in the one folder that is moved: its path in there."""
    if len(result.moves) != 1:
        return path
    _, new = result.moves[0]
    tail = tail_below(path, new)
    if tail is None:
        return path
    return tail.strip("/\\") or os.path.basename(new)


def _by_document(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """The changes of each document, those that matter most last."""
    ordered = sorted(changes, key=lambda change: FORMS.index(change.form))
    for _, rows in groupby(ordered, key=attrgetter("file", "ends")):
        yield list(rows)


def _directories(result: Result) -> Iterator[Line]:
    """Each directory, from where to where."""
    for project in result.projects[:1]:
        base = os.path.dirname(project.directory)
        yield [("title", f"Project directories in {base}")]
    for project in result.projects:
        name = os.path.basename(project.directory)
        sessions = plural(project.transcripts, "session")
        about = f"{name}  {sessions}, {readable_size(project.size)}"
        done = DONE[project.kind]
        if result.is_unpack:
            done = "added"
            if result.is_undo:
                done = "removed"
        yield [f"  {done:8} ", about]
        new_name = os.path.basename(project.new_directory)
        if new_name != name:
            yield [("dim", f"  {'to':>7}  "), ("bold", new_name)]


def _differences(result: Result) -> Iterator[Line]:
    """Each document with its values, the history last."""
    for changes in _by_document(result.changes):
        yield [("bold", f"  {changes[0].file}")]
        for change in changes:
            yield from _pair(_label(change), change.before, change.after)
    history = result.history
    if history is not None:
        yield [("bold", f"  {history.file}")]
        for prompts in history.paths:
            label = f"project  {plural(prompts.count, 'line')}"
            yield from _pair(label, prompts.before, prompts.after)


def _label(change: Change) -> str:
    """The way to a value, as `projects.allowedTools.0`; of what is not JSON the
    line.
    """
    if not change.pointer.startswith("/"):
        return change.pointer
    names = _names(change)
    if change.is_key:
        return f"{'.'.join(names[:-1])} (key)"
    return ".".join(names)


def _names(change: Change) -> list[str]:
    """The names that lead to a value of a JSON document."""
    _, *names = change.pointer.split("/")
    return [name.replace("~1", "/").replace("~0", "~") for name in names]


def _pair(label: str, before: str | None, after: str | None) -> Iterator[Line]:
    """A value before and after; JSON that is spread over several lines is drawn
    together.
    """
    yield [f"    {label}"]
    for style, sign, value in (("before", "-", before), ("after", "+", after)):
        if value is not None:
            in_one_line = re.sub(r"\s*\n\s*", " ", value)
            yield [(style, f"      {sign} {in_one_line}")]


def _left_alone(result: Result) -> Iterator[Line]:
    """What does no harm, by file."""
    file = ""
    for row in sorted(result.left_alone, key=attrgetter("file")):
        if row.command:
            continue
        if row.file != file:
            yield [f"  {row.file}"]
        file = row.file
        yield [f"    {row.what}"]


def _reasons(result: Result) -> Iterator[Line]:
    for reason in result.reasons:
        directory, why = reason.split(": ", 1)
        yield [f"  {directory}"]
        yield [f"    {why}"]


def _still_to_do(result: Result) -> Iterator[Line]:
    """What needs a hand, each with its command on a line of its own."""
    for command, rows in result.to_do().items():
        for row in rows:
            joint = ": "
            if row.what.startswith(NAMES):
                joint = " "
            yield [f"  {_short_name(row.file, result)}{joint}{row.what}"]
        lead = "    "
        if result.is_planned and "--settings" in command.split():
            lead += "add --settings: "
            if _is_piped(command):
                lead = "    add --settings, and pipe the same lines into: "
        yield [lead, ("command", command)]


def _notes(result: Result) -> Iterator[Line]:
    yield from map(note, result.warnings)
    if result.remembering and result.belongings.notes:
        sessions = plural(result.remembering, "session")
        yield note(REMEMBERED.format(sessions))


def _how_it_ended(result: Result, printer: Printer) -> Line:
    """With the way back: an undo is not undone, the move is made again."""
    if result.error is not None:
        return nothing_changed(None)
    if result.is_planned:
        return nothing_changed(result.apply)
    if result.backup is None:
        nothing = "Nothing had to be changed."
        if result.is_unpack:
            nothing = "Everything is here already."
        return [("good", nothing)]
    done = ("good", "Done and verified.")
    if result.is_undo or result.is_undone:
        if result.is_undone:
            done = ("title", "Undone since.")
        text, command = in_words(result.move_again, config_dir=printer.config_dir)
        return [done, f" {text[:1].upper()}{text[1:]}: ", ("command", command)]
    words = ["undo"] if result.is_newest else ["undo", result.backup]
    return [done, " To undo: ", printer.command(*words)]


def nothing_changed(apply: str | None) -> Line:
    """With the command that does it; what was piped in has to be piped in again."""
    line: list[Piece] = [("title", "Nothing was changed.")]
    if apply:
        how = " To apply: "
        if _is_piped(apply):
            how = " To apply, pipe the same lines into: "
        line += [how, ("command", apply)]
    return line


def _is_piped(command: str) -> bool:
    return command.endswith(" --from-file -")


def _section(title: str, lines: Iterable[Line]) -> Iterator[Line]:
    """With a title above the first line, if there is one."""
    for number, line in enumerate(lines):
        if number == 0:
            yield [("title", title)]
        yield line
