# SPDX-License-Identifier: Apache-2.0
"""Each test of this folder finds this process without a connection, whatever the one before it left."""
import sys

import pytest


@pytest.fixture(autouse=True)
def _without_connection():
    yield
    if "burn" in sys.modules:
        sys.modules["burn"].disconnect()
