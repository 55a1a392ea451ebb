"""What a snapshot may cost, and what is said of that for which it was not enough."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from jupyter_skills.namespace.budget import Budget, Reason
from jupyter_skills.namespace.uncovered import uncovered
from jupyter_skills.namespace.walk import Node, Walk
from tests.namespace.space import PLENTY, Space, kinds

BIG = "import numpy as np; big = np.zeros(10**6); small = [1]; both = {'big': big, 'seen': [0]}"
MEGABYTE = 1 << 20


def test_what_is_too_large_is_named_and_the_rest_is_given_back() -> None:
    space = Space(BIG)
    delta = space.run("small.append(2); big = None", memory=MEGABYTE)
    assert [tuple(one) for one in delta.uncovered] == [
        ("big", "ndarray, 1,000,000 float64, 8.0 MB", "too large"),
        ("both", "dict, 2 items, with ndarray, 1,000,000 float64, 8.0 MB", "too large"),
    ]
    undone = space.undo(delta)
    assert undone.left == ()
    assert space["small"] == [1]
    assert space["big"] is space["both"]["big"]


def test_a_change_to_what_is_too_large_is_seen_by_a_sample_and_not_given_back() -> None:
    space = Space(BIG)
    delta = space.run("big[:] = 5; both['seen'].append(1); small.append(2)", memory=MEGABYTE)
    assert kinds(delta) == {"big": "mutated", "small": "mutated", "both": "mutated"}
    undone = space.undo(delta)
    assert [change.name for change in undone.given_back] == ["small"]
    assert [left.name for left in undone.left] == ["big", "both"]
    assert "too large" in undone.left[0].reason
    assert space["both"]["seen"] == [0, 1]
    assert space["big"][0] == 5


def test_force_gives_back_such_parts_as_were_copied() -> None:
    space = Space(BIG)
    delta = space.run("big[:] = 5; both['seen'].append(1)", memory=MEGABYTE)
    undone = space.undo(delta, force=True)
    assert space["both"]["seen"] == [0]
    assert [left.name for left in undone.left] == ["both", "big"]
    assert "what could be copied" in undone.left[0].reason


def test_what_two_names_share_is_given_back_if_it_is_whole_for_one_of_them() -> None:
    space = Space(f"{BIG}; seen = both['seen']")
    delta = space.run("seen.append(1)", memory=MEGABYTE)
    undone = space.undo(delta)
    assert space["seen"] == [0]
    assert [change.name for change in undone.given_back] == ["seen"]
    assert [left.name for left in undone.left] == ["both"]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("list(range(10**6))", "x.append(1)"),
        ("list(range(10**6))", "x[:] = x[::-1]"),
        ("dict.fromkeys(range(10**6))", "x['a'] = 1"),
        ("set(range(10**6))", "x.clear()"),
        ("bytearray(10**7)", "x[:] = b'1' * 10**7"),
        ("__import__('pandas').DataFrame({'a': range(10**6)})", "x['a'] *= 2"),
        ("__import__('pandas').Series(range(10**6))", "x.name = 's'; x[0] = 5"),
    ],
)
def test_samples_see_such_changes(value: str, code: str) -> None:
    space = Space(f"x = {value}")
    delta = space.run(code, memory=MEGABYTE)
    assert delta.uncovered[0].reason == "too large"
    assert kinds(delta) == {"x": "mutated"}
    assert [left.name for left in space.undo(delta).left] == ["x"]


def test_without_any_time_names_are_given_back_all_the_same() -> None:
    space = Space("a = [1]; b = {'k': 1}; c = 5; gone = [2]")
    gone = space["gone"]
    delta = space.run("a = None; c = 6; del gone; b['k'] = 2; new = 1", seconds=0)
    assert {one.name: one.reason for one in delta.uncovered} == dict.fromkeys(("a", "b", "gone"), "no time left")
    undone = space.undo(delta)
    assert undone.left == ()
    assert (space["a"], space["c"]) == ([1], 5)
    assert space["gone"] is gone
    assert "new" not in space.names


def test_without_any_memory_as_well() -> None:
    space = Space("a = [1]; c = 5")
    delta = space.run("a = None; c = 6", memory=0)
    assert [tuple(one) for one in delta.uncovered] == [("a", "list, 1 item", "too large")]
    space.undo(delta)
    assert (space["a"], space["c"]) == ([1], 5)


def test_a_list_that_could_not_be_gone_through_in_time_is_not_begun() -> None:
    space = Space("x = [None] * 20_000_000; y = [1]")
    snapshot = space.take(seconds=0.2)
    assert [(one.name, one.reason) for one in snapshot.uncovered] == [("x", "too large")]
    assert snapshot.size < 10_000


class Asked(Budget):
    """A budget whose time is over once it has been looked at so often, so that tests depend on no clock."""

    def __init__(self, times: int) -> None:
        super().__init__(1.0, 1 << 30)
        self.left = times

    @property
    def elapsed(self) -> float:
        self.left -= 1
        return 0.0 if self.left >= 0 else 10.0


def walked(names: dict[str, Any], times: int) -> dict[str, str]:
    """The names that were not copied, with the reason, where time was over after so many looks at the clock."""
    walk = Walk(names, Asked(times))
    roots: dict[str, Node | None] = {name: walk.root(thing) for name, thing in names.items()}
    walk.go()
    return {one.name: one.reason for one in uncovered(roots, walk.nodes.values())}


def test_a_name_too_much_for_the_time_does_not_cost_the_others_theirs() -> None:
    endless = [[number] for number in range(20_000)]
    names = {"endless": endless, "small": [[1], {"k": [2]}], "shares": [endless[0]], "part": endless[-1]}
    assert walked(names, 40) == {"endless": "no time left"}


def test_whoever_shares_what_was_left_half_way_is_named_as_well() -> None:
    endless = [[number] for number in range(20_000)]
    assert set(walked({"endless": endless, "outer": {"all": endless}, "other": [1]}, 40)) == {"endless", "outer"}


def test_with_time_enough_nothing_is_named() -> None:
    assert walked({"endless": [[number] for number in range(20_000)]}, 10**9) == {}


def test_an_array_whose_copy_is_not_done_in_time_is_given_up() -> None:
    big = np.zeros(10**7)
    assert walked({"big": big, "small": [1]}, 8) == {"big": "no time left"}


def test_what_there_was_no_time_to_compare_is_given_back_none_the_less() -> None:
    space = Space("x = [1]; y = [1]; z = [1]")
    snapshot = space.take()
    space.do("x.append(2); z = 0")
    snapshot._allowed = 0.0
    delta = snapshot.compare(space.names, space.watched())
    assert (kinds(delta), delta.unchecked) == ({"z": "rebound"}, ("x", "y"))
    undone = space.undo(delta)
    assert (space["x"], space["y"], space["z"]) == ([1], [1], [1])
    assert [(change.name, change.before, change.after) for change in undone.given_back] == [
        ("z", "list, 1 item", "int 0"),
        ("x", "list, 1 item", "list, 2 items"),
    ]


def test_cost_is_told() -> None:
    space = Space("import numpy as np; a = np.zeros(1000)")
    snapshot = space.take()
    assert 8_000 < snapshot.size < 10_000
    space.do("a[0] = 1; old = 1")
    delta = snapshot.compare(space.names, space.watched())
    assert delta.size == 8_000
    assert delta.seconds >= snapshot.seconds > 0


def test_the_garbage_collector_is_left_as_it_was() -> None:
    space = Space("a = [1]")
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            space.run("a.append(1)")
            assert gc.isenabled() is enabled
        finally:
            gc.enable()


class Slow(Budget):
    """A budget whose time is enough for copies up to a size."""

    most = 1 << 30

    def lacking(self, size: int, items: int = 0) -> Reason | None:
        return super().lacking(size, items) or (None if size <= self.most else "no time left")


@pytest.mark.parametrize("most", [1 << 30, 2_500_000, 0])
def test_what_is_too_large_depends_on_sizes_and_not_on_time(most: int) -> None:
    names = {f"a{number}": np.zeros(number * 100_000) for number in range(1, 9)}
    budget = Slow(PLENTY, 12_500_000)
    budget.most = most
    walk = Walk(names, budget)
    roots: dict[str, Node | None] = {name: walk.root(thing) for name, thing in names.items()}
    walk.go()
    listed = uncovered(roots, walk.nodes.values())
    assert [one.name for one in listed if one.reason == "too large"] == ["a6", "a7", "a8"]
