import pytest

from app.api import context

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GOOD = f"00-{TRACE}-00f067aa0ba902b7-01"


def begin(*values: str) -> context.RequestContext:
    headers = [(b"traceparent", value.encode("latin-1")) for value in values]
    return context.begin({"type": "http", "headers": [*headers, (b"x-request-id", b"chosen-by-the-client")]})


def test_a_well_formed_trace_is_continued() -> None:
    assert begin(GOOD).trace_id == TRACE


@pytest.mark.parametrize(
    "value",
    [
        "",
        TRACE,
        GOOD.upper(),
        GOOD + "-extra",
        GOOD.replace("00-", "ff-", 1),
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}é-00f067aa0ba902b7-01",
        GOOD + "\n",
    ],
)
def test_any_other_trace_is_replaced_by_one_of_ours(value: str) -> None:
    trace_id = begin(value).trace_id
    assert len(trace_id) == 32
    assert trace_id not in value


def test_two_traces_are_none() -> None:
    assert begin(GOOD, GOOD).trace_id != TRACE


def test_request_ids_are_ours_and_differ() -> None:
    first, second = begin(GOOD), begin(GOOD)
    assert first.request_id != second.request_id
    assert "client" not in first.request_id
