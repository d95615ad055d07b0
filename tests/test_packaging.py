"""What is needed to get ccmove: packages, their versions, and the workflows that build
them.
"""

import importlib.machinery
import importlib.metadata
import importlib.util
import re
import shutil
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

from ccmove import __version__
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder

ROOT = Path(__file__).parents[1]
CI = ROOT / ".ci" / "run"
WORKFLOWS = ROOT / ".github" / "workflows"
PLUGIN = "plugin/.claude-plugin/plugin.json"


def script(name: str) -> ModuleType:
    path = str(ROOT / "scripts" / name)
    loader = importlib.machinery.SourceFileLoader(name, path)
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


dist, version = script("dist"), script("version")


def workflow(name: str) -> dict[str, Any]:
    text = (WORKFLOWS / f"{name}.yml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = YAML(typ="safe").load(text)
    return loaded


def made_by(commands: str) -> list[str]:
    """The targets of every `make` in a script."""
    targets = []
    for line in commands.splitlines():
        if match := re.match(r"\s*(?:\w+=\S+ )*make ([\w -]+)$", line):
            targets += match[1].split()
    return targets


def commands_of(job: dict[str, Any]) -> str:
    return "\n".join(step["run"] for step in job["steps"] if "run" in step)


def test_every_file_has_one_version() -> None:
    assert set(version.versions().values()) == {__version__}
    assert version.main(["check"]) == 0


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files with a version, and a plugin."""
    for name in version.PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def test_a_version_that_differs_or_is_missing_is_named(copy: Path) -> None:
    """The control."""
    assert version.main(["check"], copy) == 0
    for name in version.PLACES:
        text = (copy / name).read_text(encoding="utf-8")
        (copy / name).write_text(text.replace(__version__, "9.9.9"), encoding="utf-8")
        told = version.main(["check"], copy)
        assert name == "ccmove/__init__.py" or f"{name}: 9.9.9" in str(told)
        assert told != 0
        (copy / name).write_text(text, encoding="utf-8")
    text = (copy / PLUGIN).read_text(encoding="utf-8")
    (copy / PLUGIN).write_text(f'{{"version": "0.0.1"}}\n{text}', encoding="utf-8")
    assert f"{PLUGIN}: 0.0.1, {__version__}" in str(version.main(["check"], copy))
    (copy / PLUGIN).unlink()
    assert f"{PLUGIN}: none" in str(version.main(["check"], copy))


def test_a_version_is_set_everywhere_and_nothing_else_changes(copy: Path) -> None:
    before = {name: (copy / name).read_text("utf-8") for name in version.PLACES}
    assert version.main(["set", "1.2.3"], copy) == 0
    assert set(version.versions(copy).values()) == {"1.2.3"}
    assert version.main(["set", __version__], copy) == 0
    assert {name: (copy / name).read_text("utf-8") for name in before} == before
    assert version.main(["set", "new"], copy) != 0


def test_a_tag_fits_a_version_that_has_its_date(copy: Path) -> None:
    changes = copy / "CHANGELOG.md"
    text = changes.read_text(encoding="utf-8")
    text = re.sub(r"^(## \[\S+\] - ).*", r"\1unreleased", text, count=1, flags=re.M)
    changes.write_text(text, encoding="utf-8")
    assert "no date yet" in str(version.main(["check", f"v{__version__}"], copy))
    changes.write_text(text.replace("unreleased", "2030-01-31", 1), encoding="utf-8")
    assert version.main(["check", f"v{__version__}"], copy) == 0
    assert "not 1.0.0" in str(version.main(["check", "v1.0.0"], copy))
    # What is released stays as it was.
    assert version.main(["set", "1.0.0"], copy) == 0
    dated = f"## [1.0.0] - unreleased\n\n## [{__version__}] - 2030-01-31\n"
    assert dated in changes.read_text(encoding="utf-8")


@pytest.mark.parametrize("shell", dist.COMPLETIONS)
def test_the_completions_that_are_shipped_are_those_that_are_printed(
    shell: str, state: StateBuilder
) -> None:
    shared = dist.TARGETS["wheel"]["shared-data"]
    (source,) = [
        file for file, place in shared.items() if place == dist.COMPLETIONS[shell]
    ]
    shipped = (ROOT / source).read_text(encoding="utf-8")
    assert run_ccmove("completion", shell, state=state).out == shipped, "make man"


def test_what_is_foreign_or_missing_in_a_package_is_named(tmp_path: Path) -> None:
    """The control of `make dist`."""
    files = {"ccmove/cli/main.py", "README.md", "docs/json.md", "benchmarks/run"}
    expected = dist.expected_in_sdist(files)
    assert expected == files - {"benchmarks/run"} | dist.MADE
    wheel = dist.expected_in_wheel(files, "1.0")
    assert {"ccmove/py.typed", "ccmove/cli/main.py"} <= wheel
    assert "ccmove-1.0.data/data/share/man/man1/ccmove.1" in wheel
    assert "ccmove-1.0.dist-info/licenses/LICENSE" in wheel
    package = tmp_path / "x.whl"
    dist.compare(package, wheel, wheel)
    with pytest.raises(SystemExit, match=r"foreign in x\.whl: secret"):
        dist.compare(package, wheel | {"secret"}, wheel)
    with pytest.raises(SystemExit, match=r"missing in x\.whl: ccmove/py\.typed"):
        dist.compare(package, wheel - {"ccmove/py.typed"}, wheel)


def with_page(package: Path, page: str) -> Path:
    """A package of which only its page is there."""
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("ccmove-1.0.dist-info/METADATA", page)
    return package


def test_on_the_page_of_the_package_index_every_link_leads_somewhere(
    tmp_path: Path,
) -> None:
    """Within the repository they are relative; the control of `make dist`."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match=r"leads nowhere: docs/move\.svg"):
        dist.check_links(with_page(tmp_path / "x.whl", page))
    hook = dist.PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    for change in hook["substitutions"]:
        page = re.sub(change["pattern"], change["replacement"], page)
    dist.check_links(with_page(tmp_path / "x.whl", page))
    assert "](https://github.com/ccmove/ccmove/raw/v$HFPR_VERSION/docs/move.svg" in page


def test_each_dependency_has_a_lowest_version_that_is_tried() -> None:
    names = [limit.partition("==")[0] for limit in dist.lowest()]
    assert names == ["click", "deepdiff", "filelock", "psutil", "rich"]


def test_installing_needs_no_compiler() -> None:
    """A newer deepdiff asks for a compiled package; pyproject.toml says where that has
    no wheels.
    """
    needed = importlib.metadata.requires("deepdiff") or []
    always = [text for text in needed if "extra ==" not in text]
    assert [re.split(r"[<>= ]", text)[0] for text in always] == ["orderly-set"]


def test_ci_and_its_workflow_run_the_same_targets() -> None:
    jobs = workflow("ci")["jobs"]
    assert commands_of(jobs["all"]).split() == [
        "sudo",
        "--preserve-env=PATH",
        ".ci/run",
    ]
    everything = made_by(CI.read_text(encoding="utf-8"))
    for_all = ["check", "test", "dist"]
    with_beds = ["test-kill", "test-lives", "test-client", "test-apfs", "test-windows"]
    assert sorted(everything) == sorted(for_all + with_beds)
    # All that does not need root, the client, or one of the test beds.
    assert made_by(commands_of(jobs["test"])) == for_all
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in everything:
        assert re.search(rf"^{target}: ", makefile, re.MULTILINE), target


def test_where_there_is_no_make_the_same_is_typed() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    steps = commands_of(workflow("ci")["jobs"]["test"])
    for pattern in (
        r'pytest .* --maxschedchunk 1 -m ("not exhaustive and not client")',
        r"(--editable \. --group dev --constraint constraints-dev\.txt)",
    ):
        (in_make,) = {*re.findall(pattern, makefile)}
        assert in_make in steps
    assert "python scripts/dist" in steps


def test_a_release_is_of_a_tag_trusted_and_attested() -> None:
    release = workflow("release")
    trigger = release.get("on", release.get(True))
    assert [*trigger] == ["push"]
    assert [*trigger["push"]] == ["tags"]
    build, publish = release["jobs"]["build"], release["jobs"]["publish"]
    assert made_by(commands_of(build)) == ["dist"]
    assert "scripts/version check" in commands_of(build)
    assert publish["needs"] == "build"
    assert publish["environment"]
    assert publish["permissions"] == {
        "id-token": "write",
        "attestations": "write",
        "contents": "read",
    }
    used = [step["uses"].partition("@")[0] for step in publish["steps"]]
    assert used == [
        "actions/download-artifact",
        "actions/attest-build-provenance",
        "pypa/gh-action-pypi-publish",
    ]
    assert "secrets" not in (WORKFLOWS / "release.yml").read_text(encoding="utf-8")
    said = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "has never run" in said


@pytest.mark.parametrize("name", ["bug", "question"])
def test_a_template_says_what_to_attach_and_what_to_leave_out(name: str) -> None:
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text("utf-8")
    assert "ccmove --version" in text
    for word in ("paths", "titles", "prompts", "tokens"):
        assert re.search(rf"[Ll]eave\s+out[\s\S]*{word}", text), word
    if name == "bug":
        assert "ccmove doctor --json" in text


def test_the_address_of_the_project_is_kept_in_one_place() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob(".github/**/*.yml"),
    ]
    assert len(pages) > 15
    for page in pages:
        assert "github.com/ccmove" not in page.read_text(encoding="utf-8"), page
