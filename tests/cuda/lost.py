# SPDX-License-Identifier: Apache-2.0
"""A device that is lost within the first 20 launches: what lay there is gone and says so. Prints "back" if the device
begins anew and all else goes on, "gone" if it cannot: then the private daemon ends, and each op says why.
Something must make a launch fail: the emulator (EMULATOR_FAIL), or on a GPU stray.c."""
import time

import numpy as np

import burn
import burn.nn.functional as F

burn.set_default_device("cuda")
kept, other = burn.tensor([1.0, 2, 3]), burn.tensor([4.0, 5])
burn.names.publish("kept", kept)
early = burn.names.get("kept")  # lent before its bytes are on the device
assert (kept * 2).numpy().tolist() == [2, 4, 6] and (other + 1).numpy().tolist() == [5, 6]
assert early.numpy().tolist() == [1, 2, 3] and (early * kept).numpy().tolist() == [1, 4, 9]
restarts = lambda: burn._connection.stats()["device"]["restarts"]
assert restarts() == 0
lost, number = [], 0
while not lost and number < 20:
    try:
        number += 1
        assert (burn.ones(1000) * number).sum().item() == 1000 * number
    except burn.DeviceLostError as error:
        lost.append(str(error))
assert len(lost) == 1 and "an illegal memory access" in lost[0], (lost, number)
for gone in (lambda: kept.numpy(), lambda: (other * 2).numpy(), lambda: burn.names.get("kept").numpy(),
             lambda: early.numpy(), lambda: (early + 1).numpy()):
    try:
        gone()
        raise SystemExit("there is something")
    except burn.DeviceLostError as error:
        assert "went with it" in str(error) and "an illegal memory access" in str(error), error
end = time.monotonic() + 60
try:
    while restarts() == 0 and time.monotonic() < end:
        time.sleep(0.01)
except burn.DeviceLostError as error:
    assert "cannot be opened again" in str(error) and "an illegal memory access" in str(error), error
    for number in range(4):
        try:
            (burn.ones(10) + number).numpy()
            raise SystemExit("there is something")
        except burn.DeviceLostError as error:
            assert "an illegal memory access" in str(error), error
    print("gone")
    raise SystemExit(0)
assert restarts() == 1
rng = np.random.default_rng(0)  # all kinds of kernels, some known from before, one of the library
for number in range(8):
    A, B = (rng.standard_normal(shape).astype(np.float32) for shape in ((130, 264), (264, 136)))
    a, b = burn.tensor(A, requires_grad=True), burn.tensor(B)
    (F.softmax(a @ b, -1) * b[:130, :136]).sum().backward()
    S = np.exp(A.astype(np.float64) @ B)
    S /= S.sum(-1, keepdims=True)
    G = B[:130, :136]
    D = (S * (G - (S * G).sum(-1, keepdims=True))) @ B.T.astype(np.float64)
    assert np.abs(a.grad.numpy() - D).max() < 1e-4 * np.abs(D).max()
    assert (burn.ones(1000) * number).sum().item() == 1000 * number
del kept, other, early
try:
    burn.sync()  # tells what failed since the last one
except burn.DeviceLostError:
    burn.sync()
assert restarts() == 1
print("back")
