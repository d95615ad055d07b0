"""What Claude Code does with a config file that is no JSON, and that ccmove's advice is
true.
"""

from pathlib import Path

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt
from tests.client.versions import Client

pytestmark = CLIENT_TEST


def leaves_it(client: Client) -> bool:
    return client.number > (2, 1, 92)


def starts_a_new_one(client: Client) -> bool:
    return client.number == (2, 1, 92)


def broken_in_half(desk: Desk, folder: Path) -> tuple[str, str]:
    """A session was begun in the folder; what is broken then, and the prompt."""
    desk.trust(folder)
    prompt = new_prompt("before it broke")
    desk.ask(folder, prompt)
    whole = desk.config_file.read_text()
    broken = whole[: len(whole) // 2]
    desk.config_file.write_text(broken)
    return broken, prompt


@with_clients(leaves_it)
def test_the_client_leaves_it_and_the_copy_that_ccmove_names_works(desk: Desk) -> None:
    folder = desk.folder("here")
    new = folder.with_name("there")
    broken, prompt = broken_in_half(desk, folder)
    folder.rename(new)
    assert desk.try_ask(new, new_prompt("while it is broken")).exit != 0
    assert desk.config_file.read_text() == broken
    refused = desk.ccmove(folder, new)
    copies = desk.config_dir / "backups"
    pattern = ".claude.json.backup.*"
    assert refused.exit == 4
    assert f"{copies / pattern}" in refused.err
    copy = max(copies.glob(pattern))
    desk.config_file.write_bytes(copy.read_bytes())
    done = desk.ccmove(folder, new)
    assert done.exit == 0, (done.out, done.err)
    answer = desk.ask(new, new_prompt("goes on"), "--continue")
    assert answer.knew(prompt)


@with_clients(starts_a_new_one)
def test_an_older_client_starts_a_new_one_without_the_projects(desk: Desk) -> None:
    """So the advice is not to start it."""
    folder = desk.folder("here")
    broken_in_half(desk, folder)
    desk.try_ask(folder, new_prompt("while it is broken"))  # which may end with 1
    entry = desk.config().get("projects", {}).get(str(folder), {})
    assert not entry.get("hasTrustDialogAccepted")
