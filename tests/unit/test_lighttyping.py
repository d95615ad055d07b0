"""The named tuples of `ccmove.lighttyping` are what typing's are, as far as they are used."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from ccmove import lighttyping


class Light(lighttyping.NamedTuple):
    """With a docstring."""

    path: str
    size: int = 3
    kept: tuple[str, ...] = ()

    @property
    def twice(self) -> int:
        return 2 * self.size

    @classmethod
    def of(cls, size: int) -> Light:
        return cls("/made", size)


class Usual(typing.NamedTuple):
    path: str
    size: int = 3
    kept: tuple[str, ...] = ()


class Empty(lighttyping.NamedTuple):
    """No fields at all."""


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (("/a",), {}),
        (("/a", 4), {}),
        (("/a", 4, ("x",)), {}),
        ((), {"path": "/a"}),
        ((), {"kept": ("y",), "path": "/a"}),
        (("/a",), {"kept": ("y",)}),
        (("/a",), {"size": 5, "kept": ()}),
    ],
)
def test_values_are_given_by_place_by_name_or_by_default(
    values: tuple[typing.Any, ...], named: dict[str, typing.Any]
) -> None:
    light, usual = Light(*values, **named), Usual(*values, **named)
    assert light == usual
    assert hash(light) == hash(usual)
    assert (light.path, light.size, light.kept) == tuple(usual)
    assert light._asdict() == usual._asdict()
    assert Light._make(iter(usual)) == light
    assert type(Light._make(usual)) is Light
    assert list(light._asdict()) == list(usual._asdict())
    assert repr(light) == repr(usual).replace("Usual", "Light")


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        ((), {"size": 3}),
        (("/a", 4, (), "more"), {}),
        (("/a",), {"path": "/b"}),
        (("/a",), {"unknown": 1}),
        (("/a", 4, ()), {"size": 5}),
    ],
)
def test_what_is_missing_or_too_much_is_an_error(
    values: tuple[typing.Any, ...], named: dict[str, typing.Any]
) -> None:
    for kind in (Usual, Light):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_replacing_a_value_leaves_the_others_and_the_old_one() -> None:
    light = Light("/a", 4)
    changed = light._replace(path="/b")
    assert type(changed) is Light
    assert (changed, light) == (("/b", 4, ()), ("/a", 4, ()))
    with pytest.raises(TypeError):
        light._replace(unknown=1)


def test_nothing_can_be_set() -> None:
    for name in ("path", "unknown"):
        with pytest.raises(AttributeError):
            setattr(Light("/a"), name, "/b")
    assert not hasattr(Light("/a"), "__dict__")


def test_a_class_keeps_its_methods_and_its_docstring() -> None:
    assert Light.__doc__ == "With a docstring."
    assert Light.of(4).twice == 8
    assert Empty() == ()


def test_it_can_be_matched_copied_and_pickled() -> None:
    match Light("/a", 4):
        case Light(path, size):
            assert (path, size) == ("/a", 4)
        case _:
            pytest.fail("no match")
    for again in (copy.deepcopy, lambda light: pickle.loads(pickle.dumps(light))):
        light = again(Light("/a", 4, ("x",)))
        assert (type(light), light) == (Light, ("/a", 4, ("x",)))


def test_fields_are_the_ones_that_are_annotated() -> None:
    assert Light._fields == Usual._fields
    assert Light._field_defaults == Usual._field_defaults
