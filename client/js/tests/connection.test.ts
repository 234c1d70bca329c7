// SPDX-License-Identifier: Apache-2.0
// Addresses, aborts, and what is left when a connection or a daemon goes.
import { createServer, type AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { BurnError, connect, type Burn, type Tensor } from "../src/node.js";
import { Daemon, Proxy } from "./daemon.js";

let daemon: Daemon, port: number;
beforeAll(async () => {
  daemon = await Daemon.start("--listen=tcp://127.0.0.1:0?insecure");
  port = await daemon.port("tcp");
});
afterAll(() => daemon.stop());

/** What a promise is rejected with. */
async function failure(promise: Promise<unknown>): Promise<BurnError> {
  try {
    await promise;
  } catch (error) {
    return error as BurnError;
  }
  throw new Error("it did not fail");
}

/** Something that takes the daemon a while. */
function long(burn: Burn): Tensor {
  let x = burn.normal([900, 900], 0, 0.03);
  for (let i = 0; i < 15; i++) x = x.matmul(x).tanh();
  return x.sum();
}

it("connects by TCP and Unix sockets, by URL or environment", async () => {
  for (const url of [`tcp://127.0.0.1:${port}`, `tcp://localhost:${port}?insecure`, daemon.url, `${daemon.url}?device=cpu`]) {
    const burn = await connect(url);
    expect([burn.url, burn.device, await burn.ones([3]).sum().item()]).toEqual([url, "cpu", 3]);
    burn.close();
  }
  process.env.BURN_URL = daemon.url;
  try {
    const burn = await connect();
    expect(burn.url).toBe(daemon.url);
    burn.close();
  } finally {
    process.env.BURN_URL = "";
  }
});

it("cancels its work, and another session's", async () => {
  const [burn, other] = [await connect(daemon.url), await connect(daemon.url)];
  const kept = burn.tensor([1, 2, 3]);
  await burn.sync();
  for (const [by, session] of [[burn, 0], [other, burn.session]] as const) {
    const waiting = failure(long(burn).item());
    await burn.ping();
    await by.cancelWork(session);
    expect([(await waiting).code, (await failure(burn.sync())).code]).toEqual(["CANCELLED", "CANCELLED"]);
    expect(await kept.tolist()).toEqual([1, 2, 3]);
  }
  expect((await failure(burn.cancelWork(99999))).message).toBe("session 99999 is unknown");
  expect((await failure(burn.cancelWork(-1))).code).toBe("INVALID");
  burn.close();
  other.close();
});

it("ends another session", async () => {
  const [burn, other] = [await connect(daemon.url), await connect(daemon.url)], session = other.session;
  expect(await other.ones([3]).sum().item()).toBe(3);
  await burn.closeSession(session);
  expect(await other.closed).toBeDefined();
  expect(await failure((async () => other.ones([3]))())).toMatchObject({ code: "CANCELLED", message: expect.stringContaining("closed from another one") as string });
  expect((await burn.report("sessions") as { session: number }[]).map((row) => row.session)).not.toContain(session);
  expect((await failure(burn.closeSession(session))).message).toBe(`session ${session} is unknown`);
  expect((await failure(burn.closeSession(burn.session))).message).toBe(`session ${burn.session} is this one, which ends by closing its connection`);
  expect((await failure(burn.closeSession(0.5))).code).toBe("INVALID");
  expect(await burn.ones([3]).sum().item()).toBe(3);
  burn.close();
});

it("says what is wrong with an address", async () => {
  expect((await failure(connect("unix:///nowhere/d.sock"))).message).toMatch(/cannot connect to unix:\/\/\/nowhere\/d.sock: .*ENOENT/);
  expect((await failure(connect("unix://relative"))).code).toBe("INVALID");
  expect((await failure(connect("ftp://host"))).message).toMatch(/connect\(\) takes unix/);
  expect((await failure(connect(daemon.url, { device: "abacus" }))).message).toMatch(/abacus/);
  const burnd = process.env.BURND!;
  process.env.BURND = "/nowhere/burnd";
  expect((await failure(connect("private:"))).message).toMatch(/BURND names/);
  process.env.BURND = burnd;
});

it.each([
  ["tls://127.0.0.1:99999", 'the port is a number from 1 to 65535, not "99999"'], ["tcp://127.0.0.1:0", "the port is"], ["wss://127.0.0.1:-1", "the port is"],
  ["ws://[::1]:http", "the port is"], ["tcp://[::1", "stands within brackets"], ["wss://[::1]x:1", "stands within brackets"], ["tls://[]:1", "stands within brackets"], ["tcp://127.0.0.1:", "the port is"], ["tcp://:1", "expected a host and a port"], ["tls://", "expected a host and a port"],
  ["tls://127.0.0.1:1?foo=abc", '"foo=abc" is none of device=NAME, pin=sha256:HEX and resume=SECONDS'], ["tls://127.0.0.1:1?pin", '"pin" is none of'],
  ["unix:///nowhere/s?devices=ref", '"devices=ref" is none of'], ["tcp://127.0.0.1:1?resume=1&", '"" is none of'], ["tcp://127.0.0.1:1?insecureX", '"insecureX" is none of'],
  ["tcp://127.0.0.1:1?resume=-1", "resume is a number of seconds"], ["tls://127.0.0.1:1?pin=sha256:12", "a pin is sha256: and 64 hex digits"],
  ["private:?Device=ref", '"Device=ref" is none of'], ["http://127.0.0.1", "connect() takes"],
])("refuses %s before anybody is asked", async (url, says) => {
  const error = await failure(connect(url));
  expect([error.code, error.message.includes(says)], error.message).toEqual(["INVALID", true]);
});

it("takes 7867 for a port that is not named", async () => {
  const error = await failure(connect("tcp://127.0.0.2")); // nobody listens there
  expect([error.code, error.message]).toEqual(["UNAVAILABLE", expect.stringMatching(/127\.0\.0\.2:7867/)]);
});

it("gives up a handshake that is not answered, or aborted", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const url = `tcp://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  expect((await failure(connect(url, { timeout: 100 }))).code).toBe("DEADLINE");
  expect((await failure(connect(url, { signal: AbortSignal.timeout(50) }))).name).toBe("TimeoutError");
  expect((await failure(connect(url, { signal: AbortSignal.abort() }))).name).toBe("AbortError");
  silent.close();
  const other = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  expect((await failure(connect(`tcp://127.0.0.1:${(other.address() as AddressInfo).port}`))).code).toBe("PROTOCOL");
  other.close();
});

it("ends a wait by its signal and lives on", async () => {
  const burn = await connect(daemon.url);
  const reason = new Error("enough"), controller = new AbortController();
  const slow = long(burn).item({ signal: controller.signal });
  controller.abort(reason);
  expect(await failure(slow)).toBe(reason);
  expect((await failure(burn.sync({ signal: AbortSignal.abort() }))).name).toBe("AbortError");
  expect(await burn.ones([5]).sum().item()).toBe(5);
  burn.close();
});

it("rejects all that waits when the connection is lost", async () => {
  const proxy = await Proxy.start(daemon), burn = await connect(`${proxy.url}?resume=0`);
  const x = burn.ones([2]);
  await burn.sync();
  proxy.answers = false;
  const waiting = [failure(x.data()), failure(burn.sync()), failure(burn.ping())];
  proxy.cut();
  for (const error of await Promise.all(waiting)) {
    expect(error).toBeInstanceOf(BurnError);
    expect(error.code).toBe("UNAVAILABLE");
  }
  expect(burn.alive).toBe(false);
  expect(() => x.add(1)).toThrow(/closed the connection|failed/);
  expect((await failure(x.data())).code).toBe("UNAVAILABLE");
  x.dispose();
  burn.close();
  proxy.stop();
});

it("leaves nothing behind in the daemon", async () => {
  const watcher = await connect(daemon.url);
  const sessions = async (): Promise<number> => (await watcher.report("sessions") as unknown[]).length;
  const before = await sessions(), burn = await connect(daemon.url);
  burn.tensor(new Float32Array(1_000_000));
  await burn.sync();
  expect(await sessions()).toBe(before + 1);
  burn.close();
  while (await sessions() !== before) await new Promise((resolve) => setTimeout(resolve, 10));
  watcher.close();
});

it("tells of a daemon that drains", async () => {
  const other = await Daemon.start(), burn = await connect(other.url);
  expect(await burn.ones([1]).item()).toBe(1);
  expect(burn.draining).toBe(false);
  await burn.shutdown();
  await burn.sync(); // a loop may end its step
  expect(burn.draining).toBe(true);
  await other.stop();
  expect((await failure(burn.sync())).code).toBe("UNAVAILABLE");
});
