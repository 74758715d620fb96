import signal
import subprocess
import sys
from pathlib import Path

from bench.kill_points import KillPoint, Order, content_key

ORDER = Order(KillPoint.AFTER_READ, 1, ("w:spared",), {"aa": 3})
SCRIPT = """
import sys
from pathlib import Path
from bench.kill_points import Killer, KillPoint
killer = Killer(Path(sys.argv[1]))
killer._in_flight = set(sys.argv[2:])
for number in range(4):
    print(number, flush=True)
    killer.reached(KillPoint.AFTER_CLAIM)
    killer.reached(KillPoint.AFTER_READ)
"""


def lived(order: Path, *in_flight: str) -> tuple[int, str]:
    """Run a process that passes two points four times; return how it ended and what it had begun."""
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(order), *in_flight], capture_output=True, text=True, check=False
    )
    return ended.returncode, "".join(ended.stdout.split())


def test_an_order_is_read_as_it_was_written_and_none_where_none_was_given(tmp_path: Path) -> None:
    path = tmp_path / "order.json"
    assert Order.read(path) is None
    ORDER.write(path)
    assert Order.read(path) == ORDER
    assert list(tmp_path.iterdir()) == [path]


def test_a_process_dies_at_the_ordered_point_after_passing_it_as_often_as_ordered(tmp_path: Path) -> None:
    path = tmp_path / "order.json"
    assert lived(path) == (0, "0123")
    ORDER.write(path)
    assert lived(path, "w:other") == (-signal.SIGKILL, "01")


def test_no_process_dies_while_it_works_on_what_is_spared(tmp_path: Path) -> None:
    path = tmp_path / "order.json"
    ORDER.write(path)
    assert lived(path, "w:other", content_key("w", "spared")) == (0, "0123")
