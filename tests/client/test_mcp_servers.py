"""After a move the client lists the project's MCP servers with their new paths."""

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk

pytestmark = CLIENT_TEST


@with_clients()
def test_a_server_is_listed_with_its_new_paths(desk: Desk) -> None:
    old, new = desk.folder("old"), desk.code / "new"
    server = ("db", "--", f"{old}/bin/db", f"--root={old}", f"{old}/a:{old}/b")
    added = desk.claude(old, "mcp", "add", *server)
    assert added.exit == 0, (added.out, added.err)
    assert f"db: {old}/bin/db" in desk.claude(old, "mcp", "list").out

    old.rename(new)
    # The control: without ccmove there is none.
    assert "db: " not in desk.claude(new, "mcp", "list").out
    done = desk.ccmove(old, new)
    assert done.exit == 0, (done.out, done.err)

    listed = desk.claude(new, "mcp", "list").out
    assert f"db: {new}/bin/db --root={new} {new}/a:{new}/b" in listed
    assert str(old) not in listed
