# SPDX-License-Identifier: Apache-2.0
"""Each test of this folder finds this process without a connection, whatever the one before it left."""
import signal
import sys

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts in the background what ignores it, and all that it starts


@pytest.fixture(autouse=True)
def _without_connection():
    yield
    if "burn" in sys.modules:
        sys.modules["burn"].disconnect()
