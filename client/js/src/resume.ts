// SPDX-License-Identifier: Apache-2.0
// A lost connection is made anew: how long that is tried, and what is said on the new one.
import type { Core } from "./core.js";
import { BurnError } from "./errors.js";
import type { Transport } from "./transport.js";
import { graceOf } from "./url.js";

const CONNECT_MS = 5000, ANSWER_MS = 5000, DELAY_MS_MIN = 20, DELAY_MS_MAX = 2000;

/** How the same daemon is reached again. */
export interface Again {
  open: (url: string, timeoutMs: number, signal: AbortSignal) => Promise<Transport>;
  /** Who connects; it may have changed. */
  token: () => string | Promise<string>;
}

/** A timer; `busy` says whether a process should stay alive for it. */
export class Timer {
  private handle: ReturnType<typeof setTimeout> | undefined;

  start(f: () => void, ms: number, busy: boolean): void {
    this.stop();
    this.handle = setTimeout(f, ms);
    this.hold(busy);
  }

  hold(busy: boolean): void {
    if (typeof this.handle === "object") this.handle[busy ? "ref" : "unref"](); // a number in browsers
  }

  stop(): void {
    clearTimeout(this.handle);
  }
}

/** Takes a new transport over: how many bytes the daemon has, and what came behind its answer. */
export type Take = (transport: Transport, received: number, behind: Uint8Array) => void;

/** Shows the session's key on a new transport, which is taken over as soon as the daemon has agreed. */
function greet(core: Core, transport: Transport, token: string, signal: AbortSignal, take: Take): Promise<void> {
  const { preface, frame } = core.resume(token);
  return new Promise((resolve, reject) => {
    let answer = new Uint8Array(0);
    const end = (error?: unknown): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      if (error === undefined) resolve();
      else reject(error);
    };
    const abort = (): void => end(signal.reason);
    const timer = setTimeout(() => end(new BurnError("DEADLINE", "the daemon does not answer")), ANSWER_MS);
    signal.addEventListener("abort", abort, { once: true });
    transport.onclose = (reason) => end(new BurnError("UNAVAILABLE", reason));
    transport.onbytes = (bytes) => {
      const all = new Uint8Array(answer.length + bytes.length);
      all.set(answer);
      all.set(bytes, answer.length);
      answer = all;
      try {
        for (let size = 0; size <= all.length;) {
          const { wanted, received } = core.resumed(all.subarray(0, size));
          if (wanted === size) {
            take(transport, received, all.subarray(size));
            return end();
          }
          size = wanted;
        }
      } catch (error) {
        end(error);
      }
    };
    transport.send(preface);
    transport.send(frame);
  });
}

/** Tries to resume a session until that succeeds, makes no sense, or the time is over. */
export class Resumption {
  private readonly ended = new AbortController();
  private readonly timer = new Timer();
  private readonly untilMs: number;
  private delayMs = DELAY_MS_MIN;
  private busy = false;

  /** fail: gives up. */
  constructor(private readonly core: Core, private readonly url: string, private readonly again: Again,
              private readonly take: Take, private readonly fail: (why: string) => void) {
    this.untilMs = performance.now() + Math.min(core.exports.resume_ms(), graceOf(url));
    void this.attempt();
  }

  /** Whether a process should stay alive for it. */
  hold(busy: boolean): void {
    this.busy = busy;
    this.timer.hold(busy);
  }

  /** Nobody wants it any more. */
  stop(): void {
    this.ended.abort();
    this.timer.stop();
  }

  private async attempt(): Promise<void> {
    const { signal } = this.ended;
    let transport: Transport | undefined;
    try {
      const token = await this.again.token();
      transport = await this.again.open(this.url, CONNECT_MS, signal);
      transport.hold(this.busy);
      await greet(this.core, transport, token, signal, this.take);
    } catch (error) {
      transport?.close();
      if (signal.aborted) return;
      const retry = error instanceof BurnError && (error.code === "UNAVAILABLE" || error.code === "DEADLINE");
      if (!retry || performance.now() + this.delayMs >= this.untilMs) {
        this.fail(error instanceof Error ? error.message : String(error));
        return;
      }
      this.timer.start(() => void this.attempt(), this.delayMs, this.busy);
      this.delayMs = Math.min(2 * this.delayMs, DELAY_MS_MAX);
    }
  }
}
