"""Manifests as JSON, and back.

A manifest is data, not an order: whoever reads one believes nothing. Version and
checksum are right, every value is what its type says, and what was read is written
again as it was, each path below a root that it may have: so there is nothing more in
it, nothing less, and nothing in another way.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.plan.model import Id, ProjectMove
from ccmove.plan.records import Record, read, write
from ccmove.run.manifest import (
    Manifest,
    SavedNote,
    Wrote,
    WroteHistory,
    config_name,
    sha256,
)
from ccmove.run.roots import PathWriter, Roots

SCHEMA = 6

Runs = dict[str, tuple[ProjectMove, ...]]  # ID -> what that run brought where


@dataclass(frozen=True, slots=True)
class _Ledger:
    """What is known of runs whose backups were pruned."""

    runs: tuple[tuple[Id, tuple[ProjectMove, ...]], ...]


# -- version and checksum


def sealed(body: Record) -> Record:
    """A record as it is written, with the version and a checksum over all of it."""
    record: Record = {"schema": SCHEMA, **body}
    return {**record, "checksum": sha256(_json(record).encode())}


def unsealed(record: object) -> Record:
    """What a record holds; ValueError when it is not one that this version wrote."""
    body = dict(record) if type(record) is dict else {}
    version = body.pop("schema", None)
    if version != SCHEMA:
        raise ValueError(f"unknown version {version!r}")
    body.pop("checksum", None)
    if _json(sealed(body)) != _json(record):
        raise ValueError("it was changed since it was written")
    return body


def _json(record: object) -> str:
    return json.dumps(record, sort_keys=True)


# -- a manifest


def to_json(manifest: Manifest, layout: Layout, run_dir: Path) -> Record:
    """The record of a manifest that is, or will be, in the directory `run_dir`."""
    paths = PathWriter(Roots(layout, run_dir), manifest)
    return sealed(write(manifest, paths.write))


def from_json(record: object, layout: Layout, run_dir: Path) -> Manifest:
    """The manifest in this directory; ValueError when no run of ours wrote it."""
    body = unsealed(record)
    manifest = read(Manifest, body, Roots(layout, run_dir).read)
    if run_dir not in (layout.run_dir, layout.backups / manifest.id):
        raise ValueError(f"it belongs to {manifest.id}")
    again = to_json(manifest, layout, run_dir)
    if _json(again) != _json(record):
        raise ValueError("it has something in it that no run writes")
    _refuse_other_numbers(manifest)
    then = manifest.config_file
    now = config_name(layout)
    forms = {wrote.form for wrote in manifest.writes}
    if then != now and "config" in forms:
        what = f"the config file was {then} ($CLAUDE_CONFIG_DIR?), not {now}"
        raise ValueError(what)
    return manifest


def _refuse_other_numbers(manifest: Manifest) -> None:
    """Each file that was saved or staged has the number of its operation, and what is
    said to be replaced was there.
    """
    numbered: list[tuple[int, Wrote | WroteHistory | SavedNote]] = [
        *enumerate(manifest.notes_saved)
    ]
    replaced: list[Path] = []
    for number, op in enumerate(manifest.operations):
        if isinstance(op, Wrote | WroteHistory):
            numbered.append((number, op))
            if op.before is not None:
                replaced.append(op.path)
    for number, row in numbered:
        if row.number != number:
            raise ValueError(f"{str(row.path)!r} has another number")
    if manifest.operations and tuple(replaced) != manifest.replaced:
        raise ValueError("what it replaced is not what it staged")


# -- the ledger


def ledger_to_json(runs: Runs) -> Record:
    return sealed(write(_Ledger(tuple(runs.items()))))


def ledger_from_json(record: object) -> Runs:
    """What each run brought where; ValueError when no run of ours wrote this."""
    return dict(read(_Ledger, unsealed(record)).runs)
