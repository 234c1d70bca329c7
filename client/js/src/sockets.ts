// SPDX-License-Identifier: Apache-2.0
// Node's sockets as transports: unix://, tcp://, tls://, and one half of a private daemon's socket pair.
import { createConnection, type Socket } from "node:net";
import { readFileSync } from "node:fs";
import { createHash, X509Certificate } from "node:crypto";
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls";
import { BurnError, invalid } from "./errors.js";
import { readSecret } from "./secrets.js";
import type { Transport } from "./transport.js";
import { DEFAULT_PORT } from "./url.js";

class SocketTransport implements Transport {
  onbytes: Transport["onbytes"] = () => {};
  ondrain: Transport["ondrain"] = () => {};
  onclose: Transport["onclose"] = () => {};
  readonly messages = false;
  ready = true;
  private reason = "";

  constructor(readonly url: string, private readonly socket: Socket, private readonly onend: () => void) {
    socket.on("data", (bytes: Buffer) => this.onbytes(bytes));
    socket.on("drain", () => {
      this.ready = true;
      this.ondrain();
    });
    socket.on("error", (error) => { this.reason = `the connection to ${url} failed: ${error.message}`; });
    socket.on("close", () => {
      this.ready = false;
      this.onclose(this.reason || `the daemon at ${url} closed the connection`, true);
    });
  }

  send(bytes: Uint8Array): void {
    if (!this.socket.destroyed && !this.socket.write(bytes)) this.ready = false;
  }

  hold(busy: boolean): void {
    if (busy) this.socket.ref();
    else this.socket.unref();
  }

  close(): void {
    this.socket.end();
    this.socket.unref();
    this.onend();
  }
}

/** A connected socket as a transport; onend is called when it is closed from here. */
export function socketTransport(url: string, socket: Socket, onend: () => void = () => {}): Transport {
  if (!socket.destroyed && "setNoDelay" in socket) socket.setNoDelay(true);
  return new SocketTransport(url, socket, onend);
}

/** Waits until the socket is connected. */
function connected(url: string, socket: Socket, event: "connect" | "secureConnect", timeoutMs: number,
                   signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (error?: unknown): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      socket.off("error", failed).off(event, done);
      if (error === undefined) return resolve();
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    };
    const done = (): void => end();
    const failed = (error: Error): void =>
      end(new BurnError("UNAVAILABLE", `cannot connect to ${url}: ${error.message}`, { cause: error, retryable: true }));
    const abort = (): void => end(signal!.reason);
    const timer = setTimeout(() => failed(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    socket.on("error", failed).on(event, done);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
  });
}

function hostOf(url: URL): { host: string; port: number } {
  return { host: url.hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(url.port || DEFAULT_PORT) };
}

/** SHA-256 of a certificate's public key, in hex. */
function fingerprint(certificate: Buffer): string {
  const key = new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(key).digest("hex");
}

async function openTls(url: URL, timeoutMs: number, signal: AbortSignal | undefined): Promise<Socket> {
  const pin = url.searchParams.get("pin");
  const { host, port } = hostOf(url), env = process.env;
  const options: ConnectionOptions = { host, port, minVersion: "TLSv1.3", ALPNProtocols: ["burnd/1"] };
  if (!/^[\d.]+$|:/.test(host)) options.servername = host;
  if (pin !== null) options.rejectUnauthorized = false;
  if (env.BURN_CA_FILE) options.ca = readFileSync(env.BURN_CA_FILE);
  if (env.BURN_CERT_FILE && env.BURN_KEY_FILE) {
    options.cert = readFileSync(env.BURN_CERT_FILE);
    options.key = readSecret("BURN_KEY_FILE", env.BURN_KEY_FILE);
  }
  const socket: TLSSocket = connectTls(options);
  await connected(url.href, socket, "secureConnect", timeoutMs, signal);
  if (pin !== null && fingerprint(socket.getPeerCertificate().raw) !== pin.slice(7).toLowerCase()) {
    socket.destroy();
    throw new BurnError("UNAUTHENTICATED", `${url.href}: the daemon's key is another one than the pin says`);
  }
  return socket;
}

/** Connects to a unix://, tcp:// or tls:// URL. */
export async function openSocket(text: string, timeoutMs: number, signal?: AbortSignal): Promise<Transport> {
  if (text.startsWith("unix://")) {
    const path = text.slice(7).replace(/\?.*/, "");
    if (!path.startsWith("/")) throw invalid(`${text}: the path of a socket is absolute: unix:///folder/name.sock`);
    const socket = createConnection({ path });
    await connected(text, socket, "connect", timeoutMs, signal);
    return socketTransport(text, socket);
  }
  const url = new URL(text);
  if (url.protocol === "tls:") return socketTransport(text, await openTls(url, timeoutMs, signal));
  const socket = createConnection(hostOf(url));
  await connected(text, socket, "connect", timeoutMs, signal);
  return socketTransport(text, socket);
}
