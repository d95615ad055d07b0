"""Every way to end badly, with its exit code and JSON status;
what to type next is data.
"""

import contextlib
import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ccmove.text import command_line


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command of ours as words, so that a hint can change some of them."""

    name: tuple[str, ...] = ()  # of the command; nothing for a move
    options: tuple[tuple[str, ...], ...] = ()  # each with its value, if it has one
    arguments: tuple[str, ...] = ("OLD", "NEW")

    def with_option(self, *words: str) -> "CommandLine":
        others = self.without(words[0]).options
        return replace(self, options=(words, *others))

    def without(self, *names: str) -> "CommandLine":
        left = tuple(option for option in self.options if option[0] not in names)
        return replace(self, options=left)

    def with_paths(self, instead: Mapping[str, str]) -> "CommandLine":
        """With other paths, however those that are to be replaced were spelled."""
        changed = tuple(_changed(word, instead) for word in self.arguments)
        return replace(self, arguments=changed)

    def to_argv(self) -> list[str]:
        words = list(self.name)
        for option in self.options:
            words += option
        if any(word.startswith("-") and word != "-" for word in self.arguments):
            words.append("--")
        return [*words, *self.arguments]


def _changed(path: str, instead: Mapping[str, str]) -> str:
    with contextlib.suppress(OSError):  # the current folder was deleted
        for spelling in (path, os.path.abspath(path), os.path.realpath(path)):
            if spelling in instead:
                return instead[spelling]
    return path


@dataclass(frozen=True, slots=True)
class Hint:
    """What to do next: a sentence, a command,
    or a sentence and a command after a colon.
    """

    text: str = ""
    command: tuple[str, ...] = ()
    again: bool = False  # what was typed, with these changes:
    option: tuple[str, ...] = ()  # comes first, with its value
    without: tuple[str, ...] = ()  # options that are left out
    instead: Mapping[str, str] = field(default_factory=dict)  # paths, and others


def run(*command: object, text: str = "") -> Hint:
    return Hint(text, tuple(str(word) for word in command))


def again(
    text: str = "",
    option: Sequence[str] = (),
    instead: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
) -> Hint:
    """The same command again, with one more option, without some, or with other
    paths.
    """
    return Hint(text, (), True, tuple(option), tuple(without), instead or {})


def look_at(path: object) -> Hint:
    return run("ls", "-ld", path, text="look at it")


def in_words(
    hint: Hint, typed: CommandLine | None = None, config_dir: str | None = None
) -> tuple[str, str]:
    """The sentence, and the command as it has to be typed:
    it acts on the same state.
    """
    words = list(hint.command)
    if hint.again:
        line = (typed or CommandLine()).without(*hint.without)
        line = line.with_paths(hint.instead)
        if hint.option:
            line = line.with_option(*hint.option)
        words = ["ccmove", *line.to_argv()]
    if config_dir and words[:1] == ["ccmove"] and "--config-dir" not in words:
        words[1:1] = ["--config-dir", config_dir]
    return hint.text, command_line(words)


def in_one_line(hint: Hint, config_dir: str | None = None) -> str:
    return ": ".join(filter(None, in_words(hint, config_dir=config_dir)))


class CcmoveError(Exception):
    """A run that failed and left everything as it was."""

    exit_code = 1
    status = "failed"
    usual = again("fix that and try again")  # to be said when there is no better hint
    # What was done about an interrupted run before this went wrong, in words.
    rolled_back: str | None = None

    def __init__(
        self, message: str, *hints: Hint | str | None, details: Iterable[str] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hints = tuple(Hint(h) if isinstance(h, str) else h for h in hints if h)
        self.details = tuple(details)  # lines that are shown below the message


class UsageError(CcmoveError):
    """The command line makes no sense."""

    exit_code = 2
    usual = run("ccmove", "--help")


class NothingKnownError(CcmoveError):
    """There is nothing to do: no state is known for the path,
    or no run to undo.
    """

    exit_code = 3
    status = "nothing"


class RefusedError(CcmoveError):
    """A decision or another process is in the way; nothing was done."""

    exit_code = 4
    status = "refused"


class LinkError(RefusedError):
    """A symbolic link stands where the state should hold something itself."""

    def __init__(self, path: object) -> None:
        super().__init__(
            f"{path} is a symbolic link",
            look_at(path),
            "put what it points to in its place, or link ~/.claude as a whole: of "
            "what is in it "
            "only projects and settings.json may be links",
        )


class UnfinishedRunError(CcmoveError):
    """A run was interrupted and could not be rolled back;
    all that is needed for it is kept.
    """

    exit_code = 5
    usual = run("ccmove", "recover")


class InterruptedRunError(CcmoveError):
    """Ctrl-C, or the system asked us to end; everything is as it was."""

    exit_code = 130
    usual = again("try again")


class StaleLookError(CcmoveError):
    """What was planned is no longer what is on disk; look and plan again."""


def describe(error: Exception) -> str:
    """An error as one plain line;
    of an OSError the file and what the system said of it.
    """
    if not isinstance(error, OSError):
        return str(error)
    path = _path_of(error)
    return (
        f"{path}: {error.strerror or error}" if path else error.strerror or str(error)
    )


def system_error(error: OSError) -> CcmoveError:
    """What the system refused, on which file, and how to look into it."""
    path = _path_of(error)
    if (
        not path and error.errno == errno.ENOENT
    ):  # only a relative path is looked for without one
        return CcmoveError(
            f"the current folder, {os.environ.get('PWD', '.')}, does not exist any "
            "more",
            run("cd", text="type whole paths, or change to a folder that exists"),
        )
    hint = look_at(path) if path else None
    if path and error.errno == errno.ENOENT:
        hint = run("ls", "-l", os.path.dirname(path) or ".", text="what is there")
    elif path and error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = run(
            "df", "-h", path, text="free some space, then try again; what is free"
        )
    return CcmoveError(describe(error), hint)


def _path_of(error: OSError) -> str:
    name = error.filename2 or error.filename
    return os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else ""
