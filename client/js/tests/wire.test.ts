// SPDX-License-Identifier: Apache-2.0
// Three clients and the independent encoder hold one conversation (tests/integration/conversation.py): what they send after
// HELLO is equal byte for byte, with flushes and frees at the same places, and so are the results. By TCP: on a Unix socket
// C and Python share memory with the daemon.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect } from "../src/node.js";
import { Daemon, Proxy } from "./daemon.js";

const run = promisify(execFile), root = fileURLToPath(new URL("../../..", import.meta.url));
const PYTHON = join(root, "build/venv/bin/python"), CONVERSATION = join(root, "tests/integration/conversation.py");
const LARGE = Float32Array.from({ length: 600_000 }, (_, i) => i);
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

/** A program gives its results as text; what it sent goes with them. */
async function recorded(program: (url: string) => Promise<string>): Promise<{ sent: Buffer; results: string }> {
  const proxy = await Proxy.start(daemon);
  try {
    const results = await program(proxy.url);
    await proxy.ended;
    return { sent: proxy.afterHello(), results };
  } finally {
    proxy.stop();
  }
}

async function inC(url: string): Promise<string> {
  const program = join(folder, "wire"), lib = join(root, "build/release/lib");
  await run("cc", [fileURLToPath(new URL("wire.c", import.meta.url)), `-I${root}/client/c`, `-L${lib}`, "-lburn-client", `-Wl,-rpath,${lib}`, "-o", program]);
  return (await run(program, { env: { ...process.env, BURN_URL: url } })).stdout;
}

async function inPython(url: string): Promise<string> {
  return (await run(PYTHON, [CONVERSATION], { env: { ...process.env, BURN_URL: url } })).stdout;
}

const hex = (values: Float32Array): string => Buffer.from(values.buffer).toString("hex");

async function inJavaScript(url: string): Promise<string> {
  const burn = await connect(url);
  const x = burn.tensor([[1, 2, 3], [4, 5, 6]]), w = burn.tensor([[0.5], [-1], [2]], { requiresGrad: true });
  const y = x.matmul(w), z = y.mul(2.5), sum = z.sum();
  sum.backward();
  await burn.flush();
  y.dispose();
  z.dispose();
  const gradient = await w.grad!.data() as Float32Array;
  const large = burn.tensor(LARGE), d = w.detach(), p = burn.ops.add(d, 300n), t = p.mean(0), u = t.clamp(null, 300.25);
  burn.mark();
  for (const each of [d, p, t]) each.dispose();
  await burn.sync();
  const limited = await u.data() as Float32Array;
  expect((await large.data() as Float32Array).every((value, i) => value === LARGE[i])).toBe(true);
  large.dispose();
  await burn.flush();
  burn.close();
  return `${hex(gradient)} ${hex(limited)}\n`;
}

it("says what the independent encoder says, in C, Python and JavaScript", async () => {
  const file = join(folder, "sent"), env = { ...process.env, BURN_URL: `tcp://127.0.0.1:${await daemon.port("tcp")}` };
  const { stdout: results } = await run(PYTHON, [CONVERSATION, file], { env }), sent = readFileSync(file);
  expect(sent.length).toBeGreaterThan(2_400_000);
  expect(results).toBe(`${hex(Float32Array.of(12.5, 17.5, 22.5))} ${hex(Float32Array.of(300.25))}\n`);
  for (const program of [inC, inPython, inJavaScript]) {
    const said = await recorded(program);
    expect([program.name, said.results, said.sent.equals(sent)]).toEqual([program.name, results, true]);
  }
});
