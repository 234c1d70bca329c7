// SPDX-License-Identifier: Apache-2.0
// Moves bytes between a transport and the core, and turns answers into promises. Tensor bytes go from typed arrays to the
// transport and back without passing through the core. A transport that is lost is replaced, where the daemon waits for that;
// meanwhile nothing is sent. Owner: one Burn. Invariant: after a failure every promise is rejected with it, and nothing more
// is sent.
import type { Core } from "./core.js";
import { BurnError, codeNumber, invalid, type BurnErrorCode } from "./errors.js";
import { Outgoing } from "./outgoing.js";
import { Resumption, Timer, type Again, type Take } from "./resume.js";
import { VERSION } from "./wasm_gen.js";
import { frameSizes, HEADER_BYTES, PREFACE_BYTES, type Transport } from "./transport.js";
import { graceOf } from "./url.js";

/** Recorded bytes that are sent without being asked for. */
const BATCH_BYTES = 8 * 1024;
const FEED_BYTES = 64 * 1024;
/** Without a word for so long the daemon is asked whether it is there, and then given up. */
const IDLE_MS = 30000, LATE_MS = 1000;
const LIBRARY = `burn-client.js ${VERSION}`;

const enum Phase { OPEN = 2, FAILED = 3 }

/** Requests with no more fields, as in proto/messages.def. */
export const REPORTS = { stats: 32, devices: 33, sessions: 34, kernels: 35, config: 36 } as const;
const SHUTDOWN = 38;

/** What may be said of how to wait. */
export interface WaitOptions {
  /** Ends the wait with the signal's reason; the daemon is told that nobody waits. */
  signal?: AbortSignal | undefined;
}

interface Request {
  /** Takes the answer from the core and resolves with it. */
  finish: () => void;
  reject: (error: unknown) => void;
  destination: Uint8Array | undefined;
  signal: AbortSignal | undefined;
  abort: () => void;
}

interface Upload { bytes: Uint8Array; at: number }

export class Connection {
  private readonly requests = new Map<number, Request>();
  private readonly uploads = new Map<number, Upload>();
  private nextToken = 1;
  private closed: BurnError | undefined;
  private readonly opened: Promise<void>;
  private settleOpen!: { resolve: () => void; reject: (error: unknown) => void };
  /** Why it ended. */
  readonly ended: Promise<BurnError>;
  private settleEnded!: (error: BurnError) => void;
  private readonly idle: (() => void)[] = [];
  private opening = false;
  private readonly outgoing = new Outgoing();
  /** While the transport is lost. */
  private resumption: Resumption | undefined;
  private readonly alarm = new Timer();
  private heardMs = 0;
  /** A PING that nobody waits for, or 0. */
  private probe = 0;

  // What of a frame has come: first the preface, then heads of frames and payloads in turn.
  private head = new Uint8Array(1024);
  private headBytes = 0;
  private headWanted = PREFACE_BYTES;
  private payloadWanted = 0;
  private prefaced = false;

  constructor(readonly core: Core, private transport: Transport, device: string, token: string, private readonly again: Again,
              private readonly idleMs = IDLE_MS) {
    this.opened = new Promise((resolve, reject) => { this.settleOpen = { resolve, reject }; });
    this.opened.catch(() => {});
    this.ended = new Promise((resolve) => { this.settleEnded = resolve; });
    this.attach(transport);
    core.open(LIBRARY, device, token, graceOf(transport.url) > 0);
    this.pump();
  }

  private attach(transport: Transport): void {
    this.transport = transport;
    transport.onbytes = (bytes) => this.receive(bytes);
    transport.ondrain = () => this.pump();
    transport.onclose = (reason, broken) => this.lose(reason, broken);
    if (!/^(unix|private):/.test(transport.url)) this.keepAlive();
  }

  /** A peer that has vanished says nothing: after a while without a word it is asked for one. */
  private keepAlive(): void {
    let dueMs = 0;
    this.heardMs = performance.now();
    const look = (): void => {
      const now = performance.now();
      if (now - dueMs > LATE_MS) this.heardMs = now; // this program slept, and what has come is not read yet
      const leftMs = this.heardMs + (this.probe ? 2 : 1) * this.idleMs - now;
      if (leftMs <= 0 && this.probe) return this.giveUp();
      if (leftMs <= 0 && this.alive) {
        this.probe = this.core.exports.ping();
        this.pump();
      }
      wait(leftMs > 0 ? leftMs : this.idleMs);
    };
    const wait = (ms: number): void => {
      dueMs = performance.now() + ms;
      this.alarm.start(look, ms, false);
    };
    wait(this.idleMs);
  }

  private giveUp(): void {
    const { transport } = this;
    transport.onclose = () => {};
    transport.close();
    this.lose(`the daemon at ${this.url} does not answer any more`, true);
  }

  get url(): string {
    return this.transport.url;
  }

  /** Whether the connection is lost and being made anew. */
  get resuming(): boolean {
    return this.resumption !== undefined;
  }

  /** Whether the daemon has said that it ends the connection soon. */
  get draining(): boolean {
    return this.core.text(this.core.exports.farewell()) !== "";
  }

  /** Whether it can be used. */
  get alive(): boolean {
    return !this.closed && this.core.exports.phase() === Phase.OPEN;
  }

  /** Ends when the session is open. */
  async open(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const late = (): void => this.fail("DEADLINE", `${this.url} did not answer the handshake within ${timeoutMs} ms`);
    const timer = setTimeout(late, timeoutMs);
    const abort = (): void => {
      this.settleOpen.reject(signal!.reason);
      this.close();
    };
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    this.opening = true;
    this.hold();
    try {
      await this.opened;
    } finally {
      this.opening = false;
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      this.hold();
    }
  }

  /** The process stays alive as long as something waits. */
  private hold(): void {
    const busy = this.opening || this.requests.size > 0 || this.idle.length > 0;
    if (this.resumption) this.resumption.hold(busy);
    else this.transport.hold(busy);
  }

  /** Ends the session: what was recorded is sent, all that waits fails. */
  close(): void {
    if (this.closed) return;
    if (this.core.exports.phase() === Phase.OPEN) {
      this.core.exports.flush();
      this.core.exports.bye();
      this.pump();
    }
    this.fail("UNAVAILABLE", "the connection was closed");
  }

  private fail(code: BurnErrorCode, message: string): void {
    if (this.closed) return;
    this.core.fail(codeNumber(code), message); // keeps an earlier one
    this.closed = this.core.error(this.core.exports.failure())!;
    this.settle();
    this.settleOpen.reject(this.closed);
    this.settleEnded(this.closed);
    this.uploads.clear();
    this.idle.splice(0).forEach((resolve) => resolve());
    this.resumption?.stop();
    this.resumption = undefined;
    this.alarm.stop();
    this.outgoing.drop();
    this.transport.hold(false);
    this.transport.close();
  }

  // ---- resuming ----

  /** broken: nobody closed it. */
  private lose(reason: string, broken: boolean): void {
    if (this.closed) return;
    const farewell = this.core.text(this.core.exports.farewell());
    if (farewell) return this.fail("UNAVAILABLE", `the daemon at ${this.url} closed the connection: ${farewell}`);
    if (!broken || !this.outgoing.keeps) return this.fail("UNAVAILABLE", reason);
    this.alarm.stop();
    this.headBytes = 0; // the daemon sends again what the core has not got
    this.headWanted = HEADER_BYTES;
    const take: Take = (transport, received, behind) => {
      this.outgoing.resume(transport, received);
      this.resumption = undefined;
      this.attach(transport);
      this.hold();
      this.receive(behind);
      this.pump();
    };
    this.resumption = new Resumption(this.core, this.url, this.again, take,
      (why) => this.fail("UNAVAILABLE", `${reason}, and could not be resumed: ${why}`));
    this.hold();
  }

  /** Throws if the connection has failed or was closed. */
  check(): void {
    if (this.closed) throw this.closed;
  }

  // ---- sending ----

  private pump(): void {
    while (!this.closed && !this.resumption && this.transport.ready) {
      const bytes = this.core.output();
      if (bytes) {
        this.outgoing.send(this.transport, bytes);
        continue;
      }
      const next = this.core.outside();
      if (!next) break;
      const upload = this.uploads.get(next.token)!;
      this.outgoing.send(this.transport, upload.bytes.subarray(upload.at, upload.at + next.size));
      upload.at += next.size;
      this.core.exports.outside_sent(next.size);
      if (upload.at === upload.bytes.length) this.uploads.delete(next.token);
    }
    if (this.idle.length > 0 && this.backlog === 0) this.idle.splice(0).forEach((resolve) => resolve());
  }

  private get backlog(): number {
    let bytes = this.core.exports.backlog();
    for (const upload of this.uploads.values()) bytes += upload.bytes.length - upload.at;
    return bytes;
  }

  /** After recording: sends what has gathered. */
  recorded(): void {
    if (this.core.exports.batched() >= BATCH_BYTES) this.core.exports.flush();
    if (this.core.exports.backlog() > 0) this.pump();
  }

  /** A token for bytes that the core will ask for. */
  keep(bytes: Uint8Array): number {
    this.uploads.set(this.nextToken, { bytes, at: 0 });
    return this.nextToken++;
  }

  /** They are not wanted after all. */
  drop(token: number): void {
    this.uploads.delete(token);
  }

  /** Ends when all that was recorded is with the transport. */
  async flush(options?: WaitOptions): Promise<void> {
    this.check();
    options?.signal?.throwIfAborted();
    this.core.exports.flush();
    this.pump();
    if (this.backlog > 0) {
      const done = new Promise<void>((resolve) => this.idle.push(resolve));
      this.hold();
      await abortable(done, options?.signal).finally(() => this.hold());
    }
    this.check();
  }

  // ---- requests ----

  private wait<T>(request: number, options: WaitOptions | undefined, take: () => T, destination?: Uint8Array): Promise<T> {
    const signal = options?.signal;
    const promise = new Promise<T>((resolve, reject) => {
      const abort = (): void => {
        if (!this.requests.delete(request)) return;
        this.core.exports.pending_free(request);
        this.pump();
        this.hold();
        reject(signal!.reason);
      };
      this.requests.set(request, { finish: () => resolve(take()), reject, destination, signal, abort });
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
    this.pump();
    this.hold();
    this.settle(); // it may have failed at once
    return promise;
  }

  /** The bytes of a tensor into the destination. */
  async get(id: number, destination: Uint8Array, options?: WaitOptions): Promise<void> {
    const request = this.core.exports.get(id, destination.length);
    await this.wait(request, options, () => this.core.finish(request), destination);
  }

  /** The report of a request, or "". */
  request(request: number, options?: WaitOptions): Promise<string> {
    return this.wait(request, options, () => this.core.finish(request));
  }

  async sync(options?: WaitOptions): Promise<void> {
    await this.request(this.core.exports.sync(), options);
  }

  /** Milliseconds there and back. */
  async ping(options?: WaitOptions): Promise<number> {
    const begin = performance.now();
    await this.request(this.core.exports.ping(), options);
    return performance.now() - begin;
  }

  async report(kind: keyof typeof REPORTS, options?: WaitOptions): Promise<unknown> {
    return JSON.parse(await this.request(this.core.exports.ask(REPORTS[kind]), options));
  }

  /** To a session, or to what it has to do (0: this one). */
  async end(what: "cancel_work" | "close_session", session: number, options?: WaitOptions): Promise<void> {
    if (!Number.isSafeInteger(session) || session < 0) throw invalid(`a session has a number from 0 on, not ${session}`);
    this.check();
    const request = this.core.exports[what](session);
    if (!request) throw new BurnError("UNSUPPORTED", `the daemon is too old to ${what.replace("_", " ")}`);
    await this.request(request, options);
  }

  async shutdown(options?: WaitOptions): Promise<void> {
    await this.request(this.core.exports.ask(SHUTDOWN), options);
  }

  /** Tensors by name, with their parts. */
  import(name: string, options?: WaitOptions): Promise<{ part: string; tensor: number }[]> {
    const { request, first } = this.core.import(name);
    return this.wait(request, options, () => this.core.imported(request, first));
  }

  /** A program by name. */
  importProgram(name: string, options?: WaitOptions): Promise<number> {
    const { request, first } = this.core.importProgram(name);
    return this.wait(request, options, () => this.core.importedProgram(request, first));
  }

  private settle(): void {
    if (this.probe && this.core.exports.done(this.probe)) {
      this.core.exports.pending_free(this.probe);
      this.probe = 0;
    }
    for (const [pointer, request] of this.requests) {
      if (!this.core.exports.done(pointer)) continue;
      this.requests.delete(pointer);
      request.signal?.removeEventListener("abort", request.abort);
      try {
        request.finish();
      } catch (error) {
        request.reject(error);
      }
    }
    this.hold();
  }

  // ---- receiving ----

  private receive(bytes: Uint8Array): void {
    if (this.closed) return;
    this.heardMs = performance.now();
    try {
      for (let at = 0; at < bytes.length && !this.closed;)
        at += this.payloadWanted > 0 ? this.takePayload(bytes, at) : this.takeHead(bytes, at);
    } catch (error) {
      this.fail("PROTOCOL", error instanceof Error ? error.message : String(error));
      return;
    }
    const phase = this.core.exports.phase();
    if (phase === Phase.OPEN) {
      this.outgoing.keeps = this.core.exports.resume_ms() > 0;
      this.outgoing.forget(this.core.exports.peer_received());
      this.settleOpen.resolve();
    }
    if (phase === Phase.FAILED) this.fail("UNAVAILABLE", "the connection failed");
    this.settle();
    this.pump(); // what credit has released, and PONGs
  }

  private takeHead(bytes: Uint8Array, at: number): number {
    const count = Math.min(this.headWanted - this.headBytes, bytes.length - at);
    if (this.head.length < this.headWanted) {
      const larger = new Uint8Array(this.headWanted);
      larger.set(this.head);
      this.head = larger;
    }
    this.head.set(bytes.subarray(at, at + count), this.headBytes);
    this.headBytes += count;
    if (this.headBytes < this.headWanted) return count;
    if (this.prefaced) {
      const sizes = frameSizes(this.head);
      if (this.headBytes < sizes.head) {
        this.headWanted = sizes.head;
        return count;
      }
      this.payloadWanted = sizes.payload;
    }
    this.prefaced = true;
    this.core.feed(this.head.subarray(0, this.headBytes));
    this.headBytes = 0;
    this.headWanted = HEADER_BYTES;
    return count;
  }

  private takePayload(bytes: Uint8Array, at: number): number {
    let count = Math.min(this.payloadWanted, bytes.length - at);
    const incoming = this.core.incoming();
    if (incoming) {
      this.requests.get(incoming.request)!.destination!.set(bytes.subarray(at, at + count), incoming.offset);
      this.payloadWanted -= count;
      this.core.check(this.core.exports.filled(count));
    } else {
      count = Math.min(count, FEED_BYTES);
      this.payloadWanted -= count;
      this.core.feed(bytes.subarray(at, at + count));
    }
    return count;
  }
}

/** The promise, unless the signal comes first. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  signal.throwIfAborted();
  let abort!: () => void;
  const aborted = new Promise<never>((_, reject) => { abort = () => reject(signal.reason); });
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
