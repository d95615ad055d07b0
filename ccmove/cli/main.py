"""The command line: arguments in, one result out. The only module with click."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from ccmove import TESTED_WITH, __version__
from ccmove.cli.boundary import Session, fail, give_up_on_stdout
from ccmove.cli.start import COMPLETE_VARIABLE
from ccmove.errors import UsageError
from ccmove.text import quote as shell_quote

SHELLS = ["bash", "zsh", "fish"]
VALUE_OPTIONS = {"--config-dir", "--from-file", "--verify", "--on-conflict", "--sort", "--search"}


class Commands(click.Group):
    """`ccmove OLD NEW` is `ccmove move OLD NEW`; common options may stand before the command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_asked = ctx.resilient_parsing and not args  # a shell completes the first word
        return super().parse_args(ctx, args if is_asked else self.with_command(args))

    def with_command(self, args: list[str]) -> list[str]:
        """The command's name brought to the front, `move` when there is none."""
        if not args or args[0] in ("-h", "--help", "--version"):
            return args or ["--help"]
        position = self._first_word(args)
        if position is not None and args[position] in self.commands:
            return [args[position], *args[:position], *args[position + 1 :]]
        return ["move", *args]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> Any:
        """The first word may be a command, or OLD or an option of a move."""
        from ccmove.cli.completion import first_word

        commands = super().shell_complete(ctx, incomplete)
        return first_word(ctx, incomplete, commands, self.commands["move"])

    def _main_shell_completion(self, *args: Any, **kwargs: Any) -> None:
        if COMPLETE_VARIABLE in os.environ:
            from ccmove.cli import completion  # noqa: F401  # its scripts take the place of click's
        super()._main_shell_completion(*args, **kwargs)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from ccmove.cli.help import Help

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


def completed_by(name: str) -> Callable[..., Any]:
    """Completion is loaded only when a shell asks for it."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> Any:
        from ccmove.cli import completion

        return getattr(completion, name)(context, incomplete)

    return complete


def common(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command has."""
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Say more, and why."),
        click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option(
            "--config-dir",
            metavar="DIR",
            help="Instead of ~/.claude.",
            shell_complete=completed_by("folders"),
        ),
    ):
        function = option(function)
    return function


def _session(options: dict[str, Any]) -> Session:
    return Session(**{name: options[name] for name in COMMON})


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


COMMON = {"verbose", "quiet", "as_json", "config_dir"}
VERSION = f"%(prog)s %(version)s\ntested with Claude Code {', '.join(TESTED_WITH)}"


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="ccmove", message=VERSION)
def app() -> None:
    """Bring along what Claude Code knows about a project when its folder was renamed or moved."""


@app.command()
@click.argument("old", required=False, shell_complete=completed_by("known_projects"))
@click.argument("new", required=False, shell_complete=completed_by("folders"))
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
    from ccmove.cli.move import MoveOptions, read_pairs
    from ccmove.cli.resolve import resolve_pair

    def work(session: Session) -> Any:
        if options["from_file"]:
            if old is not None:
                raise UsageError(
                    "--from-file takes the place of OLD and NEW",
                    f"ccmove --from-file {shell_quote(options['from_file'])}",
                )
            pairs = read_pairs(_read_text(options["from_file"]), options["from_file"])
        elif old is None or new is None:
            raise UsageError("two paths are needed: OLD and NEW", _one_word(old))
        else:
            pairs = [resolve_pair(old, new)]
        chosen = MoveOptions(
            full=options["verify"] == "full",
            **{name: options[name] for name in MOVE_FLAGS},
        )
        return session.move(pairs, chosen, dry_run=options["dry_run"])

    return _session(options).run(work)


MOVE_FLAGS = (
    "only", "on_conflict", "project_files", "desktop",
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
@click.argument(
    "identifier", metavar="[ID]", required=False, shell_complete=completed_by("backups")
)
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
    from ccmove.api import find_state
    from ccmove.api import restore as do_restore

    def work(session: Session) -> Any:
        session.layout = find_state(options["config_dir"])
        return do_restore(
            identifier,
            state=session.layout,
            dry_run=options["dry_run"],
            allow_live=options["allow_live"],
            full=options["verify"] == "full",
            progress=session.progress(),
        )

    return _session(options).run(work)


@app.command()
@common
def recover(**options: Any) -> int:
    """Settle a run that was interrupted."""
    from ccmove.claude.layout import find_layout
    from ccmove.cli.restore import recover as do_recover

    def work(session: Session) -> Any:
        session.layout = find_layout(options["config_dir"], os.environ)
        return do_recover(session.layout)

    return _session(options).run(work)


@app.command()
@click.option("--prune", is_flag=True, help="Remove old backups.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N.")
@click.option("--older-than", metavar="AGE", help="Remove only what is older, such as 30d.")
@common
def backups(prune: bool, keep: int | None, older_than: str | None, **options: Any) -> int:
    """List what can be restored."""
    from ccmove.claude.layout import find_layout
    from ccmove.cli import restore as commands

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

    from ccmove.report.move import show_backups

    return _session(options).run(work, show_backups)


@app.command()
@common
def demo(**options: Any) -> int:
    """Show the whole cycle on a made-up state in a temporary directory."""
    from ccmove.cli.demo import demo as do_demo
    from ccmove.report.demo import show_demo

    return _session(options).run(lambda _: do_demo(), show_demo)


@app.command(name="list")
@click.argument("path", required=False, shell_complete=completed_by("known_projects"))
@click.option(
    "--sort",
    type=click.Choice(["path", "used", "sessions", "size"]),
    default="path",
    help="By path, or the last used, the most sessions, the largest first.",
)
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option("--missing", is_flag=True, help="Only projects whose folder is gone.")
@common
def list_(path: str | None, sort: str, reverse: bool, missing: bool, **options: Any) -> int:
    """Show every project that Claude Code knows, or those at or below PATH.

    Exits with 3 when there is no state at all, and with 0 when no project is in it.
    """
    from ccmove.claude.layout import find_layout
    from ccmove.cli.list import list_projects
    from ccmove.inspect.findings import CommandLine
    from ccmove.report.inspect import Counting, show_list

    def work(session: Session) -> Any:
        session.layout = find_layout(options["config_dir"], os.environ)
        with Counting(session.printer) as counting:
            return list_projects(
                session.layout,
                sort=sort,
                reverse=reverse,
                missing=missing,
                below=path,
                tick=counting.of("looking at projects"),
                command=CommandLine(options["config_dir"]),
            )

    return _session(options).run(work, show_list)


@app.command()
@click.argument("subject", nargs=-1, shell_complete=completed_by("known_projects"))
@click.option("--fix", is_flag=True, help="Ask about each finding, and mend all in one go.")
@click.option("--yes", is_flag=True, help="Do not ask: mend what the evidence leaves no doubt of.")
@click.option("-n", "--dry-run", is_flag=True, help="With --fix: only show what would change.")
@click.option(
    "--search",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="Also look there for folders that are gone; may be repeated.",
)
@click.option("--allow-live", is_flag=True, help="With --fix: go on although a session is running.")
@common
def doctor(subject: tuple[str, ...], search: tuple[str, ...], **options: Any) -> int:
    """Show what is wrong, and the command that mends it; SUBJECT is a path, a name or an ID.

    Exits with 1 when there are findings. Changes nothing without --fix.
    """
    from ccmove.claude.layout import find_layout
    from ccmove.cli import doctor as commands
    from ccmove.inspect.findings import CommandLine
    from ccmove.report.inspect import Counting, show_examination, show_repair

    def work(session: Session) -> Any:
        if not options["fix"] and (options["yes"] or options["dry_run"] or options["allow_live"]):
            raise UsageError("--yes, --dry-run and --allow-live go with --fix")
        session.layout = find_layout(options["config_dir"], os.environ)
        with Counting(session.printer) as counting:
            wanted = commands.Search(
                CommandLine(options["config_dir"]),
                subject,
                search,
                counting.of("looking at projects"),
                counting.of("looking for lost folders"),
            )
            if not options["fix"]:
                return commands.doctor(session.layout, wanted)
            by_asking = commands.Asker(session.printer, counting)
            return commands.fix(
                session.layout,
                wanted,
                commands.only_sure if options["yes"] else by_asking,
                dry_run=options["dry_run"],
                allow_live=options["allow_live"],
            )

    return _session(options).run(work, show_repair if options["fix"] else show_examination)


@app.command()
@click.argument("path", required=False, shell_complete=completed_by("known_projects"))
@common
def verify(path: str | None, **options: Any) -> int:
    """Check that what is kept for PATH, or for every project, is consistent; exit 0 or 1.

    Exits with 3 when nothing is known about PATH.
    """
    from ccmove.claude.layout import find_layout
    from ccmove.cli.verify import verify as do_verify
    from ccmove.inspect.findings import CommandLine
    from ccmove.report.inspect import Counting, show_verification

    def work(session: Session) -> Any:
        session.layout = find_layout(options["config_dir"], os.environ)
        command = CommandLine(options["config_dir"])
        with Counting(session.printer) as counting:
            return do_verify(session.layout, path, command, counting.of("looking at projects"))

    return _session(options).run(work, show_verification)


@app.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(shell: str | None) -> int:
    """Print the script that completes ccmove's arguments in SHELL.

    \b
    bash  eval "$(ccmove completion bash)"      in ~/.bashrc
    zsh   eval "$(ccmove completion zsh)"       in ~/.zshrc, after compinit
    fish  ccmove completion fish | source       in ~/.config/fish/config.fish
    """
    from ccmove.cli.completion import script

    chosen = shell or os.path.basename(os.environ.get("SHELL", "bash"))
    if chosen not in SHELLS:
        raise click.UsageError(f"no completion for {chosen}: name bash, zsh or fish")
    click.echo(script(app, chosen), nl=False)
    return 0


def run(given: list[str]) -> int:
    """Do what was typed; the exit code."""
    try:
        return app.main(given, prog_name="ccmove", standalone_mode=False) or 0
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except SystemExit:  # the way in which click ends when nobody reads its help any more
        give_up_on_stdout()
        return 0
    except click.ClickException as error:
        return fail(_usage(error), as_json="--json" in given)


def _usage(error: click.ClickException) -> UsageError:
    """What click says of the command line, in our own form."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "ccmove"
    message = error.format_message().rstrip(".")
    return UsageError(message[:1].lower() + message[1:], f"{command} --help")
