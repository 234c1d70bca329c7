// SPDX-License-Identifier: Apache-2.0
// WebSocket as a transport: subprotocol burnd.v1, the preface and then each frame as one binary message.
import { BurnError } from "./errors.js";
import type { Transport } from "./transport.js";

const SUBPROTOCOL = "burnd.v1";
/** Codes of a close that nobody on either side wished: the connection broke, or something between them restarts. */
const BROKEN = [1006, 1012, 1014];
/** Bytes that the browser may hold for us; it says nothing when they have gone, so this is looked at from time to time. */
const BUFFERED_BYTES = 8 * 1024 * 1024, LOOK_MS = 4;

class WebSocketTransport implements Transport {
  onbytes: Transport["onbytes"] = () => {};
  ondrain: Transport["ondrain"] = () => {};
  onclose: Transport["onclose"] = () => {};
  readonly messages = true;
  ready = true;
  constructor(readonly url: string, private readonly socket: WebSocket) {
    socket.onmessage = (event: MessageEvent<unknown>) => {
      if (event.data instanceof ArrayBuffer) this.onbytes(new Uint8Array(event.data));
      else this.close(); // a text: no burnd
    };
    socket.onclose = (event) => {
      this.ready = false;
      const reason = event.reason ? `: ${event.reason}` : "";
      this.onclose(`the daemon at ${url} closed the connection (${event.code}${reason})`, BROKEN.includes(event.code));
    };
  }

  send(bytes: Uint8Array): void {
    if (this.socket.readyState === 1) this.socket.send(bytes as Uint8Array<ArrayBuffer>);
    if (this.ready && this.socket.bufferedAmount > BUFFERED_BYTES) {
      this.ready = false;
      this.look();
    }
  }

  private look(): void {
    setTimeout(() => {
      if (this.socket.readyState !== 1) return;
      if (this.socket.bufferedAmount > BUFFERED_BYTES / 2) return this.look();
      this.ready = true;
      this.ondrain();
    }, LOOK_MS);
  }

  hold(): void {} // a page lives as long as it is shown

  close(): void {
    this.socket.close();
  }
}

/** Connects to a ws:// or wss:// URL. */
export function openWebSocket(url: string, timeoutMs: number, signal?: AbortSignal): Promise<Transport> {
  if (typeof WebSocket === "undefined")
    return Promise.reject(new BurnError("UNSUPPORTED", `${url}: this Node has no WebSocket (22 has); tcp:// and tls:// need none`));
  const socket = new WebSocket(url.replace(/\?.*/, ""), SUBPROTOCOL); // the keys are for us
  socket.binaryType = "arraybuffer";
  return new Promise((resolve, reject) => {
    const end = (error?: unknown): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      socket.onopen = socket.onerror = socket.onclose = null;
      if (error === undefined) return resolve(new WebSocketTransport(url, socket));
      socket.close();
      reject(error);
    };
    const unavailable = (why: string): void =>
      end(new BurnError("UNAVAILABLE", `cannot connect to ${url}: ${why}`, { retryable: true }));
    const abort = (): void => end(signal!.reason);
    const timer = setTimeout(() => unavailable(`no answer within ${timeoutMs} ms`), timeoutMs);
    socket.onopen = () => end();
    socket.onerror = socket.onclose = () => unavailable("no daemon there, or it refused this page (browsers do not say which)");
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
  });
}
