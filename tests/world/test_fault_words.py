import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import ScenarioError
from paofed.world.faults import FAULTS, KINDS, parted, worded

NUMBERS = st.floats(1e-6, 1e6)
CLIENTS = st.one_of(
    st.integers(1, 300),
    st.floats(0.001, 0.999),
    st.lists(st.integers(0, 300), min_size=1, max_size=4, unique=True),
)


@given(
    kind=st.sampled_from(sorted(KINDS)),
    clients=CLIENTS,
    number=NUMBERS,
    start=st.integers(0, 50),
    end=st.none() | st.integers(51, 99),
)
def test_any_fault_is_said_and_read_again(
    kind: str, clients: object, number: float, start: int, end: int | None
) -> None:
    """Whatever it is: one client by number is not one client of the fleet."""
    own = set(KINDS[kind].model_fields) & {"at", "by", "size", "per_tick", "deviation", "push"}
    values = {"kind": kind, "clients": clients, "start": start, "end": end}
    (fault,) = FAULTS.validate_python([values | dict.fromkeys(own, number)])
    assert FAULTS.validate_python([parted(worded(fault))]) == (fault,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("scald:by=2", "scald:by=2: unknown fault 'scald': did you mean 'scaled'?"),
        ("scaled:bye=2", "scaled:bye=2: unknown option 'bye': did you mean 'by'?"),
        ("scaled:kind=2", "unknown option 'kind'"),
        ("scaled:by", "scaled:by: option 'by' has no value: write by=VALUE"),
        ("scaled:by=2,by=3", "scaled:by=2,by=3: option 'by' is given twice"),
    ],
)
def test_what_is_no_fault(text: str, says: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        parted(text)
    assert says in str(refusal.value)
