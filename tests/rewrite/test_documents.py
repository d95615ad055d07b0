"""Only strings that are paths in the move change, and only their own bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ccmove.rewrite import index, other
from ccmove.rewrite.compare import compare
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.other import aliases, appended, map_inside
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import Mapper, with_strings
from tests.shapes.test_documents import FOLLOW, NOTES, STAY, rules

OLD, NEW = "/home/dev/code/my-app", "/home/dev/code/new-app"
PATHS = PathMap(((OLD, NEW),))
NAMES = NameMap((("-home-dev-code-my-app", "-home-dev-code-new-app"),), PATHS)
FACTS = Path(__file__).parents[2] / "fixtures" / "facts"


def at(template: str) -> str:
    """`template` with the real paths in the place of /OLD and /NEW."""
    return template.replace("/OLD", OLD).replace("/NEW", NEW)


def moved(text: str, rewritten: Any) -> Any:
    return json.loads(rewritten(text, PATHS, NAMES))


def strings(text: str, mapper: Mapper = PATHS.map) -> str:
    return with_strings(text, mapper)


class TestIndex:
    def test_the_client_s_own_index_is_rewritten_and_nothing_else_changes(self) -> None:
        text = (FACTS / "client-2.1.23" / "sessions-index.json").read_text("utf-8")
        expected = text.replace(OLD, NEW).replace("-home-dev-code-my-app", "-home-dev-code-new-app")
        assert index.rewritten(text, PATHS, NAMES) == expected
        assert [row.place for row in compare(text.encode(), expected.encode())] == [
            "/entries/0/fullPath",
            "/entries/0/projectPath",
            "/originalPath",
        ]

    @pytest.mark.parametrize("byte", [b"\x80", b"\xff"])
    def test_a_string_with_bytes_that_are_no_utf8_stays(self, byte: bytes) -> None:
        old = OLD.encode()
        data = b'{"originalPath": "%s/%s", "projectPath": "%s"}' % (old, byte, old)
        text = data.decode("utf-8", "surrogateescape")
        after = index.rewritten(text, PATHS, NAMES).encode("utf-8", "surrogateescape")
        assert after == data.replace(b'"%s"' % OLD.encode(), b'"%s"' % NEW.encode())

    def test_bytes_that_are_no_utf8_hold_no_other_string_back(self) -> None:
        data = b'{"projectPath": "%s", "originalPath": "%s/\xff"}' % (OLD.encode(), OLD.encode())
        text = data.decode("utf-8", "surrogateescape")
        assert index.rewritten(text, PATHS, NAMES) == text.replace(OLD, NEW, 1)


class TestEntries:
    """The entries of an index come and go by their sessions."""

    A, B, C = (f'{{"sessionId": "{key}", "projectPath": "{OLD}"}}' for key in "abc")
    TEXT = f'{{"entries": [{A}, {B}, [7]], "originalPath": "{OLD}"}}'

    def test_each_is_known_by_its_session_or_its_text(self) -> None:
        assert index.entries(self.TEXT) == [("a", self.A), ("b", self.B), ("[7]", "[7]")]
        assert index.sessions_of(self.TEXT, {OLD}) == {"a", "b"}
        assert index.sessions_of(self.TEXT, {NEW}) == set()

    def test_what_it_lacks_is_added_once(self) -> None:
        other_a = self.A.replace(OLD, NEW)
        entries = [("a", other_a), ("c", self.C), ("c", "{}"), ("[7]", "[7]")]
        expected = self.TEXT.replace("[7]", f"[7], {self.C}")
        assert index.with_entries(self.TEXT, entries) == expected
        assert index.with_entries(expected, entries) == expected

    def test_some_are_replaced(self) -> None:
        other_a = self.A.replace(OLD, NEW)
        after = index.with_entries(self.TEXT, [("a", other_a), ("b", "{}")], {"a"})
        assert json.loads(after)["entries"] == [json.loads(self.B), [7], json.loads(other_a)]

    def test_some_leave(self) -> None:
        assert index.entries(index.without(self.TEXT, {"a", "[7]", "x"})) == [("b", self.B)]
        assert index.without(self.TEXT, {"a", "b", "[7]"}) == self.TEXT.replace(
            f"{self.A}, {self.B}, [7]", ""
        )

    def test_all_may_leave_and_others_come(self) -> None:
        text = f'{{"entries": [\n  {self.A}\n]}}'
        assert index.with_entries(text, [("a", self.B)], {"a"}) == text.replace(self.A, self.B)

    def test_one_by_itself_is_rewritten(self) -> None:
        assert index.entry_rewritten(self.A, PATHS, NAMES) == self.A.replace(OLD, NEW)
        assert index.entry_rewritten("[7]", PATHS, NAMES) == "[7]"

    def test_the_owner_is_another(self) -> None:
        text = f'{{"projectPath": "/x", "originalPath": "{OLD}", "entries": [{self.A}]}}'
        expected = text.replace(f'"originalPath": "{OLD}"', '"originalPath": "/y"')
        assert index.owned_by(text, {OLD}, "/y") == expected

    def test_a_new_one_is_an_index(self) -> None:
        made = index.made([("a", self.A), ("b", self.B)], OLD)
        assert index.entries(made) == [("a", self.A), ("b", self.B)]

    @pytest.mark.parametrize("text", ["[]", "{}", '{"entries": {}}', "7", "{"])
    def test_what_is_no_index_has_none(self, text: str) -> None:
        with pytest.raises(NotJsonError):
            index.entries(text)


class TestAnyDocument:
    def test_values_and_keys_that_are_paths_change(self) -> None:
        text = at('{"/OLD": 1, "a": ["/OLD/x", {"b": "/OLD"}], "c": "--x=/OLD"}')
        assert json.loads(strings(text)) == {
            NEW: 1,
            "a": [NEW + "/x", {"b": NEW}],
            "c": "--x=" + OLD,
        }

    def test_a_key_is_not_renamed_to_one_that_is_there(self) -> None:
        text = at('{"/OLD": 1, "/NEW": 2}')
        assert strings(text) == text
        chain = PathMap((("/a", "/b"), ("/b", "/c")))
        text = '{"/a": 1, "/b": 2, "/c": 3}'
        assert strings(text, chain.map) == text

    def test_what_is_mapped_to_itself_stays(self) -> None:
        text = '{"/a": "/a", "b": ["/a"]}'
        assert with_strings(text, lambda value: value) == text

    def test_keys_may_be_swapped(self) -> None:
        swap = PathMap((("/a", "/b"), ("/b", "/a")))
        text = '{"/a": 1, "/b": 2}'
        assert strings(text, swap.map) == '{"/b": 1, "/a": 2}'

    def test_two_keys_do_not_become_one(self) -> None:
        both = PathMap((("/a", "/c"), ("/b", "/c")))
        text = '{"/a": 1, "/b": 2}'
        assert strings(text, both.map) == text

    def test_of_repeated_keys_the_last_value_changes_and_all_names(self) -> None:
        text = at('{"/OLD": "/OLD", "/OLD": "/OLD"}')
        assert strings(text) == at('{"/NEW": "/OLD", "/NEW": "/NEW"}')


class TestOtherFiles:
    def test_plugins(self) -> None:
        text = json.dumps(
            {
                "version": 2,
                "plugins": {
                    "a@b": [{"scope": "local", "projectPath": OLD, "installPath": OLD + "/x"}],
                    "projectPath": OLD,
                },
                "projectPath": OLD,
            }
        )
        expected = json.loads(text)
        expected["plugins"]["a@b"][0].update(projectPath=NEW, installPath=NEW + "/x")
        assert moved(text, other.plugins) == expected

    def test_jobs(self) -> None:
        transcript = "/home/dev/.claude/projects/-home-dev-code-my-app/s.jsonl"
        record = {
            "cwd": OLD,
            "originCwd": OLD + "/x",
            "worktreePath": OLD + "/w",
            "linkScanPath": transcript,
            "sessionPermissionRules": {"addDirs": [OLD, "/srv"], "allow": [OLD]},
            "prompt": OLD,
            "nested": {"cwd": OLD},
        }
        expected = json.loads(json.dumps(record))
        expected.update(cwd=NEW, originCwd=NEW + "/x", worktreePath=NEW + "/w")
        expected["linkScanPath"] = transcript.replace("my-app", "new-app")
        expected["sessionPermissionRules"] = {"addDirs": [NEW, "/srv"], "allow": [NEW]}
        assert moved(json.dumps(record), other.job) == expected

    def test_desktop(self) -> None:
        record = {"cwd": OLD, "originCwd": OLD + "/x", "title": OLD}
        assert moved(json.dumps(record), other.desktop) == {
            "cwd": NEW,
            "originCwd": NEW + "/x",
            "title": OLD,
        }


class TestPermissionRules:
    MORE = ("Bash(ls /OLD|wc)", "Bash(a|/OLD/x)", "Bash(ls\t/OLD/x\nmake)")

    @pytest.mark.parametrize("rule", [*rules(FOLLOW), *MORE])
    def test_the_path_of_a_rule_moves(self, rule: str) -> None:
        before = rule.replace("/OLD", OLD)
        assert map_inside(before, PATHS) == rule.replace("/OLD", NEW)

    @pytest.mark.parametrize("rule", [*rules(STAY), "Bash(cat /OLD/a`x`)"])
    def test_what_is_not_surely_the_path_stays(self, rule: str) -> None:
        assert map_inside(rule.replace("/OLD", OLD), PATHS) is None

    def test_a_new_path_that_would_break_the_command_is_not_put_in(self) -> None:
        spaced = PathMap(((OLD, "/code/new app"),))
        assert map_inside(f"Bash({OLD}/x:*)", spaced) is None
        assert map_inside(f'Bash("{OLD}/x":*)', spaced) == 'Bash("/code/new app/x":*)'
        assert map_inside(f"Read(/{OLD}/**)", spaced) == "Read(//code/new app/**)"
        quoted = PathMap(((OLD, '/code/new"app'),))
        assert map_inside(f'Bash("{OLD}/x":*)', quoted) is None

    def test_several_words_move_each_by_its_own_move(self) -> None:
        swap = PathMap((("/a", "/b"), ("/b", "/a")))
        assert map_inside("Bash(cp /a/x /b/y)", swap) == "Bash(cp /b/x /a/y)"

    def test_settings_and_servers_as_a_whole(self) -> None:
        settings = {
            "permissions": {
                "allow": [f"Read(/{OLD}/**)", "Bash(make:*)"],
                "additionalDirectories": [OLD, "../x", f"{OLD}/x y"],
            },
            "hooks": {
                "Stop": [{"hooks": [{"type": "command", "command": f"{OLD}/hook.sh --all {OLD}"}]}],
                "Start": [{"hooks": [{"type": "command", "command": f"{OLD}/hook.sh"}]}],
                "Other": [{"hooks": [{"type": "command", "command": f"bash {OLD}/hook.sh"}]}],
            },
            "env": {"ROOT": OLD, "FLAGS": f"-I{OLD}"},
        }
        expected = json.loads(json.dumps(settings))
        expected["permissions"] = {
            "allow": [f"Read(/{NEW}/**)", "Bash(make:*)"],
            "additionalDirectories": [NEW, "../x", f"{NEW}/x y"],
        }
        expected["hooks"]["Start"][0]["hooks"][0]["command"] = f"{NEW}/hook.sh"
        expected["env"]["ROOT"] = NEW
        assert moved(json.dumps(settings, indent=2), other.project_file) == expected


class TestLines:
    ALIASES = (
        "/c/projects/-home-dev-code-my-app\n"
        "/c/projects/-other\r\n\n"
        "/c/projects/-home-dev-code-my-app\r\n"
    )

    def test_aliases_that_name_the_directory_change_and_keep_their_ends(self) -> None:
        assert aliases(self.ALIASES, NAMES) == self.ALIASES.replace("my-app", "new-app")

    @pytest.mark.parametrize("end", [" ", "X", "\t", "-docker"])
    def test_a_line_that_names_another_directory_stays(self, end: str) -> None:
        text = f"/c/projects/-home-dev-code-my-app{end}\n"
        assert aliases(text, NAMES) == text

    @pytest.mark.parametrize(
        ("theirs", "ours", "expected"), [*NOTES, ("a\n", "a\n", ""), ("a", "a", "")]
    )
    def test_what_is_lacking_is_appended_once(self, theirs: str, ours: str, expected: str) -> None:
        assert appended(theirs, ours) == theirs + expected
