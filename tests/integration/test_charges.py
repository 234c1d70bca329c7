# SPDX-License-Identifier: Apache-2.0
"""Who pays for what was published: its publisher while he holds it by a name or otherwise, then one who has imported it."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from test_identities import tokens  # noqa: F401, a fixture
from test_names_protocol import export, imported
from test_server_ops import batch, record
from wire import CODES, U8, Daemon, Wire, eventually, frame

MIB = 1 << 20


class Client:
    """A session that knows its ids."""

    def __init__(self, daemon, token):
        self.wire, self.next, self.op = daemon.connect(token=token), 1, 1

    def put(self, byte=0):
        self.wire.put(self.next, U8, [MIB], bytes([byte]) * MIB)
        self.next += 1
        return self.next - 1

    def ops(self, outputs, *records):
        self.wire.spend(batch(self.next, *records, first_op=self.op))
        self.next += outputs
        self.op += len(records)
        return self.next - 1

    def free(self, *ids):
        self.ops(0, record("free", [self.next - ident for ident in ids]))

    def publish(self, name, ident):
        self.wire.send(export(1, name, ["", ident]))
        self.wire.expect("DONE")

    def unpublish(self, name):
        self.wire.send(frame("UNEXPORT", [1, name]))
        self.wire.expect("DONE")

    def take(self, name):
        assert len(imported(self.wire, 1, name, self.next, 1)) == 1
        self.next += 1
        return self.next - 1

    def code(self):
        return self.wire.sync(1)[1]

    def holds(self, ident, byte):
        return self.wire.get(ident)[2] == bytes([byte]) * MIB


@pytest.fixture
def market(tokens, tmp_path):  # noqa: F811
    secrets = {name: tokens.add(name, scopes) for name, scopes in (("maker", "compute,admin"), ("reader", "compute"), ("other", "compute"))}
    with Daemon(f"--state-dir={tmp_path}", "--quota=token:maker:memory=8MiB", "--quota=token:reader:memory=4MiB") as daemon:
        clients = {name: Client(daemon, secret) for name, secret in secrets.items()}

        def paid():
            for client in clients.values():
                client.code()  # frees are done
            rows = {row["principal"]: row for row in clients["maker"].wire.report("STATS")["quotas"]}
            return [rows[f"token:{name}"]["memory"] // MIB if f"token:{name}" in rows else 0 for name in secrets]

        yield clients["maker"], clients["reader"], clients["other"], paid, clients
        for client in clients.values():
            client.wire.close()
        cleaner = daemon.connect()
        assert eventually(lambda: cleaner.report("STATS")["memory"]["device_bytes"] == cleaner.report("STATS")["names"]["bytes"], 60)
        cleaner.close()


def test_a_reader_who_keeps_every_version_pays_for_them(market):
    maker, reader, _, paid, _ = market
    kept = []
    for version in range(20):
        ident = maker.put(version)
        maker.publish("public/model", ident)
        maker.free(ident)
        kept.append(reader.take("public/model"))
        assert maker.code() == 0
        assert paid() == [1, version, 0]
    # he is beyond his limit, and gets nothing more; the publisher is not refused anything
    reader.put()
    said = reader.wire.sync(1)
    assert said[1] == CODES["LIMIT"] and "quota memory" in said[2], said
    assert paid() == [1, 19, 0]
    reader.free(*kept[:17])
    assert paid() == [1, 2, 0]
    assert reader.holds(kept[18], 18) and reader.holds(kept[19], 19)
    reader.put()
    assert reader.code() == 0 and paid() == [1, 3, 0]
    maker.unpublish("public/model")
    assert paid() == [0, 4, 0]


def test_a_publisher_pays_for_what_he_keeps(market):
    """Readers who have let it go do not, nor while he has it."""
    maker, reader, other, paid, _ = market
    kept = []
    for version in range(5):
        kept.append(maker.put(version))
        maker.publish("public/model", kept[-1])
        taken = reader.take("public/model"), other.take("public/model")
        assert paid() == [version + 1, 0, 0]
        if version % 2:
            reader.free(taken[0])
            other.free(taken[1])
    maker.free(kept[1], kept[3])
    assert paid() == [3, 0, 0]
    maker.free(kept[0])
    assert paid() == [2, 1, 0]
    assert maker.holds(kept[2], 2)
    # the first reader goes: the next one pays, then nobody
    reader.free(1)
    assert paid() == [2, 0, 1] and other.holds(1, 0)
    other.free(1)
    assert paid() == [2, 0, 0]


def test_what_is_still_to_be_computed_is_held_too(market):
    """A reader whose handle is free, but not what he makes from it."""
    maker, _, reader, paid, _ = market
    results = []
    for version in range(1, 4):
        ident = maker.put(version)
        maker.publish("public/model", ident)
        maker.free(ident)
        taken = reader.take("public/model")
        results.append(reader.ops(1, record("add", 1, 1)))
        reader.free(taken)
    maker.code()
    rows = {row["principal"]: row["memory"] // MIB for row in maker.wire.report("STATS")["quotas"]}
    assert rows["token:maker"] == 1 and rows["token:other"] == 2
    assert [reader.holds(ident, 2 * version) for version, ident in enumerate(results, 1)] == [True] * 3
    assert paid() == [1, 0, 3]  # of its own


def test_who_publishes_it_again_pays_when_the_first_has_gone(market):
    maker, reader, other, paid, clients = market
    maker.publish("public/model", maker.put(7))
    reader.publish("mine", reader.take("public/model"))
    theirs = other.take("public/model")
    assert paid() == [1, 0, 0]
    reader.wire.close()
    clients.pop("reader")
    maker.free(1)
    assert paid()[0] == 1
    maker.unpublish("public/model")
    assert eventually(lambda: paid() == [0, 1, 0], 60), paid()
    assert other.holds(theirs, 7)


def test_names_of_ones_own_are_shared_by_ones_sessions(market):
    maker, reader, _, paid, _ = market
    reader.publish("mine", reader.put(3))
    reader.free(1)
    again = [reader.take("mine") for _ in range(3)]
    assert paid() == [0, 1, 0]
    reader.unpublish("mine")
    assert paid() == [0, 1, 0]
    for ident in again:
        assert reader.holds(ident, 3)
        reader.free(ident)
    assert paid() == [0, 0, 0]
