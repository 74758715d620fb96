import socket
from pathlib import Path

import pytest

from app.embedded.errors import MissingProgramError, PortTakenError
from app.embedded.home import prepare_home
from app.embedded.idp import choose_address, find_dev_idp
from app.embedded.options import EmbeddedOptions
from app.embedded.ports import free_ports


def test_the_port_is_chosen_once_and_kept(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "home")
    first = choose_address(home, None)
    assert choose_address(home, None) == first
    assert first.issuer == f"http://127.0.0.1:{first.port}"


def test_an_asked_port_is_kept_from_then_on(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "home")
    asked = free_ports(1)[0]
    assert choose_address(home, asked).port == asked
    assert choose_address(home, None).port == asked


def test_a_kept_port_that_is_taken_is_never_replaced_silently(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "home")
    port = free_ports(1)[0]
    choose_address(home, port)
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(PortTakenError, match=rf"Port {port} .* IDP_PORT .* issuer changes"),
    ):
        choose_address(home, None)
    assert choose_address(home, None).port == port


def test_missing_packages_are_named_with_the_command_that_installs_them(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.js").touch()
    with pytest.raises(MissingProgramError, match="npm ci --prefix"):
        find_dev_idp(EmbeddedOptions(groundeddocs_dev_idp=tmp_path))


def test_a_missing_provider_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingProgramError, match="GROUNDEDDOCS_DEV_IDP"):
        find_dev_idp(EmbeddedOptions(groundeddocs_dev_idp=tmp_path))
