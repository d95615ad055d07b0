"""Only strings that are paths in the move change, and only their own bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ccmove.rewrite import rewriter
from ccmove.rewrite.jsonspan import parse, show
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.rewriter import (
    NameMap,
    alias_lines,
    appendix,
    change_lines,
    desktop_edits,
    entry_edits,
    index_edits,
    job_edits,
    map_inside,
    parse_index,
    plugin_edits,
    project_file_edits,
    string_edits,
    walk,
)
from ccmove.rewrite.splice import apply

OLD, NEW = "/home/dev/code/my-app", "/home/dev/code/new-app"
PATHS = PathMap(((OLD, NEW),))
NAMES = NameMap((("-home-dev-code-my-app", "-home-dev-code-new-app"),), PATHS)
FACTS = Path(__file__).parents[2] / "fixtures" / "facts"


def at(template: str) -> str:
    """`template` with the real paths in the place of /OLD and /NEW."""
    return template.replace("/OLD", OLD).replace("/NEW", NEW)


def moved(text: str, find_edits: Any) -> Any:
    return json.loads(apply(text, find_edits(text, PATHS, NAMES)))


class TestNameMap:
    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            (
                "/home/dev/.claude/projects/-home-dev-code-my-app/x.jsonl",
                "/home/dev/.claude/projects/-home-dev-code-new-app/x.jsonl",
            ),
            (
                "/home/dev/.claude/projects/-home-dev-code-my-app",
                "/home/dev/.claude/projects/-home-dev-code-new-app",
            ),
            (
                r"C:\me\.claude\projects\-home-dev-code-my-app\x.jsonl",
                r"C:\me\.claude\projects\-home-dev-code-new-app\x.jsonl",
            ),
            (
                "/srv/projects/projects/-home-dev-code-my-app/x",
                "/srv/projects/projects/-home-dev-code-new-app/x",
            ),
            (f"{OLD}/.claude/projects/other/x", f"{NEW}/.claude/projects/other/x"),
            (
                f"{OLD}/.claude/projects/-home-dev-code-my-app/x",
                f"{NEW}/.claude/projects/-home-dev-code-new-app/x",
            ),
            ("/home/dev/.claude/projects/-home-dev-code-my-app-docker/x", None),
            ("/home/dev/.claude/other/-home-dev-code-my-app/x", None),
            ("/home/dev/myprojects/-home-dev-code-my-app/x", None),
            ("-home-dev-code-my-app", None),
            ("/projects/", None),
        ],
    )
    def test_the_name_of_the_directory_is_replaced(self, path: str, expected: str | None) -> None:
        assert NAMES.map(path) == expected

    def test_two_names_are_swapped(self) -> None:
        names = NameMap((("-a", "-b"), ("-b", "-a")))
        assert names.map("/c/projects/-a/x") == "/c/projects/-b/x"
        assert names.map("/c/projects/-b/x") == "/c/projects/-a/x"

    def test_a_session_can_leave_its_directory_alone(self) -> None:
        names = NameMap((), sessions={("-a", "s1"): "-b"})
        assert names.map("/c/projects/-a/s1.jsonl") == "/c/projects/-b/s1.jsonl"
        assert names.map("/c/projects/-a/s1/subagents/x") == "/c/projects/-b/s1/subagents/x"
        assert names.map(r"C:\c\projects\-a\s1\subagents") == r"C:\c\projects\-b\s1\subagents"
        assert names.map("/c/projects/-a/s2.jsonl") is None
        assert names.map("/c/projects/-a") is None


class TestIndex:
    def test_the_client_s_own_index_is_rewritten_and_nothing_else_changes(self) -> None:
        text = (FACTS / "client-2.1.23" / "sessions-index.json").read_text("utf-8")
        edits = index_edits(text, PATHS, NAMES)
        assert sorted(show(edit.pointer) for edit in edits) == [
            "/entries/0/fullPath",
            "/entries/0/projectPath",
            "/originalPath",
        ]
        expected = text.replace(OLD, NEW).replace("-home-dev-code-my-app", "-home-dev-code-new-app")
        assert apply(text, edits) == expected
        assert {edit.anchor for edit in edits} == {
            None,
            json.loads(text)["entries"][0]["sessionId"],
        }

    def test_top_level_and_entries_of_every_version(self) -> None:
        text = json.dumps(
            {
                "originalPath": OLD,
                "projectPath": OLD + "/sub",
                "entries": [
                    {"sessionId": "a", "projectPath": OLD, "firstPrompt": OLD},
                    {"sessionId": "b", "projectPath": OLD + "-docker"},
                    {"sessionId": "c", "projectPath": None, "fullPath": 7},
                    {"projectPath": OLD, "nested": {"projectPath": OLD}},
                    "x",
                    [OLD],
                    {},
                ],
                "other": {"originalPath": OLD},
            }
        )
        found = moved(text, index_edits)
        expected = json.loads(text)
        expected["originalPath"], expected["projectPath"] = NEW, NEW + "/sub"
        expected["entries"][0]["projectPath"] = NEW
        expected["entries"][3]["projectPath"] = NEW
        assert found == expected

    @pytest.mark.parametrize(
        "entry",
        [
            at('{"projectPath":"/OLD"}').replace("/", "\\/"),
            at('{"project\\u0050ath" : "/OLD"}'),
            at('{"nested":{"projectPath":"x"},"projectPath":"/OLD"}'),
            at('{"nested":{"projectPath":"/OLD"},"projectPath":"/OLD"}'),
            at('{"nested":{"projectPath":"/OLD"},"project\\u0050ath":"/OLD"}'),
            at('{"projectPath":"/OLD","projectPath":"/OLD"}'),
            at('{"firstPrompt":"\\"projectPath\\":\\"x\\"","projectPath":"/OLD"}'),
            at('{"projectPath":"first","projectPath":"/OLD"}'),
            at('{"x":' + "[" * 5000 + "]" * 5000 + ',"projectPath":"/OLD"}'),
        ],
        ids=[
            "slashes",
            "escaped key",
            "nested",
            "the same nested",
            "the same nested, escaped key",
            "the same repeated",
            "in a string",
            "repeated",
            "deep",
        ],
    )
    def test_any_spelling_of_an_entry_is_understood(self, entry: str) -> None:
        text = f'{{"entries": [{entry}]}}'
        (edit,) = index_edits(text, PATHS, NAMES)
        assert edit.pointer == ("entries", 0, "projectPath")
        assert edit.text == f'"{NEW}"'
        assert text[edit.start : edit.end].replace("\\/", "/") == f'"{OLD}"'
        assert edit.start == text.rindex(text[edit.start : edit.end])

    @pytest.mark.parametrize(
        "text",
        [
            at('["/OLD"]'),
            at('"/OLD"'),
            "null",
            at('{"entries": {"projectPath": "/OLD"}}'),
            at('{"entries": [{"projectPath": ["/OLD"]}]}'),
            at('{"originalPath": "/OLD", "originalPath": "x"}'),
            at('{"originalPath": "x/OLD"}'),
        ],
    )
    def test_what_has_another_shape_stays(self, text: str) -> None:
        assert index_edits(text, PATHS, NAMES) == []

    @pytest.mark.parametrize("byte", [b"\x80", b"\xff"])
    def test_a_string_with_bytes_that_are_no_utf8_stays(self, byte: bytes) -> None:
        old = OLD.encode()
        data = b'{"originalPath": "%s/%s", "projectPath": "%s"}' % (old, byte, old)
        text = data.decode("utf-8", "surrogateescape")
        after = apply(text, index_edits(text, PATHS, NAMES)).encode("utf-8", "surrogateescape")
        assert after == data.replace(b'"%s"' % OLD.encode(), b'"%s"' % NEW.encode())

    def test_bytes_that_are_no_utf8_hold_no_other_string_back(self) -> None:
        data = b'{"projectPath": "%s", "originalPath": "%s/\xff"}' % (OLD.encode(), OLD.encode())
        text = data.decode("utf-8", "surrogateescape")
        (edit,) = index_edits(text, PATHS, NAMES)
        assert edit.pointer == ("projectPath",)

    @pytest.mark.parametrize("key", ["projectPath", "project\\u0050ath"])
    @pytest.mark.parametrize(("session", "anchor"), [('"s"', "s"), ("7", None), ("null", None)])
    def test_an_edit_is_anchored_to_its_session(
        self, key: str, session: str, anchor: str | None
    ) -> None:
        text = at(f'{{"entries": [{{"sessionId": {session}, "{key}": "/OLD"}}]}}')
        (edit,) = index_edits(text, PATHS, NAMES)
        assert edit.anchor == anchor

    @pytest.mark.parametrize("key", ["projectPath", "project\\u0050ath"])
    def test_a_value_that_is_mapped_to_itself_stays(self, key: str) -> None:
        text = at(f'[{{"{key}": "/OLD"}}]')
        entry = parse(text, lambda at: not at).items[0]
        assert entry_edits(text, entry, (), lambda path: path, lambda path: path) == []

    def test_one_entry_by_itself(self) -> None:
        text = at('[{"sessionId": "s", "projectPath": "/OLD"}]')
        entry = parse(text, lambda at: not at).items[0]
        (edit,) = entry_edits(text, entry, ("entries", 4), PATHS.map, NAMES.map)
        assert (edit.pointer, edit.anchor) == (("entries", 4, "projectPath"), "s")

    def test_entries_as_the_client_spells_them_are_never_opened(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Opening each of thousands of entries would take long."""

        def opened(*_: object) -> None:
            raise AssertionError("an entry was opened")

        monkeypatch.setattr(rewriter, "parse_at", opened)
        entry = {"sessionId": "s", "projectPath": OLD, "fullPath": "/c/projects/-a/s.jsonl"}
        before = {
            "entries": [entry, entry | {"projectPath": f"{OLD}/x"}, entry],
            "projectPath": OLD,
        }
        for indent in (None, 2):
            text = json.dumps(before, indent=indent)
            after = apply(text, index_edits(text, PATHS, NAMES))
            assert after == text.replace(OLD, NEW)
        text = at('{"entries": [{"project\\u0050ath": "/OLD"}]}')
        with pytest.raises(AssertionError, match="was opened"):  # the control
            index_edits(text, PATHS, NAMES)

    def test_entries_are_not_opened_before_they_are_needed(self) -> None:
        root = parse_index('{"entries": [{"sessionId": "s"}]}')
        entries = root.get("entries")
        assert entries is not None
        assert entries.items[0].value == {"sessionId": "s"}


class TestAnyDocument:
    def test_values_and_keys_that_are_paths_change(self) -> None:
        text = at('{"/OLD": 1, "a": ["/OLD/x", {"b": "/OLD"}], "c": "--x=/OLD"}')
        edits = string_edits(text, parse(text), ("p",), PATHS.map)
        assert [show(edit.pointer) for edit in edits] == [
            "/p/~1home~1dev~1code~1my-app",
            "/p/a/0",
            "/p/a/1/b",
        ]
        assert json.loads(apply(text, edits)) == {
            NEW: 1,
            "a": [NEW + "/x", {"b": NEW}],
            "c": "--x=" + OLD,
        }

    def test_a_key_is_not_renamed_to_one_that_is_there(self) -> None:
        text = at('{"/OLD": 1, "/NEW": 2}')
        assert string_edits(text, parse(text), (), PATHS.map) == []
        chain = PathMap((("/a", "/b"), ("/b", "/c")))
        text = '{"/a": 1, "/b": 2, "/c": 3}'
        assert string_edits(text, parse(text), (), chain.map) == []

    def test_what_is_mapped_to_itself_stays(self) -> None:
        text = '{"/a": "/a", "b": ["/a"]}'
        assert string_edits(text, parse(text), (), lambda value: value) == []

    def test_keys_may_be_swapped(self) -> None:
        swap = PathMap((("/a", "/b"), ("/b", "/a")))
        text = '{"/a": 1, "/b": 2}'
        assert apply(text, string_edits(text, parse(text), (), swap.map)) == '{"/b": 1, "/a": 2}'

    def test_two_keys_do_not_become_one(self) -> None:
        both = PathMap((("/a", "/c"), ("/b", "/c")))
        text = '{"/a": 1, "/b": 2}'
        assert string_edits(text, parse(text), (), both.map) == []

    def test_of_repeated_keys_the_last_value_changes_and_all_names(self) -> None:
        text = at('{"/OLD": "/OLD", "/OLD": "/OLD"}')
        after = apply(text, string_edits(text, parse(text), (), PATHS.map))
        assert after == at('{"/NEW": "/OLD", "/NEW": "/NEW"}')

    def test_walking_needs_no_recursion(self) -> None:
        text = "[" * 50_000 + f'"{OLD}"' + "]" * 50_000
        last = [spot for spot in walk(parse(text)) if spot.node.value == OLD]
        assert len(last) == 1
        assert last[0].pointer == (0,) * 50_000


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
        expected["plugins"]["a@b"][0]["projectPath"] = NEW
        assert moved(text, plugin_edits) == expected
        (edit,) = plugin_edits(text, PATHS, NAMES)
        assert edit.pointer == ("plugins", "a@b", 0, "projectPath")

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
        expected["sessionPermissionRules"]["addDirs"] = [NEW, "/srv"]
        assert moved(json.dumps(record), job_edits) == expected

    def test_desktop(self) -> None:
        record = {"cwd": OLD, "originCwd": OLD + "/x", "title": OLD}
        assert moved(json.dumps(record), desktop_edits) == {
            "cwd": NEW,
            "originCwd": NEW + "/x",
            "title": OLD,
        }


class TestPermissionRules:
    @pytest.mark.parametrize(
        "rule",
        [
            "Read(//OLD/**)",
            "Read(//OLD)",
            "Edit(/OLD/src/*)",
            "Write(/OLD)",
            "Bash(/OLD/x:*)",
            "Bash(/OLD:*)",
            "Bash(/OLD/bin/run)",
            "Bash(cd /OLD && make:*)",
            "Bash(git -C /OLD status:*)",
            'Bash(cd "/OLD/x" && make)',
            "Bash(cat '/OLD/x y'; ls /OLD)",
            "Bash(make -C /OLD/*)",
            "Bash(ls /OLD|wc)",
            "Bash(ls;/OLD/x)",
            "Bash(a&/OLD/x)",
            "Bash(a|/OLD/x)",
            "Bash(cat </OLD/x)",
            "Bash(ls >/OLD/x)",
            "Bash((cd /OLD))",
            "Bash((/OLD/x))",
            "Bash(ls\t/OLD/x\nmake)",
            'Bash(cp "/srv/a" "/OLD/b")',
            "Bash(cp '/srv/a' '/OLD/b')",
            r"Bash(cat '/OLD/a\x')",
            "Read(/OLD/a(b)c)",
            "mcp__x(/OLD/y)",
            "/OLD",
            "/OLD/x y",
        ],
    )
    def test_the_path_of_a_rule_moves(self, rule: str) -> None:
        before = rule.replace("/OLD", OLD)
        assert map_inside(before, PATHS) == rule.replace("/OLD", NEW)

    @pytest.mark.parametrize(
        "rule",
        [
            "Read(//OLD-docker/**)",
            "Read(//OLD*)",
            "Read(//OLD x/**)",
            "Read(///OLD/**)",
            "Read(~/OLD/**)",
            "Read(!//OLD)",
            "Edit(/OLD2/src/*)",
            "Bash(/OLD-docker/x:*)",
            "Bash(cat /OLD*)",
            "Bash(X=/OLD/x make)",
            "Bash(x --root=/OLD/x)",
            'Bash(cd "/srv/OLD")',
            'Bash(echo "see /OLD here")',
            r"Bash(cat /OLD\ x)",
            'Bash(cat /OLD"x")',
            "Bash(cat $HOME/OLD)",
            "Bash(cat X/OLD)",
            "Bash(cat /OLD$X)",
            "Bash(cat /OLD`x`)",
            "Bash(cat /OLD/$X)",
            "Bash(cat /OLD/a`x`)",
            r"Bash(cat /OLD/a\ x)",
            'Bash(cat /OLD/a"x y")',
            "Bash(cat /OLD/a'x y')",
            r'Bash(cat "/OLD/a\x")',
            'Bash(X="/OLD/x" make)',
            "(/OLD)",
            "a b(/OLD)",
            "Bash(/srv:/OLD)",
            "WebFetch(domain:x/OLD)",
            "bash /OLD/x.sh",
            "see /OLD",
        ],
    )
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
        assert moved(json.dumps(settings, indent=2), project_file_edits) == expected


class TestLines:
    ALIASES = (
        "/c/projects/-home-dev-code-my-app\n"
        "/c/projects/-other\r\n\n"
        "/c/projects/-home-dev-code-my-app\r\n"
    )

    def test_aliases_that_name_the_directory_change_and_keep_their_ends(self) -> None:
        changes = alias_lines(self.ALIASES, NAMES)
        after = change_lines(self.ALIASES, changes)
        assert after == self.ALIASES.replace("my-app", "new-app")
        assert change_lines(after, [(n, b, a) for n, a, b in changes]) == self.ALIASES

    @pytest.mark.parametrize("end", [" ", "X", "\t", "-docker"])
    def test_a_line_that_names_another_directory_stays(self, end: str) -> None:
        assert alias_lines(f"/c/projects/-home-dev-code-my-app{end}\n", NAMES) == []

    def test_a_line_that_has_moved_is_found_by_its_text(self) -> None:
        assert change_lines("x\nnew\n", [(0, "new", "old")]) == "x\nold\n"

    def test_a_line_that_is_gone_or_there_twice_is_left(self) -> None:
        for number in (0, 1, 2, 9):
            assert change_lines("x\n", [(number, "new", "old")]) == "x\n"
        assert change_lines("x\nnew\nnew", [(0, "new", "old")]) == "x\nnew\nnew"

    @pytest.mark.parametrize(
        ("theirs", "ours", "expected"),
        [
            ("a\nb\n", "b\nc\n", "c\n"),
            ("a\nb", "c", "\nc\n"),
            ("", "a\nb", "a\nb\n"),
            ("a\n", "a\n", ""),
            ("a", "a", ""),
            ("a\n", "\n\n  \n", ""),
            ("a\n", "b\nb\n", "b\n"),
            ("a  \r\n", "a\nb\r\n", "b\r\n"),
            ("a b\n", "a b\na\n", "a\n"),
            ("a\n", "  a\n", "  a\n"),
            ("a\n", "a  \n", ""),
            ("a\n", "b  \nb\n", "b  \n"),
        ],
    )
    def test_what_is_lacking_is_appended_once(self, theirs: str, ours: str, expected: str) -> None:
        assert appendix(theirs, ours) == expected
