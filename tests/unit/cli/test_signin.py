import pytest

from app.cli.errors import NotSignedInError
from app.cli.signin import next_interval


def test_pending_confirmation_keeps_the_interval() -> None:
    assert next_interval(2.0, "not yet", "authorization_pending") == 2.0


def test_slow_down_adds_five_seconds_for_good() -> None:
    assert next_interval(next_interval(2.0, "", "slow_down"), "", "slow_down") == 12.0


@pytest.mark.parametrize("error", ["access_denied", "expired_token", "invalid_grant", 7])
def test_other_errors_end_the_sign_in(error: object) -> None:
    with pytest.raises(NotSignedInError, match="the person refused"):
        next_interval(2.0, "the person refused", error)
