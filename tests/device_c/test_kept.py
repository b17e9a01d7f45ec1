"""What a device in C keeps: over power cuts, in slots that were another's, and of the time."""

import numpy as np
import pytest

from paofed.device_c.agreed import agreed_in_c
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.messages import Message, Model, Update, encode
from tests.device_c.building import host_program
from tests.device_c.driven import Driven
from tests.effort import effort
from tests.live.fleets import manifest

DAY = 86_400.0  # seconds


def test_a_save_that_is_cut_off_anywhere_leaves_one_state_or_the_other() -> None:
    device = Driven(host_program("driver"))
    device.agree(agreed_in_c(manifest(bound=6.0)))
    device.begin(3)
    device.contact(0.0)
    assert device.save()
    for written in range(0, 1300, effort(everyday=19, thorough=1)):
        before = device.state()
        device.learn([0.1 * (written % 7), 1.0], 10.0 + written % 5)
        after, whole = device.state(), device.save(written)
        assert device.begin(3)
        found = device.state().w.tobytes()
        assert found in (before.w.tobytes(), after.w.tobytes())
        assert not whole or found == after.w.tobytes()
    assert whole


@pytest.mark.parametrize("saves", [1, 2, 3])
def test_what_another_device_or_fleet_saved_is_not_newer(saves: int) -> None:
    device = Driven(host_program("driver"))
    for number, fleet in ((3, manifest()), (4, manifest()), (4, manifest(start=2.0))):
        device.agree(agreed_in_c(fleet))
        assert not device.begin(number)
        device.learn([0.5, 1.0], 14.0)
        learned = device.state().w.tobytes()
        assert device.save()
        assert device.begin(number)
        assert device.state().w.tobytes() == learned
        for _ in range(saves - 1):
            assert device.save()


def test_two_weeks_without_a_look_at_the_clock() -> None:
    """Of the longest tick nearly all may have passed before them."""
    device, agreed = Driven(host_program("driver"), started=2**32 - 1000), manifest()
    device.agree(agreed_in_c(manifest(tick_seconds=7 * DAY)))
    device.begin(3)
    device.contact(0.0)
    device.receive(encode(Model(agreed.epoch, 5, np.zeros(agreed.features, dtype="<f4"))), 0.0)
    for days, tick in ((6.9, 5), (6.9 + 14, 7), (20.9 + 14, 9)):
        device.at(days * DAY)
        assert device.state().tick == tick


def test_the_newest_save_is_found_where_the_count_of_saves_begins_again() -> None:
    device = Driven(host_program("driver"))
    device.agree(agreed_in_c(manifest()))
    device.begin(3)
    device.count_saves_from(2**32 - 3)
    for _ in range(6):
        device.learn([0.5, 1.0], 14.0)
        learned = device.state().w.tobytes()
        assert device.save()
        assert device.begin(3)
        assert device.state().w.tobytes() == learned


def test_after_the_time_went_back_what_waits_goes_again_with_the_next_contact() -> None:
    """The server's clock was set back from tick 111 to 108; updates of 107 and 108 still count."""
    agreed = manifest()
    python, c = Edge(agreed, 3), Driven(host_program("driver"))
    c.agree(agreed_in_c(agreed))
    c.begin(3)

    def contact(seconds: float) -> Message:
        messages = []
        for device in (python, c):
            device.learn([0.5, 1.0], 10.0)
            message = device.contact(seconds)
            assert message is not None
            messages.append(agreed.read(message))
        assert type(messages[0]) is type(messages[1])
        return messages[1]

    def answer(tick: int, seconds: float) -> None:
        said = encode(Model(agreed.epoch, tick, np.zeros(agreed.features, dtype="<f4")))
        for device in (python, c):
            device.receive(said, seconds)

    contact(0.0)
    answer(100, 0.0)
    seconds = 1.0
    while isinstance(contact(seconds), Update):
        seconds += 1.0
    waiting = [update.tick for update in python.unconfirmed]
    assert c.state().waiting == waiting
    back = waiting[1]
    answer(back, seconds)
    again = contact(seconds + 1.0)
    assert isinstance(again, Update)
    assert again.tick == back + 1
    assert [again.tick - repeat.earlier for repeat in again.repeats] == waiting[:2]
