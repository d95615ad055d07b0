"""What to type next, as data: a sentence, a command, or what was asked once more."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Self

from ccmove.text import command_line

USUAL_COMMAND = "move"  # needs no name
NO_OPTIONS = ("command", "arguments", "config_dir")  # typed in a place of their own


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked of one command; it prints itself as the words to type.

    Each further field is the option of that name.
    """

    command: str = USUAL_COMMAND
    arguments: tuple[str, ...] = ()
    config_dir: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False

    def to_argv(self) -> list[str]:
        """All of it, after the name of the program, but for what is as usual."""
        words = []
        if self.config_dir is not None:
            words += ["--config-dir", self.config_dir]
        if self.command != USUAL_COMMAND:
            words.append(self.command)
        usual = asdict(type(self)())
        for name, value in asdict(self).items():
            if name in NO_OPTIONS or value == usual[name]:
                continue
            option = option_named(name)
            if value is True:
                words.append(option)
                continue
            values = value if isinstance(value, tuple) else [value]
            for each in values:
                words += [option, str(each)]
        if any(word.startswith("-") and word != "-" for word in self.arguments):
            words.append("--")
        return [*words, *self.arguments]

    def to_line(self) -> str:
        """The whole command, as it has to be typed."""
        return command_line(["ccmove", *self.to_argv()])

    def with_argument(self, typed: str, right: str) -> Self:
        arguments = [right if word == typed else word for word in self.arguments]
        return replace(self, arguments=tuple(arguments))

    def with_merge(self) -> Self:
        """With --merge, where there is such an option."""
        return self


PLAIN_MOVE = Asked(arguments=("OLD", "NEW"))


def option_named(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class Hint:
    """What to do next: a sentence, a command,
    or a sentence and a command after a colon.
    """

    text: str = ""
    command: tuple[str, ...] = ()
    again: bool = False  # what was asked
    merge: bool = False  # with --merge


def to_type(*command: object, text: str = "") -> Hint:
    return Hint(text, tuple(str(word) for word in command))


def ask(asked: Asked, text: str = "") -> Hint:
    """This command of ours."""
    return to_type("ccmove", *asked.to_argv(), text=text)


def again(text: str = "", *, merge: bool = False) -> Hint:
    """What was asked once more, which only who prints it knows; maybe with --merge."""
    return Hint(text, again=True, merge=merge)


def look_at(path: object) -> Hint:
    return to_type("ls", "-ld", path, text="look at it")


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
        hint = ask(asked, hint.text)
    return hint.text, as_typed(hint.command, config_dir)


def as_typed(command: Iterable[str], config_dir: str | None) -> str:
    """A command as it has to be typed: one of ours acts on the same state."""
    words = list(command)
    is_ours = words[:1] == ["ccmove"]
    if is_ours and config_dir and "--config-dir" not in words:
        words[1:1] = ["--config-dir", config_dir]
    return command_line(words)
