"""Giving a namespace back as it was."""

from __future__ import annotations

import gc
import weakref

import pytest

from jupyter_skills.namespace.history import History
from tests.namespace.space import Space, kinds

SINCE = "it has been changed since"


def test_rebound_added_and_deleted_names_are_given_back_as_the_same_objects() -> None:
    space = Space("a = [1]; b = object()")
    a, b = space["a"], space["b"]
    delta = space.run("a = None; del b; c = 1")
    undone = space.undo(delta)
    assert (space["a"], space["b"]) == (a, b)
    assert space["a"] is a
    assert "c" not in space.names
    assert [change.name for change in undone.given_back] == ["a", "b", "c"]
    assert undone.left == ()


def test_contents_are_given_back_into_the_same_objects_so_that_aliases_stay_aliases() -> None:
    space = Space("inner = [1]; a = {'x': inner}; b = a\ndef made():\n    return inner\nc = (inner, [inner])")
    inner, a = space["inner"], space["a"]
    delta = space.run("inner += [2]; a['y'] = 1; a['x'] = None; b = 0")
    space.undo(delta)
    assert space["a"] is space["b"] is a
    assert a == {"x": [1]}
    assert a["x"] is space["c"][0] is space["c"][1][0] is inner


def test_an_object_that_was_changed_and_then_lost_its_name_is_given_back_with_its_contents() -> None:
    space = Space("a = [1]; b = {'k': [2]}")
    delta = space.run("a.append(2); a = 'gone'; b['k'].clear(); del b")
    space.undo(delta)
    assert (space["a"], space["b"]) == ([1], {"k": [2]})


def test_what_functions_and_classes_of_the_notebook_hold_is_given_back() -> None:
    space = Space("""
        def counter():
            count, seen = 0, []
            def step():
                nonlocal count
                count += 1
                seen.append(count)
                return count, seen
            return step
        class Model:
            known = []
            def fit(self): return "old"
        step, model = counter(), Model()
        bound = model.fit
    """)
    delta = space.run("""
        step(); step()
        Model.known.append(1); Model.fit = lambda self: "new"; Model.extra = 1
        step.cache = {}
    """)
    assert set(kinds(delta)) == {"step", "Model"}
    assert space.undo(delta).left == ()
    assert space["step"]() == (1, [1])
    assert space["Model"].known == []
    assert space["model"].fit() == "old"
    assert not hasattr(space["Model"], "extra")
    assert not hasattr(space["step"], "cache")


def test_a_name_that_was_assigned_anew_since_is_left_alone_unless_forced() -> None:
    space = Space("a = [1]; b = [1]")
    delta = space.run("a = [2]; b.append(2); c = 3")
    space["mine"] = mine = []
    space.do("a = mine; c = mine; b = mine")
    undone = space.undo(delta)
    assert undone.given_back == ()
    assert [left.name for left in undone.left] == ["a", "b", "c"]
    assert "assigned anew" in undone.left[0].reason
    assert space["a"] is space["b"] is space["c"] is mine
    forced = space.undo(delta, force=True)
    assert [change.name for change in forced.given_back] == ["a", "b", "c"]
    assert (space["a"], space["b"]) == ([1], [1])
    assert "c" not in space.names


def test_an_object_that_another_name_still_stands_for_is_given_back_though_one_was_assigned_anew() -> None:
    space = Space("a = [1]; b = [a]")
    delta = space.run("a.append(2)")
    space.do("a = 'mine'")
    undone = space.undo(delta)
    assert space["a"] == "mine"
    assert space["b"] == [[1]]
    assert [left.name for left in undone.left] == ["a"]


def test_a_variable_changed_once_more_since_is_left_alone_and_given_back_if_forced() -> None:
    space = Space("a = [1]; b = [1]")
    delta = space.run("a.append(2); b.append(2)")
    space.do("a.append(3)")
    undone = space.undo(delta)
    assert (space["a"], space["b"]) == ([1, 2, 3], [1])
    assert undone.left == (("a", SINCE),)
    assert undone.again == ()
    forced = space.undo(delta, force=True)
    assert (space["a"], forced.again, forced.left) == ([1], ("a",), ())


def test_what_the_code_added_and_the_user_deleted_stays_deleted() -> None:
    space = Space("a = [1]")
    delta = space.run("new = 1; a.append(1)")
    space.do("del new")
    undone = space.undo(delta)
    assert [change.name for change in undone.given_back] == ["a"]
    assert undone.left == ()


def test_what_can_not_be_copied_is_named_and_the_rest_is_given_back() -> None:
    space = Space("""
        class Model:
            def __init__(self): self.source, self.seen = iter([1, 2]), []
        model = Model()
        stream = open(__import__("os").devnull)
    """)
    delta = space.run("model.seen.append(next(model.source))")
    assert [tuple(one) for one in delta.uncovered] == [
        ("model", "Model, with list_iterator", "can't be copied"),
        ("stream", "TextIOWrapper", "can't be copied"),
    ]
    undone = space.undo(delta)
    assert space["model"].seen == []
    assert [change.name for change in undone.given_back] == ["model"]
    assert undone.left == (
        ("model", "what could be copied of it is given back; Model, with list_iterator can't be copied"),
    )


def test_an_object_of_a_library_is_given_back_wholly_or_not_at_all(tmp_path, monkeypatch) -> None:
    (tmp_path / "fancy.py").write_text(
        "class Client:\n    def __init__(self): self.source, self.count = iter([1]), [0]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    space = Space("import fancy; client = fancy.Client(); held = [client]")
    delta = space.run("client.count[0] += 1; held.append(1)")
    undone = space.undo(delta)
    assert space["client"].count == [1]
    assert space["held"] == [space["client"]]
    assert "client" in {left.name for left in undone.left}


def test_what_fails_is_left_wholly_as_it_was_and_the_rest_is_given_back() -> None:
    space = Space("""
        class Key:
            angry = False
            def __hash__(self):
                if Key.angry: raise RuntimeError("no")
                return 1
        before = [0]
        bad = {"list": [1], Key(): 2}
        good = [1]
    """)
    key = list(space["bad"])[1]
    delta = space.run("bad['list'].append(2); del bad['list']; good.append(2); before = [bad]")
    space["Key"].angry = True
    undone = space.undo(delta)
    assert space["good"] == [1]
    assert list(space["bad"]) == [key]
    assert ("bad", "giving it back raised RuntimeError") in undone.left


def test_a_second_call_does_nothing_more() -> None:
    space = Space("import pandas as pd; a = [1]; df = pd.DataFrame({'a': [1]})")
    delta = space.run("a.append(2); df['b'] = 1; c = 1")
    space.undo(delta)
    space.do("a.append(5); df['mine'] = 1; c = 'mine'")
    undone = space.undo(delta, force=True)
    assert (undone.given_back, undone.left) == ((), ())
    assert (space["a"], list(space["df"]), space["c"]) == ([1, 5], ["a", "mine"], "mine")


def test_a_delta_keeps_alive_what_the_code_replaced_and_nothing_else() -> None:
    space = Space("import numpy as np; old = np.ones(10); kept = np.ones(10); same = [np.ones(1000)]")
    watched = {name: weakref.ref(space[name]) for name in ("old", "kept")}
    delta = space.run("old = 0; new = np.ones(1000); kept[0] = 5")
    made = weakref.ref(space["new"])
    space.do("del new, kept; same = None")
    gc.collect()
    assert made() is None
    assert watched["old"]() is not None
    assert delta.size == 2 * 80  # the old array, and the copy of the one that changed
    del delta
    gc.collect()
    assert watched["old"]() is watched["kept"]() is None


def test_a_dict_of_arrays_that_the_code_made_is_not_kept_alive_and_known_again_all_the_same() -> None:
    space = Space("import numpy as np")
    delta = space.run("kept = {'a': [np.ones(10)]}; lost = {'a': [np.ones(10)]}; same = [np.ones(3)]")
    made = weakref.ref(space["lost"]["a"][0])
    space.do("kept['b'] = 1; del lost; others = [{} for _ in range(100)]; lost = others[0]")
    gc.collect()
    assert made() is None
    undone = space.undo(delta)
    assert [change.name for change in undone.given_back] == ["same"]
    assert [left.name for left in undone.left] == ["kept", "lost"]
    assert undone.left[0].reason == SINCE


def test_the_executions_are_taken_back_one_by_one_the_last_first() -> None:
    space, history = Space("import pandas as pd; a = [0]; df = pd.DataFrame({'n': [0]})"), History(1 << 20)
    for number in range(1, 4):
        history.push(space.run(f"a.append({number}); df['n'] += 1; b = [{number}]"), f"run {number}")
    assert history.last is not None
    assert history.last.label == "run 3"
    for number in (2, 1, 0):
        undone = history.undo(space.names)
        assert undone is not None
        assert undone.left == ()
        assert space["a"] == list(range(number + 1))
        assert space["df"]["n"].tolist() == [number]
        assert space.names.get("b") == ([number] if number else None)
    assert history.undo(space.names) is None
    assert history.last is None


def test_an_execution_that_changed_nothing_is_no_step_back() -> None:
    space, history = Space("a = [1]"), History(1 << 20)
    history.push(space.run("a.append(2)"), "first")
    history.push(space.run("sum(a)"), "second")
    assert history.last is not None
    assert history.last.label == "first"


def test_the_oldest_are_dropped_to_keep_within_the_memory_but_never_the_last() -> None:
    space, history = Space("import numpy as np; a = np.zeros(1000)"), History(20_000)
    for number in range(5):
        history.push(space.run("a += 1"), str(number))
    assert (len(history), history.dropped) == (2, 3)
    history.push(space.run("a = np.zeros(100_000)"), "small")
    history.push(space.run("a = None"), "large")
    assert (len(history), history.dropped) == (1, 6)
    history.undo(space.names)
    assert len(space["a"]) == 100_000


def test_force_finishes_what_the_last_undo_left_and_goes_no_further_back() -> None:
    space, history = Space("a = 1; b = 1"), History(1 << 20)
    history.push(space.run("b = 2"), "first")
    history.push(space.run("a = 2"), "second")
    space.do("a = 'mine'")
    undone = history.undo(space.names)
    assert undone is not None
    assert undone.left[0].name == "a"
    assert history.undo(space.names, force=True) is not None
    assert (space["a"], space["b"]) == (1, 2)
    history.undo(space.names)
    assert space["b"] == 1


@pytest.mark.parametrize("depth", [100_000])
def test_no_depth_is_too_much(depth: int) -> None:
    space = Space(f"deep = last = []\nfor _ in range({depth}):\n    last.append([])\n    last = last[0]")
    delta = space.run("last.append(1)")
    assert kinds(delta) == {"deep": "mutated", "last": "mutated"}
    assert space.undo(delta).left == ()
    assert space["last"] == []


def test_circles_are_given_back() -> None:
    space = Space("a = []; b = {'a': a}; a.append(b); a.append(a)\nclass N: pass\nn = N(); n.me = n")
    delta = space.run("a.pop(); b.clear(); n.me = None")
    space.undo(delta)
    assert space["a"][0] is space["b"]
    assert space["a"][1] is space["a"]
    assert space["b"]["a"] is space["a"]
    assert space["n"].me is space["n"]


def test_the_namespace_itself_is_not_followed() -> None:
    space = Space("everything = globals(); a = [1]")
    assert kinds(space.run("a.append(2)")) == {"a": "mutated"}
