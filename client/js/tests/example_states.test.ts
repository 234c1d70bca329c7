// SPDX-License-Identifier: Apache-2.0
// What examples/remote-inference-web shows when all is not well, on small screens, in the dark, and to the keyboard.
// BURN_SCREENSHOTS names a folder for pictures.
import { createHash, randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, nn } from "../src/node.js";
import { hasBrowser, openBrowser } from "./browser.js";
import { Cutter } from "./cutter.js";
import { Daemon } from "./daemon.js";

const EXAMPLE = fileURLToPath(new URL("../../../examples/remote-inference-web", import.meta.url));
const DIST = fileURLToPath(new URL("../dist", import.meta.url));
const secret = `burn_${randomBytes(32).toString("base64url")}`;

/** Waits until an element says what is expected. */
async function says(page: Page, id: string, what: RegExp): Promise<void> {
  await page.waitForFunction(([at, source]) => new RegExp(source!).test(document.getElementById(at!)!.innerText), [id, what.source], { timeout: 120_000 })
    .catch(async () => expect(await page.locator(`#${id}`).innerText()).toMatch(what));
}

/** Weights of the page's network, not trained; who asked for the name gets them. */
async function publish(daemon: Daemon): Promise<void> {
  const burn = await connect(daemon.url), pass = (x: unknown): never => x as never;
  burn.seed(1);
  const model = new nn.Sequential(new nn.Conv2d(burn, 1, 16, 3), pass, pass, new nn.Conv2d(burn, 16, 32, 3), pass, pass, pass,
    new nn.Linear(burn, 32 * 5 * 5, 128), pass, new nn.Linear(burn, 128, 10));
  await burn.names.publish("public/garments", model.stateDict());
  burn.close();
}

/** The contrast of an element's text with what is behind it, as WCAG 2 has it. */
function contrast(selector: string): number {
  const light = (color: string): number => {
    const [r, g, b] = color.match(/[\d.]+/g)!.slice(0, 3).map((part) => {
      const share = Number(part) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  let behind: Element = document.querySelector(selector)!;
  const ink = light(getComputedStyle(behind).color);
  while (/, 0\)$/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement!;
  const ground = light(getComputedStyle(behind).backgroundColor);
  return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
}

describe.skipIf(!hasBrowser)("draw a garment, when all is not well", () => {
  let www: string, browser: Browser, daemon: Daemon, cutter: Cutter, page: Page, port: number;
  const flags = (): string[] => [`--www=${www}`, `--listen=tcp://127.0.0.1:${port}?insecure`];
  const picture = async (name: string): Promise<void> => {
    if (process.env.BURN_SCREENSHOTS) await page.screenshot({ path: join(process.env.BURN_SCREENSHOTS, `${name}.png`), fullPage: true });
  };

  beforeAll(async () => {
    www = mkdtempSync(join(tmpdir(), "burn-js-garments-"));
    for (const file of readdirSync(EXAMPLE)) if (/\.(html|css|js)$/.test(file)) cpSync(join(EXAMPLE, file), join(www, file));
    cpSync(DIST, join(www, "burn"), { recursive: true });
    port = 0;
    daemon = await Daemon.start(...flags());
    port = await daemon.port("tcp");
    cutter = await Cutter.start(port);
    browser = await openBrowser();
    page = await browser.newPage({ viewport: { width: 1180, height: 900 } });
    await page.goto(`http://127.0.0.1:${cutter.port}/`);
  });
  afterAll(async () => {
    await browser.close();
    cutter.stop();
    await daemon.stop();
    rmSync(www, { recursive: true });
  });

  it("waits for a name that nobody has published", async () => {
    await says(page, "state", /^waiting$/);
    await says(page, "why", /Nobody has published public\/garments/);
    await page.getByRole("button", { name: "Bag", exact: true }).click();
    await picture("waiting");
    await publish(daemon);
    await says(page, "state", /^connected$/);
    expect(await page.locator("#notice").isVisible()).toBe(false);
    await says(page, "verdict", /^[A-Z].*, \d+ %/);
  });

  it("says that it resumes, and names afterwards what was drawn meanwhile", async () => {
    cutter.refuses = true;
    cutter.cut();
    await says(page, "state", /^resuming/);
    await says(page, "why", /being made anew/);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByRole("button", { name: "Dress", exact: true }).first().click();
    await picture("resuming");
    const before = await page.locator("#bars").innerText();
    cutter.refuses = false;
    await says(page, "state", /^connected$/);
    await page.waitForFunction((old) => document.getElementById("bars")!.innerText !== old, before);
    await says(page, "verdict", /^[A-Z].*, \d+ %/);
    expect(await page.locator("#notice").isVisible()).toBe(false);
  });

  it("waits for a daemon that is gone, keeps drawing and lessons, and goes on with its successor", async () => {
    await page.keyboard.press("4");
    await says(page, "lesson", /^1 lesson; loss/);
    await daemon.stop();
    await says(page, "state", /^no daemon$/);
    await says(page, "why", /Trying again/);
    await picture("gone");
    daemon = await Daemon.start(...flags());
    await says(page, "state", /^waiting$/);
    await publish(daemon);
    await says(page, "state", /^connected$/);
    await says(page, "lesson", /^1 lesson; loss/);
    await says(page, "verdict", /^Coat, \d+ %/); // what the lesson said
  });

  it("fits a screen of 360 pixels", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
      const pad = (await page.locator("#pad").boundingBox())!;
      expect([pad.x >= 0, pad.x + pad.width <= 360, pad.width > 250]).toEqual([true, true, true]);
      await picture(`narrow-${scheme}`);
    }
    for (const target of await page.locator("button:visible, input:visible").all())
      expect((await target.boundingBox())!.height).toBeGreaterThanOrEqual(await target.getAttribute("type") === "checkbox" ? 12 : 16);
    await page.setViewportSize({ width: 1180, height: 900 });
  });

  it("is legible in both schemes and keeps still for who asked for that", async () => {
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const selector of ["h1", "header > p", "#state", ".hint", "#verdict", "#lesson", "#bars .share", "dt", "dd", "#clear", "#labels b"])
        expect(await page.evaluate(contrast, selector), `${selector} in the ${scheme} scheme`).toBeGreaterThanOrEqual(4.5);
      await picture(scheme);
    }
    const moves = (): Promise<string[]> => page.evaluate(() => {
      document.getElementById("state")!.className = "busy";
      const found = [getComputedStyle(document.querySelector(".bar")!).transitionDuration, getComputedStyle(document.getElementById("state")!, "::before").animationName];
      document.getElementById("state")!.className = "good";
      return found;
    });
    expect(await moves()).toEqual(["0.12s", "beat"]);
    await page.emulateMedia({ reducedMotion: "reduce" });
    expect(await moves()).toEqual(["0s", "none"]);
  });

  it("can be used by the keyboard alone", async () => {
    await page.evaluate(() => { // Tab goes on from the top
      const top = document.querySelector("h1")!;
      top.tabIndex = -1;
      top.focus();
    });
    const seen: string[] = [];
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press("Tab");
      const [name, ring] = await page.evaluate(() => {
        const here = document.activeElement as HTMLElement;
        return here === document.body ? [""] : [here.id || here.innerText.replace("\n", ""), getComputedStyle(here).outlineStyle];
      });
      if (name === "" || seen.includes(name!)) break;
      expect(ring, `the ring around ${name}`).not.toBe("none");
      seen.push(name!);
    }
    for (const name of ["pad", "brush", "clear", "Ankle boot", "0T-shirt", "9Ankle boot", "forget", "follow"]) expect(seen).toContain(name);
    await page.locator("#clear").press("Enter");
    await says(page, "verdict", /^Nothing yet$/);
    await page.locator("#pad").focus();
    await page.keyboard.press("Space");
    for (let i = 0; i < 5; i++) await page.keyboard.press("Shift+ArrowDown");
    await says(page, "verdict", /^[A-Z].*, \d+ %/);
    await page.locator("#brush").focus(); // the brush is lifted when the pad is left
    await page.locator("#pad").focus();
    const drawn = await page.locator("#bars").innerText();
    for (let i = 0; i < 5; i++) await page.keyboard.press("Shift+ArrowRight");
    expect(await page.locator("#bars").innerText()).toBe(drawn);
  });

  it("asks for a token where one is wanted, and takes it from the address", async () => {
    const digest = createHash("sha256").update(secret).digest("hex");
    const guarded = await Daemon.prepared((state) => writeFileSync(join(state, "tokens"), `page ${digest} compute - -\n`, { mode: 0o600 }),
      "--listen=tls://127.0.0.1:0", `--www=${www}`);
    await publish(guarded);
    const origin = `https://127.0.0.1:${await guarded.port("tls")}/`, open = async (url: string): Promise<Page> => {
      const made = await (await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1180, height: 900 } })).newPage();
      await made.goto(url);
      return made;
    };
    page = await open(origin);
    await says(page, "state", /^not let in$/);
    await says(page, "why", /wants a token/);
    await page.waitForFunction(() => document.activeElement!.id === "token");
    await page.keyboard.type("burn_0123456789wrong");
    await picture("token");
    await page.keyboard.press("Enter");
    await says(page, "why", /^The daemon refused this token/);
    expect(await page.locator("#why").innerText()).not.toContain("0123456789wrong");
    expect(await page.locator("#lesson").innerText()).toBe("No lessons so far."); // digits of a token teach nothing
    await page.locator("#token").fill(secret);
    await page.keyboard.press("Enter");
    await says(page, "state", /^connected$/);
    expect(await page.locator("#notice").isVisible()).toBe(false);
    expect(await page.content()).not.toContain(secret);

    page = await open(`${origin}#token=${secret}`);
    await says(page, "state", /^connected$/);
    expect(page.url()).toBe(origin);
    await page.reload(); // the tab knows it still
    await says(page, "state", /^connected$/);
    expect(guarded.errors.join("")).not.toContain(secret);
    await guarded.stop();
  });
});
