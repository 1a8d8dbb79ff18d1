"""Calls of watched functions, and their returns."""

from __future__ import annotations

from harness.targets.calls import Call, CallLog


def call(address: int = 0x100, caller: int = 0x201, sp: int = 0x2000_1000, ticks: int = 5) -> Call:
    return Call(address, 0, caller, sp, 0, ticks, begun=0.0)


def test_a_call_has_returned_at_its_caller_with_its_stack_pointer():
    log = CallLog()
    assert log.enter(call())
    assert log.leave(0x200, 0x2000_0FF8, 8, 0, 1.0) == []
    assert log.leave(0x300, 0x2000_1000, 8, 0, 1.0) == []
    assert log.calls[0].taken is None
    returned = log.leave(0x200, 0x2000_1000, 12, 0, 1.0)
    assert [one.address for one in returned] == [0x100]
    assert log.calls[0].taken == 7


def test_a_loop_back_to_the_first_instruction_is_not_a_call():
    log = CallLog()
    assert [log.enter(call()), log.enter(call(ticks=6))] == [True, False]
    assert len(log.calls) == 1


def test_a_recursive_call_is_one_of_its_own():
    log = CallLog()
    assert log.enter(call())
    assert log.enter(call(sp=0x2000_0FF0))
    log.leave(0x201, 0x2000_0FF0, 9, 0, 1.0)
    assert [one.returned for one in log.calls] == [None, 9]


def test_a_tail_call_returns_with_its_caller():
    log = CallLog()
    log.enter(call(0x100))
    log.enter(call(0x140))
    returned = {one.address for one in log.leave(0x200, 0x2000_1000, 9, 0, 1.0)}
    assert returned == {0x100, 0x140}


def test_after_a_reset_no_call_is_running():
    log = CallLog()
    log.enter(call())
    log.leave(0x200, 0x2000_1000, 9, 0, 1.0)
    log.enter(call(ticks=20))
    log.restart()
    assert [one.taken for one in log.calls] == [4]
    assert log.enter(call(ticks=30))


def test_the_counter_has_32_bits():
    log = CallLog()
    log.enter(call(ticks=0xFFFF_FFFE))
    log.leave(0x200, 0x2000_1000, 3, 0, 1.0)
    assert log.calls[0].taken == 5
