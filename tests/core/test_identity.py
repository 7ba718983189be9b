"""Results are kept by identity, and only as long as their object lives."""

import gc
from dataclasses import dataclass

from fedclust.algorithms import make
from fedclust.core import Plan
from fedclust.core.identity import once_per_object
from fedclust.privacy.queries import plan_digest


@dataclass(frozen=True)
class Thing:
    number: int


def test_each_object_is_computed_once_and_equal_objects_apart() -> None:
    seen: list[Thing] = []

    @once_per_object
    def double(thing: Thing) -> int:
        seen.append(thing)
        return 2 * thing.number

    one, equal = Thing(3), Thing(3)
    assert [double(one), double(one), double(equal)] == [6, 6, 6]
    assert len(seen) == 2
    assert seen[0] is one
    assert seen[1] is equal


def test_the_place_of_an_object_that_is_gone_is_not_its_successors() -> None:
    @once_per_object
    def number_of(thing: Thing) -> int:
        return thing.number

    for number in range(2_000):  # most of them have the address of the one before
        assert number_of(Thing(number)) == number
    gc.collect()


def test_plans_of_equal_content_have_the_same_digest() -> None:
    one, equal, other = (Plan(make("llf-cm", k)) for k in (3, 3, 4))
    assert plan_digest(one) == plan_digest(equal) != plan_digest(other)
