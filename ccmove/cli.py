"""The command line: arguments in, one result out. The only module with click."""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Callable
from typing import Any

import click

from ccmove import TESTED_WITH, __version__, typed
from ccmove.errors import UsageError
from ccmove.session import (
    DEBUG,
    InterruptedRunError,
    Session,
    bug,
    fail,
    give_up_on_stdout,
    unprinted,
)

VALUE_OPTIONS = {"--config-dir", "--from-file", "--verify", "--on-conflict"}


class Commands(click.Group):
    """`ccmove OLD NEW` is `ccmove move OLD NEW`; common options may stand before the command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self.with_command(args))

    def with_command(self, args: list[str]) -> list[str]:
        """The command's name brought to the front, `move` when there is none."""
        if not args or args[0] in ("-h", "--help", "--version"):
            return args or ["--help"]
        position = self._first_word(args)
        if position is not None and args[position] in self.commands:
            return [args[position], *args[:position], *args[position + 1 :]]
        return ["move", *args]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from ccmove.helptext import Help

        ordered = [self.commands[name] for name in self.list_commands(ctx)]
        Help(self.commands["move"], ordered).write(ctx, formatter, COMMON)

    @staticmethod
    def _first_word(args: list[str]) -> int | None:
        position = 0
        while position < len(args):
            word = args[position]
            if word == "--":
                return None
            if not word.startswith("-") or word == "-":
                return position
            position += 2 if word in VALUE_OPTIONS else 1
        return None


def common(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command has."""
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Say more, and why."),
        click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option("--config-dir", metavar="DIR", help="Instead of ~/.claude."),
    ):
        function = option(function)
    return function


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


COMMON = {"verbose", "quiet", "as_json", "config_dir"}
VERSION = f"%(prog)s %(version)s\ntested with Claude Code {', '.join(TESTED_WITH)}"


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="ccmove", message=VERSION)
def app() -> None:
    """Bring along what Claude Code knows about a project when its folder was renamed or moved."""


@app.command()
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option("-n", "--dry-run", is_flag=True, help="Show the plan; change nothing.")
@click.option("-m", "--move-folder", is_flag=True, help="Rename the folder itself too.")
@click.option("--only", is_flag=True, help="Leave projects nested below OLD where they are.")
@click.option("--from-file", metavar="FILE", help="Lines OLD<TAB>NEW, all in one go (- is stdin).")
@click.option(
    "--verify",
    type=click.Choice(["quick", "full"]),
    default="quick",
    help="full: hash every moved file.",
)
@click.option(
    "--on-conflict",
    type=click.Choice(["refuse", "keep-new", "keep-old"]),
    default="refuse",
    help="Two different files of one name meet.",
)
@click.option(
    "--project-files",
    is_flag=True,
    help="Also rewrite NEW/.claude/settings*.json and NEW/.mcp.json.",
)
@click.option("--desktop", is_flag=True, help="Also rewrite the desktop app's sessions.")
@click.option("--allow-live", is_flag=True, help="Go on although a session is running there.")
@click.option("--skip-path-check", is_flag=True, help="Do not ask that OLD is gone and NEW exists.")
@common
def move(old: str | None, new: str | None, **options: Any) -> int:
    """Move a project's Claude Code state from OLD to NEW."""
    from ccmove.commands.move import MoveOptions, read_pairs
    from ccmove.commands.move import move as do_move
    from ccmove.layout import find_layout
    from ccmove.resolve import resolve_pair

    def work(session: Session) -> Any:
        if options["from_file"]:
            if old is not None:
                raise UsageError(
                    "--from-file takes the place of OLD and NEW",
                    f"ccmove --from-file {shlex.quote(options['from_file'])}",
                )
            pairs = read_pairs(_read_text(options["from_file"]), options["from_file"])
        elif old is None or new is None:
            raise UsageError("two paths are needed: OLD and NEW", _one_word(old))
        else:
            pairs = [resolve_pair(old, new)]
        session.moves = tuple(pair.real for pair in pairs)
        session.layout = find_layout(options["config_dir"], os.environ)
        chosen = MoveOptions(
            full=options["verify"] == "full",
            **{name: options[name] for name in MOVE_FLAGS},
        )
        return do_move(session.layout, pairs, chosen, session.progress())

    return Session(options).run(work)


MOVE_FLAGS = (
    "dry_run", "only", "on_conflict", "project_files", "desktop",
    "move_folder", "allow_live", "skip_path_check",
)  # fmt: skip


def _one_word(word: str | None) -> str:
    """What to type instead of a single word: perhaps it is a command, misspelled."""
    import difflib

    meant = difflib.get_close_matches(word or "", sorted(app.commands), n=1)
    return f"did you mean: ccmove {meant[0]}" if meant else "ccmove OLD NEW"


def _read_text(name: str) -> str:
    if name == "-":
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    with open(name, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


@app.command()
@click.argument("identifier", metavar="[ID]", required=False)
@click.option("-n", "--dry-run", is_flag=True, help="Show the plan; change nothing.")
@click.option(
    "--verify",
    type=click.Choice(["quick", "full"]),
    default="quick",
    help="full: hash every moved file.",
)
@click.option("--allow-live", is_flag=True, help="Go on although a session is running there.")
@common
def restore(identifier: str | None, **options: Any) -> int:
    """Undo a move; without ID the newest one that was not undone yet."""
    from ccmove.commands.restore import restore as do_restore
    from ccmove.layout import find_layout

    def work(session: Session) -> Any:
        session.layout = find_layout(options["config_dir"], os.environ)
        return do_restore(
            session.layout,
            identifier,
            dry_run=options["dry_run"],
            allow_live=options["allow_live"],
            full=options["verify"] == "full",
            progress=session.progress(),
        )

    return Session(options).run(work)


@app.command()
@common
def recover(**options: Any) -> int:
    """Settle a run that was interrupted."""
    from ccmove.commands.restore import recover as do_recover
    from ccmove.layout import find_layout

    def work(session: Session) -> Any:
        session.layout = find_layout(options["config_dir"], os.environ)
        return do_recover(session.layout)

    return Session(options).run(work)


@app.command()
@click.option("--prune", is_flag=True, help="Remove old backups.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N.")
@click.option("--older-than", metavar="AGE", help="Remove only what is older, such as 30d.")
@common
def backups(prune: bool, keep: int | None, older_than: str | None, **options: Any) -> int:
    """List what can be restored."""
    from ccmove.commands import restore as commands
    from ccmove.layout import find_layout

    def work(session: Session) -> Any:
        session.layout = find_layout(options["config_dir"], os.environ)
        if prune:
            age = commands.seconds(older_than) if older_than else None
            commands.prune(session.layout, keep, age)
        elif keep is not None or older_than:
            raise UsageError(
                "--keep and --older-than go with --prune", "ccmove backups --prune --keep 10"
            )
        return commands.list_backups(session.layout)

    from ccmove.report_move import show_backups

    return Session(options).run(work, show_backups)


@app.command()
@common
def demo(**options: Any) -> int:
    """Show the whole cycle on a made-up state in a temporary directory."""
    from ccmove.commands.demo import demo as do_demo
    from ccmove.report_demo import show_demo

    return Session(options).run(lambda _: do_demo(), show_demo)


def main(args: list[str] | None = None) -> None:
    """The entry point: every way out of ccmove goes through here."""
    given = sys.argv[1:] if args is None else args
    typed.words = given
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name may not exist in the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app.main(given, prog_name="ccmove", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = fail(InterruptedRunError("interrupted; nothing was done"), as_json="--json" in given)
    except click.ClickException as error:
        code = fail(_usage(error), as_json="--json" in given)
    except OSError as error:  # of click's own output, such as --help
        give_up_on_stdout()
        unprinted(error)
        code = 1
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        code = fail(bug(error), as_json="--json" in given)
    sys.exit(code or 0)


def _usage(error: click.ClickException) -> UsageError:
    """What click says of the command line, in our own form."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "ccmove"
    message = error.format_message().rstrip(".")
    return UsageError(message[:1].lower() + message[1:], f"{command} --help")
