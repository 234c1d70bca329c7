// SPDX-License-Identifier: Apache-2.0
// Connections that are lost and made anew, in Node and in Chromium: nothing is lost and nothing done twice.
import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect, type Burn, type BurnError } from "../src/node.js";
import type * as Package from "../src/browser.js";
import { hasBrowser, openBrowser } from "./browser.js";
import { Cutter } from "./cutter.js";
import { Daemon } from "./daemon.js";
import { train } from "./training.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const secret = `burn_${randomBytes(32).toString("base64url")}`;
let daemon: Daemon, www: string, pin: string, expected: Uint8Array;

beforeAll(async () => {
  // Node 20 has no WebSocket of its own; 22 has this one.
  globalThis.WebSocket ??= (createRequire(join(ROOT, "build/npm/"))("undici") as { WebSocket: typeof WebSocket }).WebSocket;
  www = mkdtempSync(join(tmpdir(), "burn-js-resume-"));
  cpSync(fileURLToPath(new URL("../dist", import.meta.url)), join(www, "burn"), { recursive: true });
  writeFileSync(join(www, "index.html"), "<!doctype html><script type=module src=main.js></script>");
  writeFileSync(join(www, "main.js"), `import * as burn from './burn/browser.js'; window.burn = burn; window.train = ${train.toString()};`);
  const digest = createHash("sha256").update(secret).digest("hex");
  daemon = await Daemon.prepared((state) => writeFileSync(join(state, "tokens"), `page ${digest} compute,infer - -\n`, { mode: 0o600 }),
    "--listen=tcp://127.0.0.1:0?insecure", "--listen=tls://127.0.0.1:0", `--www=${www}`, "--resume-grace=10min");
  const certificate = readFileSync(join(daemon.path, "../state/certificate.pem"));
  pin = createHash("sha256").update(new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" })).digest("hex");
  const burn = await connect(daemon.url);
  expected = Uint8Array.from(await train(burn, await import("../src/node.js")));
  burn.close();
});
afterAll(async () => {
  await daemon.stop();
  rmSync(www, { recursive: true });
});

const failure = (promise: Promise<unknown>): Promise<BurnError> =>
  promise.then(() => { throw new Error("it did not fail"); }, (error: BurnError) => error);

/** The daemon's sessions, lost ones too, apart from the one that asks. */
async function sessions(of: Burn): Promise<number> {
  return (await of.report("stats") as { sessions: { open: number } }).sessions.open - 1;
}

it.each(["tcp", "tls", "ws"] as const)("trains to the same bits over %s while it is cut again and again", async (scheme) => {
  const cutter = await Cutter.start(await daemon.port(scheme === "tls" ? "tls" : "tcp"));
  const burn = await connect(`${scheme}://127.0.0.1:${cutter.port}${scheme === "tls" ? `?pin=sha256:${pin}` : ""}`, { token: scheme === "tls" ? secret : "" });
  cutter.begin(150_000, 7);
  const found = await train(burn, await import("../src/node.js"));
  cutter.rest();
  expect(cutter.cuts).toBeGreaterThan(20);
  expect(Buffer.from(found).equals(expected)).toBe(true);
  expect(burn.alive).toBe(true);
  burn.close();
  cutter.stop();
});

it("moves large tensors both ways while it is cut", async () => {
  const cutter = await Cutter.start(await daemon.port("tcp")), data = Float32Array.from({ length: 3_000_000 }, (_, i) => i % 1009);
  for (const scheme of ["tcp", "ws"]) {
    const burn = await connect(`${scheme}://127.0.0.1:${cutter.port}`);
    cutter.begin(3_000_000, 11);
    const back = await burn.tensor(data).mul(2).data();
    cutter.rest();
    expect(back.every((value, i) => value === 2 * data[i]!)).toBe(true);
    burn.close();
  }
  expect(cutter.cuts).toBeGreaterThan(10);
  cutter.stop();
});

it.skipIf(!hasBrowser)("trains to the same bits in Chromium while it is cut again and again", async () => { // no Chromium: browser.ts says where it looks
  const cutter = await Cutter.start(await daemon.port("tcp")), browser = await openBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${cutter.port}/`);
    await page.waitForFunction(() => "train" in window);
    await page.evaluate(async () => {
      const all = window as unknown as { burn: typeof Package; open: Package.Burn };
      all.open = await all.burn.connect() as never;
    });
    cutter.begin(150_000, 7);
    const found = await page.evaluate(async () => {
      const all = window as unknown as { burn: typeof Package; open: Package.Burn; train: typeof train };
      return all.train(all.open, all.burn);
    });
    cutter.rest();
    expect(cutter.cuts).toBeGreaterThan(20);
    expect(Buffer.from(found).equals(expected)).toBe(true);
  } finally {
    await browser.close();
    cutter.stop();
  }
});

it("says that it is lost, and waits or gives up as the URL says", async () => {
  const cutter = await Cutter.start(await daemon.port("tcp")), url = `tcp://127.0.0.1:${cutter.port}`;
  const [patient, hasty, none] = [await connect(url), await connect(`${url}?resume=1`), await connect(`${url}?resume=0`)];
  const x = patient.full([3], 5);
  await patient.sync();
  cutter.refuses = true;
  cutter.cut();
  const waits = patient.sync(), controller = new AbortController(), aborted = failure(patient.ping({ signal: controller.signal }));
  expect((await failure(none.sync())).message).not.toMatch(/resumed/);
  const given = await failure(hasty.sync());
  expect([given.code, given.retryable]).toEqual(["UNAVAILABLE", true]);
  expect(given.message).toMatch(/could not be resumed: /);
  expect([patient.resuming, patient.alive, hasty.resuming, hasty.alive]).toEqual([true, true, false, false]);
  expect((await hasty.closed).message).toBe(given.message);
  controller.abort();
  expect((await aborted).name).toBe("AbortError");
  const y = x.add(1); // recorded meanwhile
  cutter.refuses = false;
  await waits;
  expect(patient.resuming).toBe(false);
  expect(await y.tolist()).toEqual([6, 6, 6]);
  for (const wrong of ["-1", "soon", ""]) expect((await failure(connect(`${url}?resume=${wrong}`))).code).toBe("INVALID");
  cutter.refuses = true;
  cutter.cut();
  const last = failure(patient.sync());
  patient.close();
  expect((await last).message).toMatch(/was closed/);
  cutter.stop();
});

it.each(["tcp", "ws"] as const)("does not wait for a daemon that was shut down over %s", async (scheme) => {
  const ending = await Daemon.start("--listen=tcp://127.0.0.1:0?insecure", "--resume-grace=1h");
  const url = `${scheme}://127.0.0.1:${await ending.port("tcp")}`, burn = await connect(url);
  await ending.stop();
  expect((await burn.closed).message).toBe(`the daemon at ${url} closed the connection: it was shut down`);
  expect([burn.resuming, burn.alive]).toEqual([false, false]);
});

it("gives up at once where another daemon answers", async () => {
  const first = await Daemon.start("--listen=tcp://127.0.0.1:0?insecure"), cutter = await Cutter.start(await first.port("tcp"));
  const burn = await connect(`tcp://127.0.0.1:${cutter.port}`);
  cutter.target = await daemon.port("tcp");
  cutter.cut();
  expect((await failure(burn.sync())).message).toMatch(/could not be resumed: there is no session to be resumed by this key/);
  cutter.stop();
  await first.stop();
});

it.each(["tcp", "ws"] as const)("notices over %s a daemon that has vanished without a word, and leaves alone one that has nothing to say", async (scheme) => {
  const cutter = await Cutter.start(await daemon.port("tcp")), url = `${scheme}://127.0.0.1:${cutter.port}`;
  const [patient, none] = [await connect(url, { keepAlive: 200 }), await connect(`${url}?resume=0`, { keepAlive: 200 })];
  const x = patient.full([3], 5), before = patient.bytesSent;
  await patient.sync();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect([patient.alive, patient.resuming, none.alive]).toEqual([true, false, true]);
  expect(patient.bytesSent).toBeGreaterThan(before); // it has asked
  cutter.swallows = true;
  const waits = x.add(1).tolist();
  expect((await none.closed).message).toBe(`the daemon at ${url}?resume=0 does not answer any more`);
  while (!patient.resuming) await new Promise((resolve) => setTimeout(resolve, 5));
  cutter.swallows = false; // for new connections
  expect(await waits).toEqual([6, 6, 6]);
  patient.close();
  cutter.stop();
});

it("asks a function for the token, also when it resumes", async () => {
  const cutter = await Cutter.start(await daemon.port("tls"));
  let asked = 0;
  const burn = await connect(`tls://127.0.0.1:${cutter.port}?pin=sha256:${pin}`, { token: async () => (asked++, secret) });
  cutter.cut();
  await burn.sync();
  expect(asked).toBe(2);
  burn.close();
  cutter.stop();
});

it("says goodbye when it is closed, when a program ends and when a page is closed", async () => {
  const own = await Daemon.start("--listen=tcp://127.0.0.1:0?insecure", `--www=${www}`, "--resume-grace=10min");
  const watcher = await connect(own.url), port = await own.port("tcp");
  for (const scheme of ["tcp", "ws"]) {
    const burn = await connect(`${scheme}://127.0.0.1:${port}`);
    expect(await sessions(watcher)).toBe(1);
    burn.close();
    while (await sessions(watcher) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const dist = fileURLToPath(new URL("../dist/node.js", import.meta.url));
  for (const end of ["", "process.exit(0)"]) {
    await promisify(execFile)(process.execPath, ["--input-type=module", "-e",
      `import { connect } from ${JSON.stringify(dist)};
       const burn = await connect("tcp://127.0.0.1:${port}");
       await burn.ones([3]).sum().item(); ${end}`]);
    while (await sessions(watcher) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  if (hasBrowser) {
    const browser = await openBrowser(), page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.waitForFunction(() => "train" in window);
    await page.evaluate(async () => (window as unknown as { burn: typeof Package }).burn.connect().then((burn) => burn.sync()));
    expect(await sessions(watcher)).toBe(1);
    await page.close();
    while (await sessions(watcher) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await browser.close();
  }
  watcher.close();
  await own.stop();
});

it("does not keep a program alive that waits for nothing while the connection is lost", async () => {
  const cutter = await Cutter.start(await daemon.port("tcp")), dist = fileURLToPath(new URL("../dist/node.js", import.meta.url));
  const child = spawn(process.execPath, ["--input-type=module", "-e",
    `import { connect } from ${JSON.stringify(dist)};
     const burn = await connect("tcp://127.0.0.1:${cutter.port}?resume=900");
     await burn.sync();
     console.log("ready");
     process.stdin.once("data", () => process.stdin.destroy());`], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  cutter.refuses = true;
  cutter.cut();
  child.stdin.write("go\n");
  expect(await once(child, "exit")).toEqual([0, null]);
  cutter.stop();
});
