// SPDX-License-Identifier: Apache-2.0
// examples/remote-inference-web in Chromium: two pages follow one name while a Python program trains it; one draws, reads
// the right answer, and teaches. BURN_SCREENSHOT names a file for a picture of it.
import { spawn, type ChildProcess } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, openBrowser } from "./browser.js";

const RUN = fileURLToPath(new URL("../../../examples/remote-inference-web/run", import.meta.url));
const text = (page: Page, id: string): Promise<string> => page.locator(`#${id}`).innerText();

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Waits until an element says what is expected. */
async function says(page: Page, id: string, what: RegExp): Promise<void> {
  await page.waitForFunction(([at, source]) => new RegExp(source!).test(document.getElementById(at!)!.innerText), [id, what.source], { timeout: 120_000 })
    .catch(async () => expect(await text(page, id)).toMatch(what));
}

describe.skipIf(!hasBrowser)("draw a garment", () => {
  let example: ChildProcess, browser: Browser, page: Page, output = "", requests: string[] = [];

  beforeAll(async () => {
    const port = await freePort();
    example = spawn(RUN, [String(port), "--steps", "500"], { stdio: ["ignore", "pipe", "pipe"], detached: true });
    for (const stream of [example.stdout!, example.stderr!]) stream.setEncoding("utf8").on("data", (more: string) => { output += more; });
    while (!/published/.test(output)) {
      if (example.exitCode !== null) throw new Error(output);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    browser = await openBrowser();
    page = await browser.newPage({ viewport: { width: 1180, height: 1020 } });
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(`http://127.0.0.1:${port}/`);
    await says(page, "state", /^connected$/);
  });
  afterAll(async () => {
    await browser?.close();
    const ended = new Promise((resolve) => example.once("exit", resolve));
    process.kill(-example.pid!, "SIGTERM");
    await ended;
  });

  /** Strokes over the pad, in its own 448 units. */
  async function draw(brush: number, ...strokes: [number, number][][]): Promise<void> {
    await page.locator("#brush").fill(String(brush));
    const box = (await page.locator("#pad").boundingBox())!, scale = box.width / 448;
    for (const [first, ...rest] of strokes) {
      await page.mouse.move(box.x + first![0] * scale, box.y + first![1] * scale);
      await page.mouse.down();
      for (const [x, y] of rest) await page.mouse.move(box.x + x * scale, box.y + y * scale, { steps: 6 });
      await page.mouse.up();
    }
  }

  it("follows the trainer in two pages until it has ended", async () => {
    const other = await browser.newPage();
    await other.goto(page.url());
    await says(other, "state", /^connected$/);
    const before = await text(page, "weights");
    while (!/test accuracy: 0\.[89]/.test(output)) {
      expect(example.exitCode).toBeNull();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await page.waitForFunction((old) => document.getElementById("weights")!.innerText !== old, before);
    await new Promise((resolve) => setTimeout(resolve, 2500)); // the last weights
    for (const each of [page, other]) {
      await each.getByRole("button", { name: "Bag", exact: true }).first().click();
      await says(each, "verdict", /^Bag, \d+ %/);
    }
    expect(await text(page, "bars")).toBe(await text(other, "bars")); // one model, the same numbers
    await other.close();
  });

  it("names what is drawn by mouse and by keyboard", async () => {
    await page.getByRole("button", { name: "Clear" }).click();
    await says(page, "verdict", /^Nothing yet$/);
    await draw(64, [[185, 60], [180, 400]], [[265, 60], [270, 400]], [[185, 60], [265, 60]], [[190, 110], [260, 110]]);
    await says(page, "verdict", /^Trouser, \d+ %/);
    const bar = page.locator("#bars .top .bar"), track = page.locator("#bars .top .track");
    await expect.poll(async () => (await bar.boundingBox())!.width / (await track.boundingBox())!.width).toBeGreaterThan(0.4);
    expect(await text(page, "trip")).toMatch(/^\d+\.\d ms/);
    expect(await text(page, "daemon")).toMatch(/^burnd /);
    expect(await text(page, "address")).toMatch(/^ws:\/\/127\.0\.0\.1:/);
    if (process.env.BURN_SCREENSHOT) await page.screenshot({ path: process.env.BURN_SCREENSHOT, fullPage: true });
    await page.locator("#pad").focus();
    await page.keyboard.press("Delete");
    await says(page, "verdict", /^Nothing yet$/);
    await page.keyboard.press("Space");
    for (let i = 0; i < 12; i++) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Space");
    await says(page, "verdict", /^\w.*, \d+ %/);
  });

  it("learns what the visitor says, and forgets it", async () => {
    await page.getByRole("button", { name: "Clear" }).click();
    await draw(20, [[60, 380], [140, 80], [220, 380], [300, 80], [380, 380]]);
    await page.waitForSelector("#verdict[aria-busy=false]");
    const before = await text(page, "verdict"), wanted = before.startsWith("Dress") ? "Coat" : "Dress";
    await page.keyboard.press(wanted === "Dress" ? "3" : "4");
    await says(page, "lesson", /^1 lesson; loss/);
    await says(page, "verdict", new RegExp(`^${wanted}, `));
    expect(await page.locator("#follow").isChecked()).toBe(false);
    await page.getByRole("button", { name: "Forget my lessons" }).click();
    await says(page, "lesson", /^No lessons/);
    await says(page, "verdict", new RegExp(`^${before.split(",")[0]!}, `));
  });

  it("asks only its own daemon", () => {
    const own = new URL(page.url()).origin;
    expect(requests.length).toBeGreaterThan(4);
    expect(requests.filter((url) => !url.startsWith(own) && !url.startsWith("data:"))).toEqual([]);
  });
});
