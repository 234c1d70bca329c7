// SPDX-License-Identifier: Apache-2.0
// TLS and tokens from Node: pins, authorities, who is let in.
import { createHash, randomBytes, X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect, type BurnError } from "../src/node.js";
import { Daemon } from "./daemon.js";

let daemon: Daemon, address: string, pin: string;
const secret = `burn_${randomBytes(32).toString("base64url")}`;

beforeAll(async () => {
  const digest = createHash("sha256").update(secret).digest("hex");
  daemon = await Daemon.prepared((state) => writeFileSync(join(state, "tokens"), `page ${digest} compute,infer - -\n`, { mode: 0o600 }),
    "--listen=tls://127.0.0.1:0");
  const state = join(daemon.path, "../state");
  address = `tls://127.0.0.1:${await daemon.port("tls")}`;
  const key = new X509Certificate(readFileSync(join(state, "certificate.pem"))).publicKey.export({ type: "spki", format: "der" });
  pin = createHash("sha256").update(key).digest("hex");
});
afterAll(() => daemon.stop());

const code = (promise: Promise<unknown>): Promise<string> => promise.then(() => "none", (error: BurnError) => error.code);

it("connects by TLS to the pinned daemon, with a token", async () => {
  const burn = await connect(`${address}?pin=sha256:${pin}`, { token: secret });
  const large = new Float32Array(1_500_000).fill(0.5);
  expect(await burn.tensor(large).sum().item()).toBe(750_000);
  expect(await burn.tensor(large).mul(2).data()).toEqual(new Float32Array(1_500_000).fill(1));
  expect(await code(burn.shutdown())).toBe("DENIED");
  burn.close();
  process.env.BURN_TOKEN = secret;
  const other = await connect(`${address}?pin=sha256:${pin}`);
  expect(other.alive).toBe(true);
  other.close();
  delete process.env.BURN_TOKEN;
});

it("is refused without a token, and refuses another key or an unknown authority", async () => {
  expect(await code(connect(`${address}?pin=sha256:${pin}`))).toBe("UNAUTHENTICATED");
  expect(await code(connect(`${address}?pin=sha256:${pin}`, { token: secret.replace(/.$/, (c) => (c === "A" ? "B" : "A")) }))).toBe("UNAUTHENTICATED");
  expect(await code(connect(`${address}?pin=sha256:${"0".repeat(64)}`, { token: secret }))).toBe("UNAUTHENTICATED");
  expect(await code(connect(`${address}?pin=md5:00`, { token: secret }))).toBe("INVALID");
  expect(await code(connect(address, { token: secret }))).toBe("UNAVAILABLE");
});
