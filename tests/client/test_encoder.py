"""The encoder against the client: fresh random folder names in every run."""

import random
import unicodedata
from pathlib import Path

from ccmove.claude.naming import encode
from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt
from tests.client.versions import Client

pytestmark = CLIENT_TEST

ALPHABETS = (
    "abcXYZ019",
    " .-_,;=+~@#%&!",
    "'\"`$()[]{}<>|*?\\",
    "àéîõüßøĐŠžșİı",
    "e\u0301a\u0308n\u0303",
    "日本語한국어ไทยعربעברית",
    "🚀🧑\u200d🚀🇫🇷👍🏽𝔘𐍈",
    "\t\n\u00a0\u2028\u200b\ufeff\u0085",
)


def random_name(dice: random.Random) -> str:
    """A folder name out of one to three alphabets."""
    letters = "".join(dice.sample(ALPHABETS, dice.randint(1, 3)))
    name = "".join(dice.choice(letters) for _ in range(dice.choice((3, 8, 20, 60))))
    return f"{name}x" if set(name) <= {"."} else name


def random_folder(dice: random.Random, below: Path) -> Path:
    """One to three names deep, or twelve, which is mostly longer than the cut."""
    return below.joinpath(
        *(random_name(dice) for _ in range(dice.choice((1, 2, 3, 12))))
    )


def has_a_rule_of_its_own_for(client: Client, path: str) -> bool:
    """Where an older client differs from the current one, whose rule `encode` is."""
    composes = (
        client.is_of_the_older_form and unicodedata.normalize("NFC", path) != path
    )
    units = len(path.encode("utf-16-le")) // 2
    never_cuts = client.is_of_the_index_era and units > 200
    return composes or never_cuts


@with_clients()
def test_random_folder_names_get_the_directory_that_the_client_makes(
    desk: Desk, seed: int
) -> None:
    dice = random.Random(seed)
    left = 30 if desk.client.stands_for_all else 5
    while left:
        folder = random_folder(dice, desk.code)
        if folder.exists() or has_a_rule_of_its_own_for(desk.client, str(folder)):
            continue
        folder.mkdir(parents=True)
        made = desk.directory_of(
            desk.ask(folder, new_prompt("where am I")).session
        ).name
        assert made == encode(str(folder)), f"{str(folder)!r} (seed {seed})"
        left -= 1
