// SPDX-License-Identifier: Apache-2.0
// The package as others get it: packed, installed into an empty project, typed, bundled, and how large it is.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { publint } from "publint";
import { build } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hasBrowser, openBrowser } from "./browser.js";
import { Daemon } from "./daemon.js";

const run = promisify(execFile), home = fileURLToPath(new URL("..", import.meta.url));
const SIZE_MAX = 60 * 1024;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "burn-js-package-"));
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: home });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "consumer", version: "1.0.0", private: true, type: "module" }));
  const packed = readdirSync(folder).find((name) => name.endsWith(".tgz"))!;
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", `./${packed}`], { cwd: folder });
});
afterAll(() => rmSync(folder, { recursive: true }));

it("has no complaints from publint", async () => {
  const { messages } = await publint({ pkgDir: home, strict: true });
  expect(messages).toEqual([]);
});

it("has its licence with it", () => {
  expect(readFileSync(join(folder, "node_modules/burn-client/LICENSE"), "utf8")).toContain("Apache License");
});

it("gives memory back that nobody disposed of", async () => {
  writeFileSync(join(folder, "collect.js"), `import { connect } from "burn-client";
    const burn = await connect("private:"), session = async () => (await burn.report("sessions"))[0];
    let most = 0;
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 20; i++) burn.full([262144], i).add(1);
      await burn.sync();
      global.gc();
      await new Promise((resolve) => setTimeout(resolve, 10));
      most = Math.max(most, (await session()).tensors);
    }
    global.gc();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await burn.sync();
    await burn.sync();
    console.log(JSON.stringify({ most, last: (await session()).tensors }));`);
  const { stdout } = await run(process.execPath, ["--expose-gc", "collect.js"], { cwd: folder });
  const { most, last } = JSON.parse(stdout) as { most: number; last: number };
  expect(most).toBeLessThan(400); // of 800 that were made
  expect(last).toBeLessThan(50);
});

it("runs in Node", async () => {
  writeFileSync(join(folder, "run.js"), `import { connect } from "burn-client";
    const burn = await connect("private:");
    console.log(await burn.arange(10).sum().item());`); // ends without close()
  const { stdout } = await run(process.execPath, ["run.js"], { cwd: folder });
  expect(stdout).toBe("45\n");
});

it.each([["NodeNext", "NodeNext"], ["ESNext", "Bundler"]])("has strict types (%s, %s)", async (module, moduleResolution) => {
  writeFileSync(join(folder, "use.ts"), `
    import { connect, nn, optim, BurnError, type Burn, type DType, type Tensor } from "burn-client";
    export async function use(signal: AbortSignal): Promise<number> {
      const burn: Burn = await connect(undefined, { signal, device: "cpu" });
      const x: Tensor = burn.tensor([[1, 2], [3, 4]], { requiresGrad: true });
      const y = burn.full([2, 2], 0.5, { dtype: "float32" });
      const bits: Float32Array = await y.data();
      const longs: BigInt64Array = await x.argmax(1).data({ signal });
      const model = new nn.Sequential(new nn.Linear(burn, 2, 2), (t) => t.relu());
      const step = burn.jit((a: Tensor) => ({ loss: nn.mseLoss(model.forward(a), a) }));
      step(x).loss.backward();
      new optim.Adam(model.parameters(), { lr: 1e-3, betas: [0.9, 0.99] }).step();
      const dtype: DType = x.dtype;
      const cut: Tensor = burn.ops.conv(x, y, null, { strides: [1], low: [], high: [], dilations: [1] });
      try {
        await burn.sync({ signal });
      } catch (error) {
        if (error instanceof BurnError && error.code === "UNAVAILABLE") return 0;
      }
      // @ts-expect-error: no such dtype
      burn.zeros([1], { dtype: "float31" });
      // @ts-expect-error: shapes are arrays
      burn.zeros(3);
      // @ts-expect-error: the attribute is missing
      burn.ops.softmax(x, {});
      return await x.exp().add(1).sum().item() + bits.length + longs.length + dtype.length + cut.rank;
    }`);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({
    compilerOptions: { target: "ES2022", lib: ["ES2022", "ESNext.Disposable", "DOM"], module, moduleResolution, strict: true, noEmit: true, skipLibCheck: false, types: [] },
    files: ["use.ts"],
  }));
  await run(join(home, "node_modules/.bin/tsc"), ["-p", folder]).catch((error: { stdout: string }) => { throw new Error(error.stdout); });
});

/** The one script that Vite makes of a page's own. */
async function bundle(script: string): Promise<string> {
  writeFileSync(join(folder, "index.html"), '<!doctype html><script type="module" src="/main.js"></script>');
  writeFileSync(join(folder, "main.js"), script);
  await build({ root: folder, logLevel: "error", build: { outDir: "out", modulePreload: { polyfill: false } } });
  const assets = join(folder, "out/assets"), files = readdirSync(assets);
  expect(files.length).toBe(1);
  return readFileSync(join(assets, files[0]!), "utf8");
}

it("is bundled by Vite without any set-up, for browsers, and is small", async () => {
  const all = await bundle('import * as burn from "burn-client"; globalThis.burn = burn;');
  expect(all.match(/"node:|child_process|\beval\([^)]|new Function/)).toBeNull();
  const core = await bundle('import { connect } from "burn-client"; globalThis.connect = connect;');
  const [most, least] = [all, core].map((text) => gzipSync(text, { level: 9 }).length) as [number, number];
  console.log(`gzipped for a page: ${least} bytes, with nn and optim ${most}`);
  expect(least).toBeLessThanOrEqual(SIZE_MAX);
});

it.skipIf(!hasBrowser)("computes in a page that Vite bundled", async () => { // no Chromium: browser.ts says where it looks
  await bundle(`import { connect } from "burn-client";
    const burn = await connect();
    document.title = String(await burn.arange(10).sum().item());`);
  const daemon = await Daemon.start("--listen=tcp://127.0.0.1:0?insecure", `--www=${join(folder, "out")}`), browser = await openBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${await daemon.port("tcp")}/`);
    await page.waitForFunction(() => document.title === "45");
  } finally {
    await browser.close();
    await daemon.stop();
  }
});
