// SPDX-License-Identifier: Apache-2.0
// The three clients say the same: one program in C, Python and JavaScript, recorded by a proxy, equals byte for byte after
// HELLO, with flushes and frees at the same places. By TCP: on a Unix socket C and Python share memory with the daemon.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect } from "../src/node.js";
import { Daemon, Proxy } from "./daemon.js";

const run = promisify(execFile), root = fileURLToPath(new URL("../../..", import.meta.url));
const LARGE = Float32Array.from({ length: 700_000 }, (_, i) => i % 251);
let daemon: Daemon, folder: string;
beforeAll(async () => {
  // Without resumption: its acknowledgements come at places that depend on time.
  daemon = await Daemon.start("--listen=tcp://127.0.0.1:0?insecure", "--resume-grace=0");
  folder = mkdtempSync(join(tmpdir(), "burn-js-wire-"));
});
afterAll(async () => {
  await daemon.stop();
  rmSync(folder, { recursive: true });
});

async function recorded(program: (url: string) => Promise<unknown>): Promise<Buffer> {
  const proxy = await Proxy.start(daemon);
  try {
    await program(proxy.url);
    await proxy.ended;
    return proxy.afterHello();
  } finally {
    proxy.stop();
  }
}

async function inC(url: string): Promise<void> {
  const program = join(folder, "wire"), lib = join(root, "build/release/lib");
  await run("cc", [fileURLToPath(new URL("wire.c", import.meta.url)), `-I${root}/client/c`, `-L${lib}`, "-lburn-client", `-Wl,-rpath,${lib}`, "-o", program]);
  await run(program, { env: { ...process.env, BURN_URL: url } });
}

async function inPython(url: string): Promise<void> {
  await run(join(root, "build/venv/bin/python"), ["-c", `
import burn, numpy as np
x = burn.tensor(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
w = burn.tensor(np.array([[0.5], [-1], [2]], np.float32), requires_grad=True)
y = x @ w
z = y * 2.5
s = z.sum()
s.backward()
burn._core.flush()
del y, z
w.grad.numpy()
large = (np.arange(700000) % 251).astype(np.float32)
big = burn.tensor(large)
middle = burn.tensor(large[:5000])
both = middle.exp()
burn._core.mark()
del middle, both
burn.sync()
big.numpy()
del big
burn._core.flush()
`], { env: { ...process.env, BURN_URL: url } });
}

async function inJavaScript(url: string): Promise<void> {
  const burn = await connect(url);
  const x = burn.tensor([[1, 2, 3], [4, 5, 6]]), w = burn.tensor([[0.5], [-1], [2]], { requiresGrad: true });
  const y = x.matmul(w), z = y.mul(2.5), sum = z.sum();
  sum.backward();
  await burn.flush();
  y.dispose();
  z.dispose();
  expect(await w.grad!.tolist()).toEqual([[12.5], [17.5], [22.5]]);
  const big = burn.tensor(LARGE), middle = burn.tensor(LARGE.subarray(0, 5000)), both = middle.exp();
  burn.mark();
  middle.dispose();
  both.dispose();
  await burn.sync();
  expect((await big.data() as Float32Array).every((value, i) => value === LARGE[i])).toBe(true);
  big.dispose();
  await burn.flush();
  burn.close();
}

it("sends what C and Python send", async () => {
  const [c, python, javascript] = [await recorded(inC), await recorded(inPython), await recorded(inJavaScript)];
  expect(c.length).toBeGreaterThan(2_800_000);
  expect(javascript.equals(c)).toBe(true);
  expect(python.equals(c)).toBe(true);
});
