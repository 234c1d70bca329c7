// SPDX-License-Identifier: Apache-2.0
// The package in Chromium, unbundled, as a daemon serves it: WebSocket, the content security policy, workers.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type * as Package from "../src/browser.js";
import { hasBrowser, openBrowser } from "./browser.js";
import { Daemon } from "./daemon.js";

const dist = fileURLToPath(new URL("../dist", import.meta.url));
let daemon: Daemon, browser: Browser, page: Page, folder: string, requests: string[];

describe.skipIf(!hasBrowser)("in a page", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "burn-js-www-"));
    cpSync(dist, join(folder, "burn"), { recursive: true });
    writeFileSync(join(folder, "index.html"), "<!doctype html><title>burn</title><script type=module src=main.js></script>");
    writeFileSync(join(folder, "main.js"), "import * as burn from './burn/browser.js'; window.burn = burn;");
    writeFileSync(join(folder, "worker.js"), `import { connect } from './burn/browser.js';
      const burn = await connect();
      postMessage(await burn.arange(5).sum().item());`);
    daemon = await Daemon.start("--listen=tcp://127.0.0.1:0?insecure", `--www=${folder}`);
    browser = await openBrowser();
    page = await browser.newPage();
    requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(`http://127.0.0.1:${await daemon.port("tcp")}/`);
    await page.waitForFunction(() => "burn" in window);
  });
  afterAll(async () => {
    await browser.close();
    await daemon.stop();
    rmSync(folder, { recursive: true });
  });

  it("computes, differentiates and trains", async () => {
    const found = await page.evaluate(async () => {
      const { connect, nn, optim } = (window as unknown as { burn: typeof Package }).burn;
      const burn = await connect();
      burn.seed(1);
      const x = burn.tensor([[1, 2], [3, 4]], { requiresGrad: true });
      x.square().sum().backward();
      const model = new nn.Sequential(new nn.Linear(burn, 2, 8), (t) => t.tanh(), new nn.Linear(burn, 8, 2));
      const opt = new optim.AdamW(model.parameters(), { lr: 0.05 });
      const data = burn.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]), labels = burn.tensor([0n, 1n, 1n, 0n]);
      const losses: number[] = [];
      for (let i = 0; i < 60; i++) {
        const loss = burn.tidy(() => {
          const value = nn.crossEntropy(model.forward(data), labels);
          opt.zeroGrad();
          value.backward();
          opt.step();
          return value;
        });
        losses.push(await loss.item());
      }
      const classes = await model.forward(data).argmax(1).tolist();
      const result = { url: burn.url, grad: await x.grad!.tolist(), classes, first: losses[0]!, last: losses.at(-1)!, ping: await burn.ping() };
      burn.close();
      return result;
    });
    expect(found.url).toMatch(/^ws:\/\/127\.0\.0\.1:/);
    expect(found.grad).toEqual([[2, 4], [6, 8]]);
    expect(found.classes).toEqual([0, 1, 1, 0]);
    expect(found.last).toBeLessThan(found.first / 4);
    expect(found.ping).toBeGreaterThan(0);
  });

  it("moves more than fits into one frame or the credit", async () => {
    const right = await page.evaluate(async () => {
      const burn = await (window as unknown as { burn: typeof Package }).burn.connect();
      const array = Float32Array.from({ length: 9_000_000 }, (_, i) => i % 1000);
      const back = await burn.tensor(array).mul(2).data() as Float32Array;
      burn.close();
      return back.length === array.length && back.every((value, i) => value === 2 * array[i]!);
    });
    expect(right).toBe(true);
  });

  it("works in a worker", async () => {
    const sum = await page.evaluate(() => new Promise((resolve, reject) => {
      const worker = new Worker("worker.js", { type: "module" });
      worker.onmessage = (event: MessageEvent<unknown>) => resolve(event.data);
      worker.onerror = (event) => reject(new Error(event.message));
    }));
    expect(sum).toBe(10);
  });

  it("says why it cannot connect, and what it may not do", async () => {
    const found = await page.evaluate(async () => {
      const { connect } = (window as unknown as { burn: typeof Package }).burn;
      const refused = await connect("ws://127.0.0.1:9").catch((error: Package.BurnError) => `${error.code} ${error.message}`);
      const wrong = await connect("tcp://127.0.0.1:9").catch((error: Package.BurnError) => error.code);
      const burn = await connect();
      const shutdown = await burn.shutdown().catch((error: Package.BurnError) => error.code);
      burn.close();
      return { refused, wrong, shutdown };
    });
    expect(found.refused).toMatch(/^UNAVAILABLE cannot connect to ws:\/\/127.0.0.1:9/);
    expect([found.wrong, found.shutdown]).toEqual(["INVALID", "DENIED"]);
  });

  it("asks only its own daemon", () => {
    expect(requests.length).toBeGreaterThan(5);
    expect(requests.filter((url) => !url.startsWith("http://127.0.0.1:"))).toEqual([]);
  });

  it("tells that its daemon has gone", async () => {
    await page.evaluate(async () => {
      const all = window as unknown as { burn: typeof Package; last: Package.Burn };
      all.last = await all.burn.connect();
    });
    await daemon.stop();
    const lost = await page.evaluate(async () => {
      const burn = (window as unknown as { last: Package.Burn }).last;
      return burn.sync().catch((error: Package.BurnError) => error.code);
    });
    expect(lost).toBe("UNAVAILABLE");
  });
});
