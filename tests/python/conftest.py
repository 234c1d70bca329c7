# SPDX-License-Identifier: Apache-2.0
"""The device under test is BURN_TEST_DEVICE (cpu or ref); deploy/check runs the suite once for each."""
import os

import burn
import pytest

DEVICE = os.environ.get("BURN_TEST_DEVICE", "cpu")
burn.set_default_device(DEVICE)


@pytest.fixture(autouse=True)
def _seeded():
    burn.manual_seed(0)
