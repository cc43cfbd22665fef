from collections import Counter

from surveys.engine.walk import presentation
from tests.support.engine import script_builder


def values(seed, **fields):
    block = script_builder.block(0, {"type": "single_punch", "randomize_options": True, **fields})
    return [option.value for option in presentation.option_order(block, seed=seed)]


def test_one_seed_gives_one_order_on_every_server_and_version():
    assert values(1, options=["a", "b", "c", "d", "e"]) == values(1, options=["a", "b", "c", "d", "e"])
    assert values(20260131, options=["a", "b", "c", "d", "e"]) == RECORDED


RECORDED = ["a", "e", "c", "d", "b"]


def test_every_option_comes_once_and_every_place_is_fair():
    firsts: Counter[str] = Counter()
    for seed in range(3000):
        order = values(seed, options=["a", "b", "c"])
        assert sorted(order) == ["a", "b", "c"]
        firsts[order[0]] += 1

    assert all(900 < count < 1100 for count in firsts.values())


def test_two_questions_of_one_conversation_are_shuffled_apart():
    blocks = [
        script_builder.block(
            n, {"type": "single_punch", "randomize_options": True, "options": list("abcdefgh")}
        )
        for n in range(2)
    ]

    orders = [[option.value for option in presentation.option_order(block, seed=5)] for block in blocks]

    assert orders[0] != orders[1]


def test_pinned_options_follow_in_stored_order():
    """Rule 3.13."""
    options = [
        {"value": "x", "anchor_position": "last"},
        "a",
        {"value": "y", "anchor_position": "last"},
        "b",
        "c",
    ]

    for seed in range(50):
        order = values(seed, options=options)
        assert order[3:] == ["x", "y"]
        assert sorted(order[:3]) == ["a", "b", "c"]
