"""Who packs and unpacks: ccmove, tar with gzip, and another tool; and what each achieved."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

from bench.contenders import Argv, Contender
from bench.states import Places, Truth, encoded

PACKING, UNPACKING = "packing", "unpacking"
TAR, UNTAR = "tar and gzip -1", "tar xzf && sync"
PORTAGE = "claude-portage"
ARCHIVE = "it.tar.gz"

# $1 is the home, $2 the archive, $3 OLD, $4 NEW, and $5 a program.
_TAR = 'tar c -C "$1/.claude" projects | gzip -1 > "$2" && sync "$2"'
_UNTAR = 'tar xzf "$2" -C "$1" && sync'
_PACK = '"$5" pack -q -o "$2" "$3"'
_UNPACK = '"$5" unpack -q "$2" "$4"'
# It wants the folders of the project itself, the new one not to be there.
_PORTAGE = 'mkdir -p "$3" && "$5" pack -o "$2" "$3" && sync "$2"'
_FROM_PORTAGE = '"$5" unpack "$2" "$4" && sync'
_ON_A_NEW_MACHINE = (
    ' && rm -rf "$1/.claude" "$1/.claude.json" "$3" && mkdir "$1/.claude"'
)


def packers(ccmove: Path, portage: Path | None) -> Sequence[Contender]:
    """The least that it costs first."""
    found = [
        Contender(TAR, _shell(_TAR), in_a_home=True),
        Contender("ccmove", _shell(_PACK, ccmove), in_a_home=True, judge=judge_packed),
    ]
    if portage is not None:
        script = _shell(_PORTAGE, portage)
        found.append(Contender(PORTAGE, script, in_a_home=True, most_rounds=1))
    return found


def unpackers(ccmove: Path, portage: Path | None) -> Sequence[Contender]:
    """Each on a machine without any state, from an archive of its own."""
    found = [
        _unpacker(UNTAR, _UNTAR, _TAR, ccmove),
        _unpacker("ccmove", _UNPACK, _PACK, ccmove),
    ]
    if portage is not None:
        before = f'rmdir "$4" && {_PORTAGE}'
        found.append(_unpacker(PORTAGE, _FROM_PORTAGE, before, portage))
    return found


def _unpacker(name: str, script: str, pack: str, program: Path) -> Contender:
    before = _shell(pack + _ON_A_NEW_MACHINE, program)
    return Contender(
        name,
        _shell(script, program),
        in_a_home=True,
        before=before,
        judge=None if name == UNTAR else judge_unpacked,
        most_rounds=1 if name == PORTAGE else None,
    )


def _shell(script: str, program: Path = Path()) -> Argv:
    def argv(places: Places, _: Path) -> list[str]:
        paths = (places.home, archive_at(places), places.old, places.new, program)
        return ["sh", "-c", script, "sh", *map(str, paths)]

    return argv


def archive_at(places: Places) -> Path:
    return places.root / ARCHIVE


def judge_packed(places: Places, made: Path, truth: Truth) -> str:
    """Every transcript is in it, as large as it is."""
    directory = made / ".claude" / "projects" / encoded(str(places.old))
    with tarfile.open(archive_at(places)) as tar:
        sizes = {Path(member.name).name: member.size for member in tar}
    missing = [
        name
        for name in truth.transcripts
        if sizes.get(name) != (directory / name).stat().st_size
    ]
    return f"{len(missing):,} transcripts missing" if missing else ""


def judge_unpacked(places: Places, made: Path, truth: Truth) -> str:
    """What is not there as it was, and what came that nobody asked for."""
    found = [
        _judge_transcripts(places, made, truth),
        _judge_prompts(places, made, truth),
        _judge_trust(places),
    ]
    return "; ".join(filter(None, found))


def _judge_transcripts(places: Places, made: Path, truth: Truth) -> str:
    before = made / ".claude" / "projects" / encoded(str(places.old))
    after = places.home / ".claude" / "projects" / encoded(str(places.new))
    missing = [name for name in truth.transcripts if not (after / name).is_file()]
    if missing:
        return f"{len(missing):,} transcripts missing"
    rewritten = redated = 0
    for name in truth.transcripts:
        if (before / name).read_bytes() != (after / name).read_bytes():
            rewritten += 1
        elif (before / name).stat().st_mtime_ns != (after / name).stat().st_mtime_ns:
            redated += 1
    if rewritten:
        return f"{rewritten:,} transcripts rewritten"
    return f"{redated:,} transcripts with another date" if redated else ""


def _judge_prompts(places: Places, made: Path, truth: Truth) -> str:
    said = _prompts(made, str(places.old))
    found = _prompts(places.home, str(places.new))
    lost = len(said) - sum(prompt in said for prompt in found)
    invented = sum(prompt not in said for prompt in found)
    words = []
    if lost:
        words.append(f"{lost:,} of {truth.moving:,} prompts lost")
    if invented:
        words.append(f"{invented:,} prompts invented")
    return "; ".join(words)


def _prompts(home: Path, path: str) -> list[tuple[str, int]]:
    """What was typed in a project and below it, and when."""
    found = []
    with open(home / ".claude" / "history.jsonl", encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if f"{entry['project']}/".startswith(f"{path}/"):
                found.append((entry["display"], entry["timestamp"]))
    return found


def _judge_trust(places: Places) -> str:
    file = places.home / ".claude.json"
    if not file.is_file():
        return ""
    config = json.loads(file.read_text(encoding="utf-8"))
    entry = config.get("projects", {}).get(str(places.new), {})
    taken = [
        key for key in ("hasTrustDialogAccepted", "allowedTools") if entry.get(key)
    ]
    return "trust and tools taken over unasked" if taken else ""
