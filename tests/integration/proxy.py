# SPDX-License-Identifier: Apache-2.0
"""A proxy that cuts connections, for tests of what goes on when they come back."""

import random
import socket
import threading


class Proxy:
    """Passes bytes on and cuts each connection after a random number of them, on any byte of either way."""

    def __init__(self, port, seed, least=2_000, most=200_000, cuts=1000, closes=True):
        self.port, self.random, self.range, self.cuts, self.closes = port, random.Random(seed), (least, most), cuts, closes
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.connections, self.mood, self.socks = 0, "passes", []
        self.threads, self.whole = [], False  # whole: the client ended the last one, and all that it sent was passed on
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, scheme="tcp"):
        return f"{scheme}://127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.mood != "passes":
                self.socks.append(near)
                if isinstance(self.mood, bytes):
                    near.recv(16384)
                    near.sendall(self.mood)
                if self.mood != "mute":
                    near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                near.close()
                continue
            self.socks += (near, far)
            for sock in (near, far):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            left = [self.random.randint(*self.range) if self.cuts > 0 else 1 << 60]
            self.cuts -= 1
            self.whole = False
            threads = [threading.Thread(target=self.pass_on, args=way, daemon=True)
                       for way in ((near, far, left, self.connections), (far, near, left, 0))]
            self.threads = threads
            for thread in threads:
                thread.start()

    def pass_on(self, source, target, left, number):
        try:
            while left[0] > 0:
                data = source.recv(16384)
                if not data:
                    self.whole = number == self.connections and left[0] > 0
                    break
                data = data[:left[0]]
                left[0] -= len(data)
                target.sendall(data)
        except OSError:
            pass
        for sock in (source, target):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            if self.closes and sock in self.socks:  # else it says that it has ended, and reads no more
                self.socks.remove(sock)

    def become(self, mood):
        """Cuts all connections; later ones are passed on, refused, kept without a word ("mute"), or told these bytes."""
        self.mood = mood
        for sock in list(self.socks):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        """When the last connection has ended."""
        self.listener.close()
        for thread in self.threads:
            thread.join(60)
