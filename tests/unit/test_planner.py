"""From a look at the state to a plan: what is planned, what is left alone, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ccmove.claude.layout import Layout, find_layout
from ccmove.claude.ownership import Ledger
from ccmove.claude.reading import Fingerprint
from ccmove.errors import RefusedError
from ccmove.plan import planner
from ccmove.plan.model import FileChange, LeftAlone, Plan, Request
from ccmove.plan.planner import plan_move
from ccmove.rewrite import history
from tests.support.hints import hint_of
from tests.support.state import ProjectHandle, StateBuilder, encoded_name


@pytest.fixture
def layout(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("HOME", str(state.home))
    return find_layout(None, {})


@pytest.fixture
def app(state: StateBuilder) -> ProjectHandle:
    return state.project("my-app", index=True)


def request(state: StateBuilder, **more: Any) -> Request:
    return Request(((str(state.code / "my-app"), str(state.code / "new")),), **more)


def file_of(plan: Plan, path: Path) -> FileChange:
    (found,) = [file for file in plan.files if file.path == path]
    return found


class TestAPlainMove:
    def test_everything_that_knows_the_path_is_planned(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        plugins = layout.plugins
        plugins.parent.mkdir()
        plugins.write_text(json.dumps({"plugins": {"a@b": [{"projectPath": app.path}]}}))
        plan = plan_move(layout, request(state), Ledger())
        target = layout.projects / encoded_name(str(state.code / "new"))
        assert plan.kind == "move"
        assert plan.paths.moves == request(state).moves
        assert [(s.kind, s.path, s.target) for s in plan.steps] == [
            ("rename", app.directory, target)
        ]
        assert {(file.path, file.ends, file.place) for file in plan.files} == {
            (app.index, target / app.index.name, "index"),
            (state.config_file, state.config_file, "config"),
            (plugins, plugins, "other"),
        }
        assert plan.folders == ()
        assert plan.warnings == ()

    def test_what_another_project_calls_the_directory_is_planned(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        aliases = state.project("other").directory / ".session-aliases"
        aliases.write_text(f"{app.directory}\n")
        plan = plan_move(layout, request(state), Ledger())
        target = layout.projects / encoded_name(str(state.code / "new"))
        assert file_of(plan, aliases).after == f"{target}\n".encode()

    def test_a_document_comes_with_what_it_is_changed_from_and_how(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        before = state.config_file.read_bytes()
        change = file_of(plan_move(layout, request(state), Ledger()), state.config_file)
        new = str(state.code / "new")
        assert change.before == before
        assert change.after == before.replace(f'"{app.path}"'.encode(), f'"{new}"'.encode())
        assert [(e.kind, e.pointer, e.describe()) for e in change.edits] == [
            ("key", ("projects", app.path), (app.path, new))
        ]
        assert change.seen == Fingerprint.of(state.config_file.stat())

    def test_bytes_that_are_no_utf8_stay(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        before = state.config_file.read_bytes().replace(b'"numStartups"', b'"odd\xff"')
        state.config_file.write_bytes(before)
        change = file_of(plan_move(layout, request(state), Ledger()), state.config_file)
        assert change.after is not None
        assert change.before == before
        assert b'"odd\xff"' in change.after

    def test_so_it_is_in_every_other_document(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        job = layout.jobs / "1a2b" / "state.json"
        job.parent.mkdir(parents=True)
        job.write_bytes(b'{"cwd": "%b", "odd": "\xff"}' % app.path.encode())
        change = file_of(plan_move(layout, request(state), Ledger()), job)
        new = str(state.code / "new")
        assert change.after == b'{"cwd": "%b", "odd": "\xff"}' % new.encode()
        assert [(e.kind, e.pointer, e.describe()) for e in change.edits] == [
            ("set", ("cwd",), (app.path, new))
        ]

    def test_the_history_comes_with_where_it_changes(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        state.add_prompt("new", "there already")
        plan = plan_move(layout, request(state), Ledger())
        assert plan.history is not None
        assert plan.history.path == state.history
        assert plan.history.seen == Fingerprint.of(state.history.stat())
        (part,) = plan.history.parts
        assert part.file == state.history
        assert part.scan.counts == {(app.path, str(state.code / "new")): 3}
        assert plan.native == ()

    def test_a_history_without_the_path_is_not_changed(
        self, layout: Layout, state: StateBuilder
    ) -> None:
        state.project("my-app", prompts=0)
        state.add_prompt("other", "hello")
        state.add_prompt("new", "there already")
        state.add_prompt("new/deep", "and below")
        plan = plan_move(layout, request(state), Ledger())
        assert plan.history is None
        assert sorted(plan.native) == [str(state.code / "new"), str(state.code / "new/deep")]

    def test_one_prompt_is_a_change(self, layout: Layout, state: StateBuilder) -> None:
        state.project("my-app", prompts=1)
        plan = plan_move(layout, request(state), Ledger())
        assert plan.history is not None
        assert plan.history.lines == 1

    def test_there_may_be_no_history_and_no_config(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        state.history.unlink()
        state.config_file.unlink()
        plan = plan_move(layout, request(state), Ledger())
        assert plan.history is None
        assert [file.path for file in plan.files] == [app.index]
        assert plan.projects[0].transcripts == 2

    def test_a_project_known_from_its_prompts_is_taken(
        self, layout: Layout, state: StateBuilder
    ) -> None:
        handle = state.project("my-app/web", sessions=0, config=None)
        handle.directory.mkdir()
        (handle.directory / "notes.txt").write_text("x")
        plan = plan_move(layout, request(state), Ledger())
        assert [step.path for step in plan.steps] == [handle.directory]

    def test_how_far_the_look_at_the_history_is_can_be_watched(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        seen: list[int] = []
        plan_move(layout, request(state), Ledger(), tick=seen.append)
        assert seen == [state.history.stat().st_size]

    def test_transcripts_are_counted_and_measured(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        (app.directory / "link.jsonl").symlink_to("nowhere")
        plan = plan_move(layout, request(state), Ledger())
        (project,) = plan.projects
        sizes = [transcript.stat().st_size for transcript in app.transcripts]
        assert (project.transcripts, project.size) == (2, sum(sizes))
        assert plan.left_alone == (
            LeftAlone(
                str(layout.projects),
                "the old path stays inside 2 transcripts; Claude Code goes by the directory",
            ),
        )

    def test_without_transcripts_nothing_is_said_of_them(
        self, layout: Layout, state: StateBuilder
    ) -> None:
        state.project("my-app", sessions=0)
        assert plan_move(layout, request(state), Ledger()).left_alone == ()

    def test_why_a_directory_is_taken_is_noted(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        notes = plan_move(layout, request(state), Ledger()).notes
        assert any(app.name in note for note in notes)

    def test_nothing_known_is_nothing_planned(self, layout: Layout, state: StateBuilder) -> None:
        state.project("other")
        assert not plan_move(layout, request(state), Ledger()).changes_anything


class TestOnly:
    """With `--only` what is known below OLD stays, wherever it is known from."""

    def kept(self, layout: Layout, state: StateBuilder, ledger: Ledger | None = None) -> set[str]:
        plan = plan_move(layout, request(state, only=True), ledger or Ledger())
        return {str(Path(path).relative_to(state.code / "my-app")) for path in plan.paths.kept}

    def test_from_the_config_file(self, layout: Layout, state: StateBuilder) -> None:
        state.project("my-app/web", sessions=0, prompts=0)
        assert self.kept(layout, state) == {"web"}

    def test_from_the_history(self, layout: Layout, state: StateBuilder) -> None:
        state.add_prompt("my-app/web", "hello")
        assert self.kept(layout, state) == {"web"}

    def test_from_transcripts(self, layout: Layout, state: StateBuilder) -> None:
        state.project("my-app/web", prompts=0, config=None)
        assert self.kept(layout, state) == {"web"}

    def test_from_an_index(self, layout: Layout, state: StateBuilder) -> None:
        handle = state.project("my-app/web", prompts=0, config=None, index=True, subagents=False)
        for transcript in handle.transcripts:
            transcript.unlink()
        assert self.kept(layout, state) == {"web"}

    def test_from_earlier_moves(self, layout: Layout, state: StateBuilder) -> None:
        web = str(state.code / "my-app" / "web")
        ledger = Ledger()
        ledger.owners.update({"-x": {web, "/elsewhere"}, "-y": {f"{web}/deep"}})
        assert self.kept(layout, state, ledger) == {"web", "web/deep"}

    def test_not_the_project_itself_and_nothing_beside_it(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        state.project("my-app-docker")
        state.project("other")
        assert self.kept(layout, state) == set()

    def test_otherwise_they_move_along(self, layout: Layout, state: StateBuilder) -> None:
        web = state.project("my-app/web")
        both = plan_move(layout, request(state), Ledger())
        assert both.paths.kept == frozenset()
        assert [project.path for project in both.projects] == [web.path]
        assert plan_move(layout, request(state, only=True), Ledger()).projects == ()


class TestLeftAlone:
    def test_a_value_that_only_contains_the_path_is_named(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        flag = f"--dir={app.path}"
        config = state.config()
        config["projects"][app.path]["mcpServers"] = {"x": {"args": [flag]}}
        state.write_config(config)
        left = plan_move(layout, request(state), Ledger()).left_alone
        pointer = f"/projects/{str(app.path).replace('/', '~1')}/mcpServers/x/args/0"
        assert (
            LeftAlone(
                str(state.config_file),
                f"{pointer}: {flag!r} contains the path but is not one",
                "edit it by hand if it should follow",
            )
            in left
        )

    def test_a_file_of_yours_that_names_the_path_is_named(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        (state.config_dir / "notes.txt").write_text(app.path)
        left = plan_move(layout, request(state), Ledger()).left_alone
        assert [row.file for row in left] == [
            str(layout.projects),
            str(state.config_dir / "notes.txt"),
        ]

    def test_a_file_is_named_as_it_will_be_called_and_by_what_it_will_hold(
        self, layout: Layout, state: StateBuilder
    ) -> None:
        app = state.project("my-app", index=True, sessions=0)
        (app.directory / "memory").mkdir()
        (app.directory / "memory" / "MEMORY.md").write_text(f"see {app.path}/README\n")
        left = plan_move(layout, request(state), Ledger()).left_alone
        target = layout.projects / encoded_name(str(state.code / "new"))
        assert [row.file for row in left] == [str(target / "memory" / "MEMORY.md")]

    def test_a_job_whose_folder_is_rewritten_does_not_name_it_any_more(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        job = layout.jobs / "1a2b" / "state.json"
        job.parent.mkdir(parents=True)
        job.write_text(json.dumps({"cwd": app.path}))
        plan = plan_move(layout, request(state), Ledger())
        assert file_of(plan, job).place == "other"
        assert str(job) not in [row.file for row in plan.left_alone]

    def test_what_can_not_be_read_is_named(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        layout.plugins.parent.mkdir()
        layout.plugins.write_text("{")
        left = plan_move(layout, request(state), Ledger()).left_alone
        assert str(layout.plugins) in [row.file for row in left]

    def test_a_shared_directory_that_is_not_taken_whole_is_explained(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        shared = state.project("my_app", make_folder=True)
        assert shared.directory == app.directory
        (app.directory / "notes.txt").write_text("whose?")
        plan = plan_move(layout, request(state), Ledger())
        assert [project.kind for project in plan.projects] == ["split"]
        assert any("notes.txt" in f"{row.file} {row.what}" for row in plan.left_alone)


class TestWarnings:
    def lines(self, layout: Layout, state: StateBuilder) -> tuple[str, ...]:
        return plan_move(layout, request(state), Ledger()).warnings

    def test_lines_that_are_no_json_are_counted(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        broken = f'{{"project":"{app.path}"\n'.encode()
        state.history.write_bytes(state.history.read_bytes() + broken)
        assert self.lines(layout, state) == (
            f"{state.history}: 1 line with the old path, but not valid JSON, left as found",
        )
        state.history.write_bytes(state.history.read_bytes() + broken)
        assert "2 lines with" in self.lines(layout, state)[0]

    def test_lines_that_are_too_long_are_counted(
        self,
        layout: Layout,
        state: StateBuilder,
        app: ProjectHandle,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(history, "LONGEST_LINE", 1 << 20)
        state.history.write_bytes(b"x" * (1 << 21) + b"\n")
        assert self.lines(layout, state) == (
            f"{state.history}: 1 line longer than 64 MiB, left as found",
        )


class TestConflicts:
    @pytest.fixture
    def clash(self, state: StateBuilder) -> tuple[Path, Path]:
        """Two sessions of one name that differ, one in each of OLD and NEW."""
        session = state.add_session("my-app", text="one")
        state.add_session("new", session_id=session, text="another")
        directories = (encoded_name(str(state.code / name)) for name in ("my-app", "new"))
        old, new = (state.projects / name / f"{session}.jsonl" for name in directories)
        return old, new

    def test_two_files_of_one_name_are_refused(
        self,
        layout: Layout,
        state: StateBuilder,
        clash: tuple[Path, Path],
    ) -> None:
        with pytest.raises(RefusedError) as caught:
            plan_move(layout, request(state), Ledger())
        error = caught.value
        assert str(error) == (
            f"files of the same name differ: {clash[0]}; what loses would stay in the backup"
        )
        assert hint_of(error, ["a", "b"]) == (
            "to keep those of the new path: ccmove --on-conflict keep-new a b\n"
            "to keep those of the old path: ccmove --on-conflict keep-old a b"
        )
        assert error.details == (f"{clash[0]}  differs from  {clash[1]}",)

    @pytest.mark.parametrize("more", [1, 2])
    def test_how_many_there_are_is_said(
        self, layout: Layout, state: StateBuilder, clash: tuple[Path, Path], more: int
    ) -> None:
        for text, path in zip("ab", clash, strict=True):
            for name in range(more):
                path.with_name(f"{name}.txt").write_text(text)
        with pytest.raises(RefusedError, match=f" and {more} more; what loses") as caught:
            plan_move(layout, request(state), Ledger())
        assert len(caught.value.details) == 1 + more

    def test_what_loses_goes_where_the_run_says(
        self, layout: Layout, state: StateBuilder, clash: tuple[Path, Path]
    ) -> None:
        chosen = request(state, on_conflict="keep-new")
        places = {
            None: layout.own / "displaced",
            layout.backups / "x" / "displaced": layout.backups / "x" / "displaced",
        }
        for given, expected in places.items():
            plan = plan_move(layout, chosen, Ledger(), given)
            (found,) = [step for step in plan.steps if step.path == clash[0]]
            assert found.target is not None
            assert found.target.parent == expected

    def test_two_directories_that_swap_go_by_way_of_our_own(
        self, layout: Layout, state: StateBuilder
    ) -> None:
        one, other = (state.project(name) for name in ("my-app", "new"))
        swap = Request(((one.path, other.path), (other.path, one.path)))
        plan = plan_move(layout, swap, Ledger())
        places = [step.target.parent for step in plan.steps if step.target is not None]
        assert sorted(places) == sorted([layout.own / "work", layout.projects, layout.projects])


def test_an_index_that_is_made_where_another_moves_away_stays_where_it_is_made(
    layout: Layout, state: StateBuilder
) -> None:
    app, new = (state.project(name, index=True) for name in ("my-app", "new"))
    shared = state.project("my_app", index=True, make_folder=True)
    assert shared.directory == app.directory
    moves = ((app.path, new.path), (new.path, str(state.code / "third")))
    plan = plan_move(layout, Request(moves), Ledger())
    made = [(file.path, file.ends) for file in plan.files if file.is_new]
    assert made == [(new.index, new.index)]


class TestMoveFolder:
    def test_the_folder_is_renamed_too(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        folder = state.code / "my-app"
        (folder / ".claude").mkdir(parents=True)
        settings = folder / ".claude" / "settings.json"
        settings.write_text(json.dumps({"x": app.path}))
        asked = request(state, move_folder=True, project_files=True)
        plan = plan_move(layout, asked, Ledger())
        assert plan.folders == asked.moves
        new = state.code / "new"
        assert (folder, new) in [(step.path, step.target) for step in plan.steps]
        change = file_of(plan, settings)
        assert change.ends == new / ".claude" / "settings.json"

    @pytest.mark.parametrize("inside", ["config_dir", "config_file"])
    def test_a_folder_with_the_state_in_it_is_refused(
        self, layout: Layout, state: StateBuilder, inside: str
    ) -> None:
        place = state.code / "my-app"
        elsewhere = state.root / "elsewhere"
        chosen = (
            replace(layout, config_dir=place / "state")
            if inside == "config_dir"
            else replace(layout, config_file=place / "state.json", config_dir=elsewhere)
        )
        with pytest.raises(RefusedError) as caught:
            plan_move(chosen, request(state, move_folder=True), Ledger())
        assert str(caught.value) == f"{chosen.config_dir} lies in {place}, which is to be renamed"
        assert hint_of(caught.value) == (
            f"rename the folder yourself, then: ccmove --config-dir DIR {place} NEW"
        )

    def test_otherwise_it_is_not(
        self, layout: Layout, state: StateBuilder, app: ProjectHandle
    ) -> None:
        (state.code / "new").mkdir()
        plan = plan_move(layout, request(state), Ledger())
        assert all(step.path.is_relative_to(layout.projects) for step in plan.steps)


def test_a_file_system_that_ignores_case_is_asked_for(
    layout: Layout, state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = state.project("my-app")
    asked: list[Path] = []

    def ignores_case(path: Path) -> bool:
        asked.append(path)
        return True

    monkeypatch.setattr(planner, "ignores_case", ignores_case)
    other_case = Request(((app.path, str(state.code / "My-App")),))
    plan = plan_move(layout, other_case, Ledger())
    assert asked == [layout.projects]
    assert [step.kind for step in plan.steps] == ["rename"]
