"""Holds every `--json` output that a test sees against docs/ccmove.schema.json.

Programs that read the output go by the schema, and must accept keys that it does not
have. Here none is accepted: what is printed is published.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.systems import windows

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCHEMA = DOCS / "ccmove.schema.json"
PAGE = DOCS / "json.md"
# Answered with a text, whatever else is typed.
TEXTS = {"-h", "--help", "-V", "--version", "help", "completion", "demo"}


def check_json(words: Sequence[str], exit_code: int, out: str) -> None:
    """AssertionError unless this is what the schema says of a line with `--json`.

    A program that was killed, or could not write, printed nothing or a part.
    """
    options = words[: words.index("--")] if "--" in words else words
    if "--json" not in options or TEXTS.intersection(words):
        return
    if exit_code < 0 or not out:
        return
    record = json.loads(out)
    errors = [*problems(record)]
    if (record.get("status"), exit_code) not in _outcomes():
        errors.append(f"{PAGE.name} has no {record.get('status')} with {exit_code}")
    assert not errors, "\n".join([f"ccmove {' '.join(words)}", *errors])


@cache
def _outcomes() -> set[tuple[str, int]]:
    """Each status with its exit codes, as the table of the page has them."""
    outcomes: set[tuple[str, int]] = set()
    page = PAGE.read_text(encoding="utf-8")
    for statuses, codes in re.findall(r"^\| (`.*?) \| ([\d, ]+) \|", page, re.M):
        for status in re.findall(r"`(\w+)`", statuses):
            outcomes.update((status, int(code)) for code in codes.split(", "))
    return outcomes


def problems(record: object) -> Iterator[str]:
    """Where an object is not what was published."""
    if windows.HERE:  # jsonschema is not among what Wine's Python has
        return
    for error in _validator().iter_errors(record):
        by_object = defaultdict(list)
        for part in error.context:
            by_object[part.schema_path[0]].append(part)
        # Of the object that is most like it.
        for part in min(by_object.values(), key=len, default=[error]):
            yield f"{part.json_path}: {part.message[:300]}"


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(closed(schema))


def closed(schema: Any) -> Any:
    """The schema with no key allowed but those that it names."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: closed(part) for name, part in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        parts["additionalProperties"] = False
    return parts
