// SPDX-License-Identifier: Apache-2.0
// A daemon's URL, looked at before anybody is asked; what C and Python refuse is refused here, too.
import { invalid } from "./errors.js";

/** The port of tcp:// and tls:// where none is named. */
export const DEFAULT_PORT = 7867;

/** The value of a key in the URL's query. */
export function queryOf(url: string, key: string): string | undefined {
  const found = new RegExp(`[?&]${key}=([^&#]*)`).exec(url);
  return found ? decodeURIComponent(found[1]!) : undefined;
}

/** Milliseconds that a lost connection to the URL is tried again, by `?resume=SECONDS`; Infinity: as long as the daemon
 * keeps the session, 0: not at all. */
export function graceOf(url: string): number {
  const wish = queryOf(url, "resume");
  if (/^(unix|private):/.test(url)) return 0;
  return wish === undefined ? Infinity : Number(wish) * 1000;
}

/** Says what is wrong with it. */
export function checkUrl(url: string): void {
  const query = url.indexOf("?"), wrong = (what: string): never => { throw invalid(`${url}: ${what}`); };
  for (const pair of query < 0 ? [] : url.slice(query + 1).split("&")) {
    if (!/^((device|pin|resume)=|insecure(=1)?$)/.test(pair))
      wrong(`"${pair}" is none of device=NAME, pin=sha256:HEX and resume=SECONDS`);
    if (/^resume=(?!\d{1,6}$)/.test(pair)) wrong("resume is a number of seconds, 0 for not at all");
    if (/^pin=(?!sha256:[\da-f]{64}$)/i.test(pair)) wrong("a pin is sha256: and 64 hex digits");
  }
  const host = /^(?:tcp|tls|wss?):\/\/([^/?]*)/.exec(url)?.[1];
  if (host === undefined) return;
  if (host.startsWith("[") && !/^\[[^\][]+\](:|$)/.test(host)) wrong("an IPv6 address stands within brackets, as in tls://[::1]:7867");
  const [, name, port] = /^(\[.*\]|[^:]*)(?::(.*))?$/.exec(host) ?? [];
  if (!name) wrong("expected a host and a port, as in tls://host:port");
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && +port > 0 && +port < 65536))
    wrong(`the port is a number from 1 to 65535, not "${port}"`);
}
