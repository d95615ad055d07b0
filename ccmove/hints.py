"""What to type next, as data: a sentence, a command, or what was asked once more."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ccmove.text import command_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked of one command; it prints itself as the words to type."""

    name: ClassVar[str] = ""  # of the command; a move needs none
    arguments: tuple[str, ...] = ()
    config_dir: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False

    def flags(self) -> dict[str, bool]:
        """Options of this command alone, as they are typed: which are on?"""
        return {}

    def values(self) -> list[tuple[str, object]]:
        """Options of this command alone that have a value; None was not typed."""
        return []

    def to_argv(self) -> list[str]:
        """All of it, after the name of the program."""
        words = []
        if self.config_dir is not None:
            words += ["--config-dir", self.config_dir]
        if self.name:
            words.append(self.name)
        words += switched_on(self.flags())
        for option, value in self.values():
            if value is not None:
                words += [option, str(value)]
        common = {
            "--json": self.json,
            "--quiet": self.quiet,
            "--verbose": self.verbose,
        }
        words += switched_on(common)
        if any(word.startswith("-") and word != "-" for word in self.arguments):
            words.append("--")
        return [*words, *self.arguments]

    def with_argument(self, typed: str, right: str) -> Self:
        arguments = [right if word == typed else word for word in self.arguments]
        return replace(self, arguments=tuple(arguments))

    def with_merge(self) -> Self:
        """With --merge, where there is such an option."""
        return self


PLAIN_MOVE = Asked(arguments=("OLD", "NEW"))


def switched_on(flags: Mapping[str, bool]) -> list[str]:
    return [name for name, is_on in flags.items() if is_on]


@dataclass(frozen=True, slots=True)
class Hint:
    """What to do next: a sentence, a command,
    or a sentence and a command after a colon.
    """

    text: str = ""
    command: tuple[str, ...] = ()
    again: bool = False  # what was asked, with these changes:
    merge: bool = False
    instead: tuple[str, str] | None = None  # an argument as typed, and the right one


def run(*command: object, text: str = "") -> Hint:
    return Hint(text, tuple(str(word) for word in command))


def ask(asked: Asked, text: str = "") -> Hint:
    """This command of ours."""
    return run("ccmove", *asked.to_argv(), text=text)


def again(
    text: str = "", *, merge: bool = False, instead: tuple[str, str] | None = None
) -> Hint:
    """What was asked once more, which only who prints it knows: with --merge, or with
    another argument.
    """
    return Hint(text, again=True, merge=merge, instead=instead)


def look_at(path: object) -> Hint:
    return run("ls", "-ld", path, text="look at it")


def in_words(
    hint: Hint, asked: Asked | None = None, config_dir: str | None = None
) -> tuple[str, str]:
    """The sentence, and the command as it has to be typed:
    it acts on the same state.
    """
    if hint.again:
        asked = asked or PLAIN_MOVE
        if hint.merge:
            asked = asked.with_merge()
        if hint.instead is not None:
            asked = asked.with_argument(*hint.instead)
        hint = ask(asked, hint.text)
    words = list(hint.command)
    is_ours = words[:1] == ["ccmove"]
    if is_ours and config_dir and "--config-dir" not in words:
        words[1:1] = ["--config-dir", config_dir]
    return hint.text, command_line(words)


def in_one_line(hint: Hint, config_dir: str | None = None) -> str:
    return ": ".join(filter(None, in_words(hint, config_dir=config_dir)))
