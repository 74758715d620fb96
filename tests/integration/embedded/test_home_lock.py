import subprocess
import sys

import pytest

from app.embedded.errors import AlreadyRunningError
from app.embedded.home import Home
from app.embedded.lock import Instance, hold_home, is_held, publish_instance, read_instance

HOLDER = """
import sys, time
from pathlib import Path
from app.embedded.home import Home
from app.embedded.lock import Instance, hold_home, publish_instance
home = Home(Path(sys.argv[1]))
with hold_home(home):
    publish_instance(home, Instance(4711, "http://127.0.0.1:8080", "http://127.0.0.1:9000", {}))
    print("held", flush=True)
    time.sleep(60)
"""


def start_holder(home: Home) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-c", HOLDER, str(home.root)]
    holder = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_second_start_is_refused_with_the_process_and_address_of_the_first(fresh_home: Home) -> None:
    with start_holder(fresh_home) as holder:
        with (
            pytest.raises(AlreadyRunningError, match=r"process 4711, address http://127\.0\.0\.1:8080"),
            hold_home(fresh_home),
        ):
            pass
        holder.kill()


def test_a_lock_left_by_a_killed_process_is_free(fresh_home: Home) -> None:
    with start_holder(fresh_home) as holder:
        assert is_held(fresh_home)
        holder.kill()
    assert read_instance(fresh_home) is None
    with hold_home(fresh_home):
        assert is_held(fresh_home)


def test_a_running_instance_can_be_read_and_is_gone_after_its_end(fresh_home: Home) -> None:
    instance = Instance(1, "http://127.0.0.1:1", "http://127.0.0.1:2", {"DATABASE_URL": "secret"})
    with hold_home(fresh_home):
        publish_instance(fresh_home, instance)
        assert read_instance(fresh_home) == instance
        assert (fresh_home.run / "instance.json").stat().st_mode & 0o077 == 0
    assert read_instance(fresh_home) is None
    assert not (fresh_home.run / "instance.json").exists()


def test_an_instance_does_not_show_its_passwords() -> None:
    assert "secret" not in repr(Instance(1, "", "", {"DATABASE_URL": "secret"}))
