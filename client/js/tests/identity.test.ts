// SPDX-License-Identifier: Apache-2.0
// TLS and tokens from Node: pins, authorities, who is let in.
import { createHash, randomBytes, X509Certificate } from "node:crypto";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect, type BurnError } from "../src/node.js";
import type * as Package from "../src/browser.js";
import { hasBrowser, openBrowser } from "./browser.js";
import { Daemon } from "./daemon.js";

let daemon: Daemon, address: string, pin: string, www: string;
const [secret, minter] = [0, 0].map(() => `burn_${randomBytes(32).toString("base64url")}`) as [string, string];

beforeAll(async () => {
  const [digest, other] = [secret, minter].map((each) => createHash("sha256").update(each).digest("hex"));
  www = mkdtempSync(join(tmpdir(), "burn-js-tls-"));
  cpSync(fileURLToPath(new URL("../dist", import.meta.url)), join(www, "burn"), { recursive: true });
  writeFileSync(join(www, "index.html"), "<!doctype html><script type=module src=main.js></script>");
  writeFileSync(join(www, "main.js"), "import * as burn from './burn/browser.js'; window.burn = burn;");
  daemon = await Daemon.prepared((state) => writeFileSync(join(state, "tokens"), `page ${digest} compute,infer - -\napp ${other} infer,mint - -\n`, { mode: 0o600 }),
    "--listen=tls://127.0.0.1:0", `--www=${www}`);
  const state = join(daemon.path, "../state");
  address = `tls://127.0.0.1:${await daemon.port("tls")}`;
  const key = new X509Certificate(readFileSync(join(state, "certificate.pem"))).publicKey.export({ type: "spki", format: "der" });
  pin = createHash("sha256").update(key).digest("hex");
});
afterAll(async () => {
  await daemon.stop();
  rmSync(www, { recursive: true });
});

const code = (promise: Promise<unknown>): Promise<string> => promise.then(() => "none", (error: BurnError) => error.code);

it("mints tokens for pages, with fewer rights", async () => {
  const burn = await connect(`${address}?pin=sha256:${pin}`, { token: minter });
  const made = await burn.mintToken({ name: "visitor", seconds: 60 });
  expect(made).toMatch(/^burn_[\w-]{43}$/);
  const page = await connect(`${address}?pin=sha256:${pin}`, { token: made });
  expect(await page.names.list()).toEqual([]);
  expect(await code(page.names.publish("x", page.tensor([1])))).toBe("DENIED");
  expect(await code(page.mintToken())).toBe("DENIED");
  expect(await code(burn.mintToken({ scopes: ["admin"] }))).toBe("DENIED");
  expect(await code(burn.mintToken({ seconds: 0.5 }))).toBe("INVALID");
  // a name must not smuggle scopes in, and origins that would be cut would be others
  expect(await code((async () => burn.mintToken({ name: "visitor\0compute" }))())).toBe("INVALID");
  expect(await code((async () => burn.mintToken({ origins: [`https://${"a".repeat(520)}`] }))())).toBe("INVALID");
  page.close();
  burn.close();
});

it("connects by TLS to the pinned daemon, with a token", async () => {
  const burn = await connect(`${address}?pin=sha256:${pin}`, { token: secret });
  const large = new Float32Array(1_500_000).fill(0.5);
  expect(await burn.tensor(large).sum().item()).toBe(750_000);
  expect((await burn.tensor(large).mul(2).data() as Float32Array).every((value) => value === 1)).toBe(true);
  expect(await code(burn.shutdown())).toBe("DENIED");
  burn.close();
  process.env.BURN_TOKEN = secret;
  const other = await connect(`${address}?pin=sha256:${pin}`);
  expect(other.alive).toBe(true);
  other.close();
  delete process.env.BURN_TOKEN;
});

it("refuses files with secrets that others can read", async () => {
  const url = `${address}?pin=sha256:${pin}`, file = join(www, "..", `burn-js-secret-${process.pid}`);
  writeFileSync(file, `${secret}\n`, { mode: 0o600 });
  process.env.BURN_TOKEN_FILE = file;
  try {
    const burn = await connect(url);
    expect(await burn.tensor([1, 2]).sum().item()).toBe(3);
    burn.close();
    chmodSync(file, 0o644);
    await expect(connect(url)).rejects.toMatchObject({ code: "DENIED", message: expect.stringContaining(`chmod 600 ${file}`) as string });
    Object.assign(process.env, { BURN_TOKEN_FILE: "", BURN_CERT_FILE: file, BURN_KEY_FILE: file });
    await expect(connect(url)).rejects.toMatchObject({ code: "DENIED", message: expect.stringContaining("BURN_KEY_FILE names") as string });
  } finally {
    for (const name of ["BURN_TOKEN_FILE", "BURN_CERT_FILE", "BURN_KEY_FILE"]) delete process.env[name];
    rmSync(file);
  }
});

it("is refused without a token, and refuses another key or an unknown authority", async () => {
  expect(await code(connect(`${address}?pin=sha256:${pin}`))).toBe("UNAUTHENTICATED");
  expect(await code(connect(`${address}?pin=sha256:${pin}`, { token: secret.replace(/.$/, (c) => (c === "A" ? "B" : "A")) }))).toBe("UNAUTHENTICATED");
  expect(await code(connect(`${address}?pin=sha256:${"0".repeat(64)}`, { token: secret }))).toBe("UNAUTHENTICATED");
  expect(await code(connect(`${address}?pin=md5:00`, { token: secret }))).toBe("INVALID");
  expect(await code(connect(address, { token: secret }))).toBe("UNAVAILABLE");
});

it.skipIf(!hasBrowser)("lets a page in by TLS with a token from its address's fragment", async () => {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage({ ignoreHTTPSErrors: true });
    await page.goto(`${address.replace("tls:", "https:")}/#token=${secret}`);
    await page.waitForFunction(() => "burn" in window);
    const found = await page.evaluate(async () => {
      const { connect } = (window as unknown as { burn: typeof Package }).burn;
      const burn = await connect(undefined, { token: new URLSearchParams(location.hash.slice(1)).get("token")! });
      const sum = await burn.arange(100).sum().item();
      burn.close();
      return { url: burn.url, sum, without: await connect().then(() => "none", (error: Package.BurnError) => error.code) };
    });
    expect(found).toEqual({ url: address.replace("tls:", "wss:"), sum: 4950, without: "UNAUTHENTICATED" });
  } finally {
    await browser.close();
  }
});
