# SPDX-License-Identifier: Apache-2.0
"""The protocol within a WebSocket: peers that others wrote, and every way to break RFC 6455 and our own rules."""

import hashlib
import asyncio
import base64
import json
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import wire
from test_identities import Tokens
from test_tls import client_context
from websocket_wire import BINARY, CLOSE, PING, PONG, TEXT, Link, Socket, accept_of, frame as ws, request, tcp
from wire import PREFACE, U8, Daemon, Wire, frame, hello

NPM = wire.ROOT / "build/npm/node_modules"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    state = tmp_path_factory.mktemp("state")
    (state / "tokens").touch(0o600)
    (state / "tokens").write_text(f"page {hashlib.sha256(b'burn_secret').hexdigest()} compute - -\n")
    with Daemon("--origins=https://app.example", f"--state-dir={state}", tcp=True) as running:
        yield running


def greeted(daemon, **headers):
    """A link that is past HELLO."""
    link = Link(tcp(daemon), **headers)
    link.sock.sendall(ws(PREFACE) + ws(hello()))
    assert link.receive() == (BINARY, PREFACE)
    opcode, data = link.receive()
    assert opcode == BINARY and struct.unpack("<IH", data[:6])[1] == wire.TYPES["WELCOME"]
    return link


# ---- the upgrade ----


def test_the_answer_is_the_rfcs_own(daemon):
    link = Link(tcp(daemon))
    assert "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in link.head  # RFC 6455, section 1.3
    assert accept_of("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert "Sec-WebSocket-Protocol: burnd.v1" in link.head and "Extensions" not in link.head
    link.close()


@pytest.mark.parametrize("status, headers", [
    (426, {"Sec_WebSocket_Version": "8"}),
    (426, {"Sec_WebSocket_Version": None}),
    (400, {"Sec_WebSocket_Key": None}),
    (400, {"Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ"}),
    (400, {"Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZSE="}),
    (400, {"Sec_WebSocket_Key": "****************======**"}),
    (400, {"Sec_WebSocket_Protocol": None}),
    (400, {"Sec_WebSocket_Protocol": "chat, burnd.v10"}),
    (400, {"Sec_WebSocket_Protocol": "burnd.v1, burnd.token.???"}),
    (403, {"Origin": "https://app.example.evil"}),
    (403, {"Origin": "http://app.example"}),
    (403, {"Origin": "https://APP.example"}),
    (403, {"Origin": "null"}),
    (403, {"Origin": "http://127.0.0.1"}),
    (403, {"Host": "app.example"}),
    (403, {"Host": "127.0.0.1.evil.example"}),
    (404, {"path": "/other"}),
    (404, {"Connection": "keep-alive"}),
    (404, {"Upgrade": "h2c"}),
])
def test_refused_upgrades(daemon, status, headers):
    sock = tcp(daemon)
    sock.settimeout(10)
    sock.sendall(request(**headers))
    answer = sock.recv(65536).decode()
    assert answer.startswith(f"HTTP/1.1 {status} "), answer
    assert answer.split("\r\n\r\n")[1].strip(), "it says why"
    if status == 426:
        assert "Sec-WebSocket-Version: 13\r\n" in answer
    sock.close()


def test_allowed_upgrades(daemon):
    token = "burnd.token.YnVybl9zZWNyZXQ"
    for headers in ({"Origin": "https://app.example"}, {"Host": "localhost:1"}, {"Host": "[::1]:99"},
                    {"Connection": "keep-alive, Upgrade"}, {"Upgrade": "WebSocket"},
                    {"Sec_WebSocket_Protocol": f"chat, {token}, burnd.v1"},
                    {"Sec_WebSocket_Extensions": "permessage-deflate; client_max_window_bits"}):
        link = greeted(daemon, **headers)
        assert token not in link.head and "deflate" not in link.head
        link.close()


def test_the_daemons_own_pages_may_connect():
    with Daemon("--www=" + str(wire.ROOT / "proto"), "--hosts=gpu.example", tcp=True) as daemon:
        greeted(daemon, Origin="http://127.0.0.1").close()
        greeted(daemon, Origin="https://gpu.example:7867", Host="gpu.example:7867").close()
        sock = tcp(daemon)
        sock.sendall(request(Origin="http://gpu.example"))
        assert sock.recv(65536).startswith(b"HTTP/1.1 403 ")
        sock.close()


def test_within_tls(tmp_path):
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect
    tokens = Tokens(tmp_path)
    good, weak = tokens.add("page", "compute", origins="https://app.example"), tokens.add("weak", "metrics")
    with Daemon("--origins=https://app.example", "--origins=https://other.example", f"--state-dir={tmp_path}", tls=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        context = client_context(daemon, protocols=("http/1.1",))

        def talk(token, in_hello=False, origin="https://app.example"):
            """The code of an error that answers HELLO and of the close that follows, or what SYNC says."""
            shown = [] if in_hello or not token else ["burnd.token." + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")]
            with connect(f"wss://localhost:{daemon.tls_port()}", ssl=context, subprotocols=["burnd.v1"] + shown, origin=origin) as peer:
                assert peer.subprotocol == "burnd.v1"
                peer.send(PREFACE)
                peer.send(hello(token=token if in_hello else ""))
                assert peer.recv() == PREFACE
                fields = wire.unpack(peer.recv()[32:])[0]
                if len(fields) > 8:
                    peer.send(frame("SYNC", [1]))
                    fields = wire.unpack(peer.recv()[32:])[0]
                    return "welcome" if fields[0] == 1 and fields[1] == 0 else fields[1]
                with pytest.raises(ConnectionClosed):
                    peer.recv()
                return next(name for name, code in wire.CODES.items() if code == fields[1]), peer.close_code

        assert talk(good) == talk(good, True) == "welcome"
        assert talk("") == talk(good[:-1]) == talk(good[:-1], True) == ("UNAUTHENTICATED", 1008)
        assert talk(good, origin="https://other.example") == ("DENIED", 1008)
        assert talk(weak) == wire.CODES["DENIED"]
        assert good not in daemon.text()


# ---- messages ----


@pytest.mark.parametrize("cut", [None, 1, 7, 1000, 65536])
def test_tensors_travel_both_ways(daemon, cut):
    data = random.Random(7).randbytes(200 if cut == 1 else 3_000_000)
    client = Wire(Socket(tcp(daemon), cut))
    client.put(1, U8, [len(data)], data)
    assert client.get(1) == (U8, [len(data)], data)
    assert client.sync()[:2] == [1, 0]
    client.close()


def test_bytes_cut_anywhere(daemon):
    """Upgrade, preface, HELLO, an upload and a GET, cut at each byte into two writes."""
    stream = request() + ws(PREFACE) + ws(hello()) + ws(frame("PUT_BEGIN", [1, U8, [300]], bytes(300))) + \
        ws(b"hello", PING) + ws(frame("GET", [1, 1]))
    for at in range(1, len(stream), 7 if len(stream) > 900 else 1):
        sock = tcp(daemon)
        sock.setsockopt(6, 1, 1)
        sock.settimeout(10)
        sock.sendall(stream[:at])
        sock.sendall(stream[at:])
        got = b""
        while not got.endswith(bytes(300)):
            got += sock.recv(65536)
        assert b"\x8a\x05hello" in got
        sock.close()


def test_control_frames_between_fragments(daemon):
    link = greeted(daemon)
    message = frame("PING", [77])
    link.sock.sendall(ws(message[:5], BINARY, False) + ws(b"a", PING) + ws(message[5:9], 0, False) + ws(b"", PONG) +
                      ws(b"x" * 125, PING) + ws(message[9:], 0))
    assert link.receive() == (PONG, b"a")
    assert link.receive() == (PONG, b"x" * 125)
    assert link.receive() == (BINARY, frame("PONG", [77]))
    link.close()


HOSTILE = [
    (1002, ws(b"x", mask=None)),
    (1002, ws(frame("PING", [1]), reserved=0x40)),
    (1002, ws(frame("PING", [1]), reserved=0x20)),
    (1002, ws(frame("PING", [1]), reserved=0x10)),
    (1002, ws(b"", 3)),
    (1002, ws(b"", 11)),
    (1002, ws(b"", 0)),
    (1002, ws(b"ab", BINARY, False) + ws(b"c", BINARY)),
    (1002, ws(b"a", PING, False)),
    (1002, ws(b"a" * 126, PING)),
    (1002, ws(frame("PING", [1]), form=126)),
    (1002, ws(frame("PING", [1]), form=127)),
    (1002, b"\x82\xff" + b"\xff" * 8 + b"\0\0\0\0"),
    (1009, b"\x82\xff" + struct.pack(">Q", 1 << 40) + b"\0\0\0\0"),
    (1009, b"\x82\xff" + struct.pack(">Q", (1 << 20) + (66 << 10) + 1) + b"\0\0\0\0"),
    (1003, ws(b"hi", TEXT)),
    (1003, ws(b"hi", TEXT, False)),
    (1002, ws(b"\x03", CLOSE)),
    (1002, ws(b"\x03\xed", CLOSE)),
    (1002, ws(b"")),  # no frame of the protocol
    (1002, ws(frame("PING", [1]) * 2)),  # two
    (1002, ws(frame("PING", [1])[:-1])),  # less than one
    (1002, ws(frame("PING", [1]) + b"\0")),
    (1002, ws(b"\xff" * 32)),
    (1000, ws(b"\x03\xe8", CLOSE)),
    (1000, ws(b"", CLOSE)),
    (4321, ws(struct.pack(">H", 4321) + "ende".encode(), CLOSE)),
]


@pytest.mark.parametrize("status, data", HOSTILE)
def test_hostile_frames(daemon, status, data):
    for pieces in (1, len(data)):
        link = greeted(daemon)
        try:
            for at in range(0, len(data), len(data) // pieces):
                link.sock.sendall(data[at:at + len(data) // pieces])
        except OSError:
            pass  # it has seen enough
        assert link.closed_with() == status
        link.close()


def test_before_hello(daemon):
    for data in (ws(PREFACE + hello()), ws(PREFACE[:8]) + ws(PREFACE[8:]), ws(b"GET / HTTP/1.1"), ws(hello()),
                 ws(PREFACE) + ws(frame("PING", [1]))):
        link = Link(tcp(daemon))
        link.sock.sendall(data)
        assert link.closed_with() == 1002
        link.close()
    link = Link(tcp(daemon))
    link.sock.sendall(ws(PREFACE) + ws(hello(device="abacus")))
    assert link.closed_with() == 1008
    link.close()


def test_pings_are_counted(daemon):
    link = greeted(daemon)
    try:
        for _ in range(60):
            link.sock.sendall(ws(b"", PONG) * 5000)
    except OSError:
        pass
    assert link.closed_with() in (1002, None)
    link.close()


def test_deadline_and_drain():
    with Daemon("--hello-timeout=300ms", tcp=True) as daemon:
        late = Link(tcp(daemon))
        assert late.closed_with() == 1008
        late.close()
        link = greeted(daemon)
        daemon.process.terminate()
        opcode, data = link.receive()
        assert opcode == BINARY and data[4] == wire.TYPES["GOAWAY"]
        assert link.closed_with() == 1001
        link.close()
        assert daemon.process.wait(10) == 0


def test_who_does_not_read_is_closed():
    with Daemon("--outbound=4MiB", "--write-timeout=500ms", tcp=True) as daemon:
        client = Wire(Socket(tcp(daemon)))
        data = bytes(4 << 20)
        client.put(1, U8, [len(data)], data)
        for i in range(40):
            client.send(frame("GET", [i + 1, 1]))
        other = daemon.connect()
        assert wire.eventually(lambda: other.report("STATS")["connections"]["slow_closed"] == 1, 20)
        client.close()
        other.close()


# ---- peers that others wrote ----


def test_python_websockets(daemon):
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect
    data = random.Random(3).randbytes(1 << 20)
    with connect(f"ws://127.0.0.1:{daemon.tcp_port()}", subprotocols=["burnd.v1"], max_size=None) as peer:
        assert peer.subprotocol == "burnd.v1"
        peer.send(PREFACE)
        assert peer.recv() == PREFACE
        peer.send(hello())
        assert peer.recv()[4] == wire.TYPES["WELCOME"]
        upload = frame("PUT_BEGIN", [1, U8, [len(data)]], data)
        peer.send(upload[at:at + 100_000] for at in range(0, len(upload), 100_000))  # in fragments
        peer.send(frame("GET", [1, 1]))
        got = b""
        while len(got) < len(data):
            message = peer.recv()
            if message[4] == wire.TYPES["DATA"]:
                size = struct.unpack("<I", message[:4])[0]
                got += message[32 + size + -(32 + size) % 64:]
        assert got == data
        assert peer.ping().wait(10)
        peer.send("text")
        with pytest.raises(ConnectionClosed):
            while True:
                peer.recv()
        assert peer.close_code == 1003


def test_autobahn(daemon):
    pytest.importorskip("autobahn")
    from autobahn.asyncio.websocket import WebSocketClientFactory, WebSocketClientProtocol
    seen, pongs, ended = [], [], []

    class Peer(WebSocketClientProtocol):
        def onOpen(self):
            self.sendMessage(PREFACE, isBinary=True)
            self.sendMessage(hello(), isBinary=True, fragmentSize=10)
            self.sendPing(b"tick")

        def onMessage(self, payload, isBinary):
            seen.append((isBinary, payload))
            if len(seen) == 2:
                self.sendMessage(frame("PING", [5]), isBinary=True)
            elif len(seen) == 3:
                self.sendClose(1000, "done")

        def onPong(self, payload):
            pongs.append(payload)

        def onClose(self, clean, code, reason):
            ended.append((clean, code))

    async def talk():
        factory = WebSocketClientFactory(f"ws://127.0.0.1:{daemon.tcp_port()}", protocols=["burnd.v1"])
        factory.protocol = Peer
        _, peer = await asyncio.get_running_loop().create_connection(factory, "127.0.0.1", daemon.tcp_port())
        await asyncio.wait_for(peer.is_closed, 20)

    asyncio.run(talk())
    assert ended == [(True, 1000)]
    assert seen[0] == (True, PREFACE) and seen[1][1][4] == wire.TYPES["WELCOME"] and seen[2] == (True, frame("PONG", [5]))
    assert pongs == [b"tick"]


NODE = """
const preface = Buffer.from(process.argv[2], 'hex'), hello = Buffer.from(process.argv[3], 'hex');
const ping = Buffer.from(process.argv[4], 'hex'), socket = open(process.argv[5]), seen = [];
socket.binaryType = 'arraybuffer';
socket.addEventListener('open', () => { socket.send(preface); socket.send(hello); });
socket.addEventListener('error', event => { console.error(event.error ?? event); process.exit(1); });
socket.addEventListener('message', event => {
    seen.push(Buffer.from(event.data).toString('hex'));
    if (seen.length == 2) socket.send(ping);
    if (seen.length == 3) socket.close(1000, 'done');
});
socket.addEventListener('close', event => {
    console.log(JSON.stringify({protocol: socket.protocol, code: event.code, clean: event.wasClean, seen}));
    process.exit(0);
});
"""


@pytest.mark.parametrize("package, opens", [
    ("ws", "new (require('ws'))(url, ['burnd.v1'])"),
    ("undici", "new (require('undici').WebSocket)(url, ['burnd.v1'])"),
])
def test_node(daemon, package, opens):
    if not shutil.which("node") or not (NPM / package).exists():
        pytest.skip(f"{package} of npm is not installed")
    script = f"const open = url => {opens};" + NODE
    run = subprocess.run(["node", "-e", script, "", PREFACE.hex(), hello().hex(), frame("PING", [9]).hex(),
                          f"ws://127.0.0.1:{daemon.tcp_port()}/"], capture_output=True, text=True, timeout=30,
                         env=dict(os.environ, NODE_PATH=str(NPM)))
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["protocol"] == "burnd.v1" and told["code"] == 1000 and told["clean"]
    assert told["seen"][0] == PREFACE.hex() and told["seen"][2] == frame("PONG", [9]).hex()


def test_curl_upgrades(daemon):
    run = subprocess.run(["curl", "-s", "-i", "-N", "-m", "1", "-H", "Connection: Upgrade", "-H", "Upgrade: websocket",
                          "-H", "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                          "-H", "Sec-WebSocket-Protocol: burnd.v1", f"http://127.0.0.1:{daemon.tcp_port()}/"],
                         capture_output=True, timeout=20)
    assert run.stdout.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")


# ---- the C client, by way of Python ----

PROGRAM = """
import burn, numpy
numbers = numpy.arange(3_000_000, dtype=numpy.float32)
kept = burn.tensor(numbers)
assert (kept.numpy() == numbers).all()
weights = burn.linspace(-1, 1, 64).reshape(8, 8).requires_grad_()
for _ in range(20):
    loss = ((weights @ weights).tanh() - 0.5).square().mean()
    loss.backward()
    with burn.no_grad():
        weights -= 0.1 * weights.grad
        weights.grad = None
print(loss.item().hex(), weights.sum().item().hex())
"""


def run_client(url, program=PROGRAM, **environment):
    return subprocess.run([str(wire.ROOT / "build/venv/bin/python"), "-c", program], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, BURN_URL=url, **environment))


def test_the_client_trains_alike(tmp_path):
    tokens = Tokens(tmp_path)
    token = tokens.add("me", "compute")
    with Daemon(f"--state-dir={tmp_path}", tcp=True, tls=True) as daemon:
        pin = re.search(r"pin=(sha256:\w+)", daemon.text())[1]
        runs = [run_client(f"unix://{daemon.path}"), run_client(f"ws://127.0.0.1:{daemon.tcp_port()}"),
                run_client(f"wss://localhost:{daemon.tls_port()}?pin={pin}", BURN_TOKEN=token),
                run_client(f"wss://localhost:{daemon.tls_port()}/", BURN_TOKEN=token, BURN_CA_FILE=f"{tmp_path}/certificate.pem")]
        assert all(run.returncode == 0 for run in runs), [run.stderr for run in runs]
        assert len({run.stdout for run in runs}) == 1
        run = run_client(f"wss://localhost:{daemon.tls_port()}?pin={pin}", "import burn; burn.ones(1).item()")
        assert run.returncode and "BURN_TOKEN" in run.stderr


def serve_once(answer):
    """The port of a server that gives this answer to the first who comes, once it has read a head."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        sock = listener.accept()[0]
        head = b""
        while b"\r\n\r\n" not in head:
            head += sock.recv(4096)
        key = re.search(rb"Sec-WebSocket-Key: (\S+)", head)[1].decode()
        sock.sendall(answer.replace("KEY", accept_of(key)).encode())
        try:
            sock.recv(4096)
        except OSError:
            pass  # it has hung up
        sock.close()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


@pytest.mark.parametrize("answer, says", [
    ("HTTP/1.1 403 Forbidden\r\n\r\nnot you\n", "not you"),
    ("HTTP/1.1 401 Unauthorized\r\n\r\nwho are you?\n", "who are you?"),
    ("HTTP/1.1 200 OK\r\n\r\n<html>\n", "no WebSocket of burnd is there: 200"),
    ("SSH-2.0-OpenSSH\r\n\r\n", "does not speak HTTP/1.1"),
    ("HTTP/1.1 101 X\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: burnd.v1\r\n\r\n", "something else"),
    ("HTTP/1.1 101 X\r\nSec-WebSocket-Accept: KEY\r\n\r\n", "something else"),
    ("HTTP/1.1 101 X\r\nSec-WebSocket-Accept: KEY\r\nSec-WebSocket-Protocol: burnd.v1\r\nSec-WebSocket-Extensions: x\r\n\r\n", "something else"),
    ("HTTP/1.1 101 X\r\nSec-WebSocket-Accept: KEY\r\nSec-WebSocket-Protocol: burnd.v1\r\n\r\n\x01\x01x", "failed while reading"),
    ("HTTP/1.1 101 X\r\nSec-WebSocket-Accept: KEY\r\nSec-WebSocket-Protocol: burnd.v1\r\n\r\n", "closed the connection"),
    ("x" * 5000, "does not speak HTTP/1.1"),
])
def test_what_the_client_refuses(answer, says):
    run = run_client(f"ws://127.0.0.1:{serve_once(answer)}", "import burn; burn.ones(1).item()")
    assert run.returncode and says in run.stderr, run.stderr


def test_the_client_behind_a_proxy_that_pings_and_cuts(daemon):
    """A proxy of websockets (the package): it sends pings, and passes messages on in fragments of its own."""
    from websockets.asyncio.client import connect
    from websockets.asyncio.server import serve

    async def pass_on(source, target, cut):
        async for message in source:
            await target.send([message[at:at + cut] for at in range(0, len(message), cut)])

    async def proxy(peer):
        async with connect(f"ws://127.0.0.1:{daemon.tcp_port()}", subprotocols=["burnd.v1"], max_size=None,
                           compression=None) as onward:
            pings = asyncio.create_task(ping(peer))
            await asyncio.wait([asyncio.create_task(pass_on(peer, onward, 70_000)), asyncio.create_task(pass_on(onward, peer, 900))],
                               return_when=asyncio.FIRST_COMPLETED)
            pings.cancel()

    async def ping(peer):
        while True:
            await (await peer.ping(b"still there?"))
            answered.append(1)

    async def main():
        async with serve(proxy, "127.0.0.1", 0, subprotocols=["burnd.v1"], max_size=None, compression=None) as server:
            port = server.sockets[0].getsockname()[1]
            process = await asyncio.create_subprocess_exec(
                str(wire.ROOT / "build/venv/bin/python"), "-c", PROGRAM, env=dict(os.environ, BURN_URL=f"ws://127.0.0.1:{port}"),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            out, problem = await asyncio.wait_for(process.communicate(), 120)
            assert process.returncode == 0, problem
            return out.decode()

    answered = []
    assert asyncio.run(main()) == run_client(f"unix://{daemon.path}").stdout
    assert answered


def test_nothing_is_left(daemon):
    """After all of the above."""
    client = daemon.connect()
    assert wire.eventually(lambda: client.report("STATS")["connections"]["open"] == 1, 10)
    assert client.report("STATS")["memory"]["device_bytes"] == 0
    client.close()
