// SPDX-License-Identifier: Apache-2.0
// The package in Node: sockets, and a private daemon where none is found.
import { existsSync } from "node:fs";
import { Burn, type ConnectOptions } from "./burn.js";
import { startDaemon } from "./daemon.js";
import { invalid } from "./errors.js";
import { readSecret } from "./secrets.js";
import { openSocket } from "./sockets.js";
import type { Transport } from "./transport.js";
import { checkUrl, queryOf } from "./url.js";
import { openWebSocket } from "./websocket.js";

export * from "./index.js";

const CONNECT_MS = 5000;
/** Who is still connected: a program that ends says goodbye, so that the daemon does not wait for it to come back. */
const connected = new Set<Burn>();
process.on("exit", () => connected.forEach((burn) => burn.close()));

async function open(url: string, timeoutMs: number, signal: AbortSignal | undefined, device = ""): Promise<Transport> {
  checkUrl(url);
  if (/^(unix|tcp|tls):\/\//.test(url)) return openSocket(url, timeoutMs, signal);
  if (/^wss?:\/\//.test(url)) return openWebSocket(url, timeoutMs, signal);
  if (url.startsWith("private:")) return startDaemon(device);
  throw invalid(`${url}: connect() takes unix:///path, tcp://host:port, tls://host:port, ws://, wss:// and private:`);
}

/** BURN_TOKEN, or what BURN_TOKEN_FILE holds, or "". */
function ownToken(): string {
  const { BURN_TOKEN: token, BURN_TOKEN_FILE: file } = process.env;
  return token || !file ? token ?? "" : readSecret("BURN_TOKEN_FILE", file).trim();
}

async function lookUp(timeoutMs: number, options: ConnectOptions | undefined): Promise<Transport> {
  if (process.env.BURN_URL) return open(process.env.BURN_URL, timeoutMs, options?.signal, options?.device);
  const runtime = process.env.XDG_RUNTIME_DIR;
  const places = [...(runtime ? [`${runtime}/burnd.sock`] : []), "/run/burnd/burnd.sock"];
  for (const path of places.filter((place) => existsSync(place))) {
    try {
      return await openSocket(`unix://${path}`, timeoutMs, options?.signal);
    } catch {
      options?.signal?.throwIfAborted(); // nobody listens there any more: on to the next
    }
  }
  return startDaemon(options?.device ?? "");
}

/** Connects to a daemon: unix:///path, tcp://host:port, tls://host:port?pin=sha256:…, ws:// or wss://; "private:" starts
 * one of its own. Without a URL: BURN_URL, $XDG_RUNTIME_DIR/burnd.sock, /run/burnd/burnd.sock, then a private daemon,
 * which ends with the connection. An open connection alone does not keep the process alive; waiting for an answer does. */
export async function connect(url?: string, options?: ConnectOptions): Promise<Burn> {
  const timeoutMs = options?.timeout ?? CONNECT_MS, device = url && queryOf(url, "device");
  const chosen = { ...(device ? { device } : {}), token: ownToken, ...options };
  const burn = await Burn._open(() => (url ? open(url, timeoutMs, chosen.signal, chosen.device) : lookUp(timeoutMs, chosen)), open, options?.timeout, chosen);
  connected.add(burn);
  void burn.closed.then(() => connected.delete(burn));
  return burn;
}
