import subprocess
import sys

import pytest

from app.documents.media_types import MediaType
from app.ingestion.parsing.orders import ORDER_BYTES, Order
from app.ingestion.parsing.types import ParseLimits

LARGEST = 2**63 - 1


@pytest.mark.parametrize("media_type", MediaType)
def test_an_order_has_its_length_and_comes_back(media_type: MediaType) -> None:
    order = Order(media_type, ParseLimits(LARGEST, LARGEST, LARGEST, LARGEST, LARGEST))
    assert len(order.pack()) == ORDER_BYTES
    assert Order.unpack(order.pack()) == order


@pytest.mark.parametrize(("module", "loads"), [("app.bootstrap", False), ("app.ingestion.parsing.nursery", True)])
def test_only_the_nursery_loads_the_parsers(module: str, *, loads: bool) -> None:
    program = f"import sys, {module}; print('selectolax' in sys.modules, 'app.ingestion.parsing.pdf' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [str(loads)] * 2
