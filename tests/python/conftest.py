# SPDX-License-Identifier: Apache-2.0
"""The device under test is BURN_TEST_DEVICE (cpu or ref); deploy/check runs the suite once for each."""
import os
import signal

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts in the background what ignores it, and all that it starts
DEVICE = os.environ.get("BURN_TEST_DEVICE", "cpu")
os.environ["BURND_DEVICE"] = DEVICE  # of private daemons
os.environ["BURND_TF32"] = "off"  # what is compared is exact

import burn  # noqa: E402
import pytest  # noqa: E402

burn.set_default_device(DEVICE)


@pytest.fixture(autouse=True)
def _seeded():
    burn.manual_seed(0)
    yield
    try:
        burn.sync()  # a sync tells of the first error since the last one: the next test shall not hear of this one's
    except burn.Error:
        pass
