"""How often calls were made: as many are known as fit, and what they have taken, as in a dictionary."""

from __future__ import annotations

import random

import pytest

from pgaspy.execution.counting import Counts

MAX_CALLS, PER_CALL, WORK_OF_PLANNING = 5, 10, 45


def counts(max_calls: int = MAX_CALLS, elements_per_call: int = PER_CALL) -> Counts:
    return Counts(elements_per_call=elements_per_call, gain_of_nodes=1, gainful_elements=100, max_calls=max_calls,
                  max_elements=20, warm=WORK_OF_PLANNING, work_of_planning=WORK_OF_PLANNING, worth_recording=1 << 30)


@pytest.mark.parametrize("seed", range(20))
def test_what_calls_have_taken_is_known_of_so_many(seed: int) -> None:
    rng = random.Random(seed)
    own, expected = counts(), {}
    for _ in range(500):
        key, n = (rng.randrange(1, 9) << rng.choice((0, 20, 40)),), rng.randrange(25)
        assert own.was_admitted(key) == (key in expected)
        assert own.admits(key, n, True, False) == (n <= 20)
        if n > 20 or expected.get(key, 0) > WORK_OF_PLANNING:
            continue
        if key not in expected and len(expected) == MAX_CALLS:
            expected.clear()
        expected[key] = expected.get(key, 0) + PER_CALL + n


def test_limits_are_positive() -> None:
    for found in (lambda: counts(max_calls=0), lambda: counts(elements_per_call=0)):
        with pytest.raises(ValueError, match="limits are positive"):
            found()
