# SPDX-License-Identifier: Apache-2.0
"""The connection to a daemon: made at the first use, or by connect()."""
from __future__ import annotations

import atexit
import json
from typing import Any, Iterable

from . import _core
from ._core import InvalidError
from ._dtype import device as Device


def connect(url: str | None = None) -> None:
    """Connects to a daemon by URL (unix:///path, tls://host:port; ?device=ref picks a device); None is the usual
    look-up: BURN_URL, $XDG_RUNTIME_DIR/burnd.sock, /run/burnd/burnd.sock, then a private daemon.

    A connection over TCP or TLS that is lost is made anew while the daemon waits for it (30 s unless its operator says
    otherwise), and nothing is lost or done twice; Ctrl-C ends the wait. ?resume=5 waits 5 seconds at most; with
    ?resume=0 a lost connection is an error at once, and the daemon frees what it held."""
    _core.connect(url)


def disconnect() -> None:
    """Ends the connection; tensors made by it can no longer be used. A private daemon ends too."""
    _core.disconnect()


def draining() -> bool:
    """Whether the daemon has said that it ends this connection soon, as it does when its operator shuts it down. A training
    loop that sees it has half a minute (the daemon's drain_timeout) to save what it needs and to stop; the daemon ends when
    all have. Costs a microsecond and does not wait."""
    return _core.draining()


def cancel(session: int | None = None) -> None:
    """Drops what the daemon has to do for this connection (from another thread while one waits), or for another session of the
    same user, by its number in `burnctl sessions`. What runs ends, ops not yet begun are not, and reading what they would
    have made raises burn.Error; all other tensors keep their values. Ctrl-C alone ends only the wait."""
    _core.cancel(session)


def close_session(session: int) -> None:
    """Ends another session with all that it holds, by its number in `burnctl sessions`; also one that waits to be resumed, as
    after a notebook was lost. Of the same user, or any with the scope admin. Its program gets a burn.CancelledError."""
    _core.close_session(session)


atexit.register(_core.disconnect)  # the daemon need not wait for a process that has ended to come back

connected, url, sync, bytes_sent = _core.connected, _core.url, _core.sync, _core.bytes_sent


def ping() -> float:
    """Round trip to the daemon in seconds; does not wait for the device."""
    return _core.ping()


def stats() -> dict[str, Any]:
    """The daemon's counters, as `burnctl -o json stats` prints them."""
    return json.loads(_core.report("stats"))


def mint_token(scopes: str | Iterable[str] = "infer", *, seconds: int = 600, origins: str | Iterable[str] = (),
               name: str = "") -> str:
    """A token that an application's backend hands to one of its pages, with which the page connects by itself. It acts
    for the identity of this connection (its names, its quotas) with some of its scopes, and lives for an hour at most, or
    until the connection's own token ends. Only pages of the origins may show it; with none given, anyone. The name is for
    `burnctl sessions`. A PermissionError without the scope mint."""
    scopes, origins = (each if isinstance(each, str) else ",".join(each) for each in (scopes, origins))
    return json.loads(_core.mint_token(name, scopes, seconds, origins))["token"]


def get_default_device() -> Device:
    """The device of the connection, or the one chosen for it; connects if neither is there yet."""
    return Device(_core.device_name())


def set_default_device(device: Any) -> None:
    """Chooses the device of the connection; only before the first use, or the one that it has."""
    wanted = Device(device)
    if not _core.connected():
        _core.set_device_name(wanted.type)
    elif _core.device_name() != wanted.type:
        raise InvalidError(f"the connection's device is {_core.device_name()}; choose {wanted} before the first use")
