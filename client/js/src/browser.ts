// SPDX-License-Identifier: Apache-2.0
// The package in a page or a worker: WebSocket only.
import { Burn, type ConnectOptions } from "./burn.js";
import { invalid } from "./errors.js";
import { checkUrl } from "./url.js";
import { openWebSocket } from "./websocket.js";

export * from "./index.js";

const CONNECT_MS = 5000;

/** Connects to a daemon by ws://host:port or wss://host:port; without a URL to the one that served the page. */
export async function connect(url?: string, options?: ConnectOptions): Promise<Burn> {
  const target = url ?? `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}`;
  if (!/^wss?:\/\//.test(target)) throw invalid(`${target}: a page connects by ws://host:port or wss://host:port`);
  const timeoutMs = options?.timeout ?? CONNECT_MS;
  checkUrl(target);
  return Burn._open(() => openWebSocket(target, timeoutMs, options?.signal), openWebSocket, timeoutMs, options);
}
