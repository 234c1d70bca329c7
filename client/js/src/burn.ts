// SPDX-License-Identifier: Apache-2.0
// Burn: a connection to a daemon as users see it: making tensors, functions of them, gradients, programs. Everything that
// crosses the wire returns a promise; ops do not wait.
import { attributesOf, camel, inputsOf, missing } from "./calls.js";
import { Connection, type REPORTS, type WaitOptions } from "./connection.js";
import { Core, Flag, Kind, type AttrValue, type OpInfo, type Operand as CoreOperand } from "./core.js";
import { dtypeNumber, elements, elementsOf, isFloat, type DType, type Nested, type TypedArray } from "./dtypes.js";
import { invalid, type BurnError } from "./errors.js";
import { createJit, type Jit } from "./jit.js";
import { Names } from "./names.js";
import { PLAIN, type Ops, type PlainFunctions } from "./ops_gen.js";
import type { Again } from "./resume.js";
import { tensorsIn } from "./structure.js";
import { symbolDispose, Tensor, weak, type Operand } from "./tensor.js";
import type { Transport } from "./transport.js";
import { queryOf } from "./url.js";

/** Tensors of at most so many bytes travel within their op record. */
const CONSTANT_BYTES = 4096;
const HANDSHAKE_MS = 5000, PRIVATE_MS = 60000;
const symbolAsyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? (Symbol.for("Symbol.asyncDispose") as never);
const enum Role { VALUE = 0, INDEX = 1, PARAM = 3 }

/** How to connect. */
export interface ConnectOptions extends WaitOptions {
  /** The device wanted, such as "cpu" or "cuda"; the daemon's first if left out. */
  device?: string;
  /** What shows who connects, where the socket does not; Node takes BURN_TOKEN or the file BURN_TOKEN_FILE if it is left
   * out. A page gets it from its own server, or from the fragment of its address (`#token=…`), never from the query. A
   * function is asked for it, and again when a lost connection is resumed. */
  token?: string | (() => string | Promise<string>);
  /** Milliseconds for the connection, and again for the handshake: 5000 at first; a private daemon has 60000 to start. */
  timeout?: number;
  /** Milliseconds without a word from the daemon after which it is asked for one; after as many more without an answer the
   * connection is taken for lost. 30000 if left out. */
  keepAlive?: number;
}

/** What mintToken() makes. */
export interface TokenOptions {
  /** Shown by `burnctl sessions`. */
  name?: string;
  /** Some of the session's own: "infer" (if left out), "compute", "kernel", "metrics". */
  scopes?: readonly string[];
  /** The origins whose pages may show it, as `https://app.example`; anyone if left out. */
  origins?: readonly string[];
  /** How long it lives: 600 if left out, at most 3600. */
  seconds?: number;
}

/** How to make a tensor. */
export interface TensorOptions<D extends DType = DType> {
  dtype?: D;
  /** Whether backward() gives it a gradient. */
  requiresGrad?: boolean;
}

/** Options of tensor(). */
export interface DataOptions<D extends DType = DType> extends TensorOptions<D> {
  /** The shape, if the data is flat. */
  shape?: readonly number[];
}

/** An input as ops take it here: also null for one that is absent. */
export type Input = Operand | CoreOperand | null | undefined;

export interface Burn extends PlainFunctions {}

/** A session with a daemon. Made by connect(). */
export class Burn {
  /** @internal */ readonly _connection: Connection;
  /** @internal */ readonly _core: Core;
  private readonly scopes: Set<Tensor>[] = [];
  private readonly collected: FinalizationRegistry<number>;
  private gradEnabled = true;
  private marksAfterTidy = false;

  /** Every op by its own name; see proto/OPS.md. */
  readonly ops: Ops;
  /** Makes a function of tensors a program, which the daemon keeps and one message calls. */
  readonly jit: Jit;
  /** Values by name: what one client publishes, others on the same daemon use. */
  readonly names: Names;

  private constructor(core: Core, transport: Transport, device: string, token: string, again: Again, idleMs: number | undefined) {
    this._core = core;
    this._connection = new Connection(core, transport, device, token, again, idleMs);
    this.collected = new FinalizationRegistry((pointer) => this.free(pointer));
    this.ops = this.makeOps();
    this.jit = createJit(this);
    this.names = new Names(this);
  }

  /** @internal `open` gives the first transport, `again` those that replace it. */
  static async _open(open: () => Promise<Transport>, again: Again["open"], timeoutMs: number | undefined, options: ConnectOptions | undefined): Promise<Burn> {
    const core = await Core.create(), tokenOf = async (): Promise<string> => {
      const token = options?.token ?? "";
      return typeof token === "function" ? token() : token;
    };
    const token = await tokenOf(), transport = await open();
    const burn = new Burn(core, transport, options?.device ?? queryOf(transport.url, "device") ?? "", token, { open: again, token: tokenOf }, options?.keepAlive); // at once: what comes must not be missed
    await burn._connection.open(timeoutMs ?? (burn.url === "private:" ? PRIVATE_MS : HANDSHAKE_MS), options?.signal);
    const seed = crypto.getRandomValues(new Uint32Array(2));
    burn.seed(seed[0]! * 2097152 + (seed[1]! >>> 11));
    return burn;
  }

  // ---- the connection ----

  /** What it is connected to; "private:" for a daemon of its own. */
  get url(): string {
    return this._connection.url;
  }

  /** Whether it can be used: false once it was closed, or lost for good. */
  get alive(): boolean {
    return this._connection.alive;
  }

  /** Ends with the reason when it can be used no longer, also after close(). */
  get closed(): Promise<BurnError> {
    return this._connection.ended;
  }

  /** Whether the daemon has said that it ends the connection soon, as it does when it is shut down: a loop has half a minute (the
   * daemon's drain_timeout) to save what it needs. */
  get draining(): boolean {
    return this._connection.draining;
  }

  /** Whether the connection is lost and being made anew; what waits goes on waiting. */
  get resuming(): boolean {
    return this._connection.resuming;
  }

  /** The daemon's name and version. */
  get server(): string {
    return this._core.text(this._core.exports.fact(0));
  }

  /** The device that the tensors of this session live on. */
  get device(): string {
    return this._core.text(this._core.exports.fact(1));
  }

  /** All devices of the daemon. */
  get devices(): string[] {
    return this._core.text(this._core.exports.fact(2)).split("\n").filter(Boolean);
  }

  /** The session's number, as burnctl shows it. */
  get session(): number {
    return this._core.exports.session_number();
  }

  /** Bytes sent so far. */
  get bytesSent(): number {
    return this._core.exports.bytes_sent();
  }

  /** Ops recorded so far. */
  get opsRecorded(): number {
    return this._core.exports.op_count();
  }

  /** Ends the session. Tensors can then only be disposed of; a private daemon ends. */
  close(): void {
    this._connection.close();
  }

  /** `using burn = await connect()` ends the session at the end of the block. */
  [symbolDispose](): void {
    this.close();
  }

  /** `await using burn = await connect()` also waits until what was recorded is sent. */
  async [symbolAsyncDispose](): Promise<void> {
    if (this.alive) await this.flush().finally(() => this.close());
  }

  /** Sends what was recorded; waits until the socket has taken it. */
  flush(options?: WaitOptions): Promise<void> {
    return this._connection.flush(options);
  }

  /** Waits until all that was recorded has run; rejects with the first failure since the last sync. */
  sync(options?: WaitOptions): Promise<void> {
    return this._connection.sync(options);
  }

  /** The end of a step: what was recorded since the last one is run as one. Optimizers say so themselves. */
  mark(): void {
    this._connection.check();
    this._core.exports.mark();
    this._connection.recorded();
  }

  /** @internal The end of a step, once what tidy() disposes of is gone: it needs not outlive the step. */
  _stepEnded(): void {
    if (this.scopes.length === 0) this.mark();
    else this.marksAfterTidy = true;
  }

  /** Milliseconds to the daemon and back; does not wait for the device. */
  ping(options?: WaitOptions): Promise<number> {
    return this._connection.ping(options);
  }

  /** The daemon's counters, devices, sessions, kernels or settings, as `burnctl -o json` prints them. */
  report(kind: keyof typeof REPORTS, options?: WaitOptions): Promise<unknown> {
    return this._connection.report(kind, options);
  }

  /** A token that an application's server hands to one of its pages, with which the page connects by itself. It acts for
   * the identity of this session, and lives for an hour at most, or until the session's own token ends. DENIED without
   * the scope mint. */
  async mintToken(wish: TokenOptions = {}, options?: WaitOptions): Promise<string> {
    const { name = "", scopes = ["infer"], origins = [], seconds = 600 } = wish;
    if (!Number.isInteger(seconds) || seconds < 1) throw invalid(`a token lives for a whole number of seconds, not ${seconds}`);
    this._connection.check();
    const request = this._core.mintToken(name, scopes.join(","), origins.join(","), seconds);
    return (JSON.parse(await this._connection.request(request, options)) as { token: string }).token;
  }

  /** Drops what the daemon has to do for this connection, or for another session of the same user (its number, as in
   * `report("sessions")`). What runs ends, ops not yet begun are not, and reading what they would have made rejects with
   * CANCELLED; all other tensors keep their values. An AbortSignal alone ends only the wait. */
  cancelWork(session = 0, options?: WaitOptions): Promise<void> {
    return this._connection.end("cancel_work", session, options);
  }

  /** Ends another session with all that it holds (its number, as in `report("sessions")`), also one that waits to be
   * resumed: of the same user, or any with the scope admin. Its own calls reject with CANCELLED. */
  closeSession(session: number, options?: WaitOptions): Promise<void> {
    return this._connection.end("close_session", session, options);
  }

  /** Makes the daemon finish what is under way and end, as SIGTERM does. */
  shutdown(options?: WaitOptions): Promise<void> {
    return this._connection.shutdown(options);
  }

  // ---- lifetime ----

  /** @internal */
  _adopt(tensor: Tensor): void {
    this.collected.register(tensor, tensor._pointer, tensor);
    this.scopes.at(-1)?.add(tensor);
  }

  private free(pointer: number): void {
    if (this.alive) this._core.exports.release(pointer);
  }

  /** @internal */
  _release(tensor: Tensor): void {
    if (tensor._pointer === 0) return;
    this.collected.unregister(tensor);
    this.free(tensor._pointer);
    tensor._pointer = 0;
  }

  /** @internal Runs the function outside of any tidy(): what it makes is kept. */
  _outside<T>(f: () => T): T {
    const scopes = this.scopes.splice(0);
    try {
      return f();
    } finally {
      this.scopes.push(...scopes);
    }
  }

  /** Runs the function and disposes of all tensors that it made, but for those that it returns (in arrays and objects,
   * too) or was told to keep(). A training step belongs into one: what is gone before the step ends, the daemon need not
   * store at all, while what the garbage collector finds later it must. */
  tidy<T>(f: () => T): T {
    const scope = new Set<Tensor>();
    this.scopes.push(scope);
    let result: T | undefined;
    try {
      result = f();
      if (result instanceof Promise) throw invalid("tidy() takes a function that does not wait");
      return result;
    } finally {
      this.scopes.pop();
      for (const kept of tensorsIn(result)) {
        scope.delete(kept);
        this.scopes.at(-1)?.add(kept);
      }
      for (const tensor of scope) tensor.dispose();
      if (this.marksAfterTidy && this.alive) this.mark();
      this.marksAfterTidy = false;
    }
  }

  /** Keeps a tensor that was made within tidy(). */
  keep<T extends Tensor>(tensor: T): T {
    for (const scope of this.scopes) scope.delete(tensor);
    return tensor;
  }

  // ---- ops ----

  /** @internal */
  _pointer(tensor: Tensor): number {
    if (tensor.burn !== this) throw invalid("the tensors belong to different connections");
    return tensor._live();
  }

  /** @internal An input for the core; float: plain numbers are floats, also whole ones. */
  _operand(input: Input, float: boolean): CoreOperand {
    if (input === null || input === undefined) return { kind: Kind.ABSENT, value: 0 };
    if (input instanceof Tensor) return { kind: Kind.TENSOR, value: this._pointer(input) };
    if (typeof input === "object") {
      if ("kind" in input) return input;
      throw invalid(`expected a tensor or a number, not ${Object.prototype.toString.call(input)}`);
    }
    return weak(input, float);
  }

  private operands(info: OpInfo, inputs: readonly Input[]): CoreOperand[] {
    const role = (i: number): number => info.inputs[Math.min(i, info.inputs.length - 1)]?.role ?? Role.VALUE;
    // Dtypes are looked at only where a number has to adapt to them.
    const float = inputs.some((input) => typeof input === "number") &&
      inputs.some((input, i) => role(i) === Role.VALUE && input instanceof Tensor && isFloat(input.dtype));
    return inputs.map((input, i) => this._operand(input, role(i) === Role.PARAM || (role(i) === Role.VALUE && float)));
  }

  /** @internal Any op: all named inputs, all attributes. */
  _apply(name: string, inputs: readonly Input[], attrs: readonly AttrValue[]): Tensor[] {
    this._connection.check();
    const info = this._core.ops().get(name)!;
    const pointers = this._core.apply(info, this.operands(info, inputs), attrs);
    this._connection.recorded();
    return pointers.map((pointer) => new Tensor(this, pointer));
  }

  /** @internal An op with one output. */
  _one(name: string, inputs: readonly Input[], attrs: readonly AttrValue[]): Tensor {
    return this._apply(name, inputs, attrs)[0]!;
  }

  private makeOps(): Ops {
    const ops: Record<string, (...given: unknown[]) => unknown> = {};
    for (const info of this._core.ops().values()) {
      if (info.flags & (Flag.CONTROL | Flag.INTERNAL)) continue;
      ops[camel(info.name)] = (...given) => {
        const outputs = this._apply(info.name, inputsOf(info, given), attributesOf(info, given));
        return outputs.length === 1 && info.name !== "split" ? outputs[0] : outputs;
      };
    }
    for (const name of PLAIN.split(/\s+/).filter(Boolean).map(camel)) {
      if (!(name in Burn.prototype)) (Burn.prototype as unknown as Record<string, unknown>)[name] =
        function (this: Burn, ...given: unknown[]): unknown { return (this.ops as unknown as typeof ops)[name]!(...given); };
      if (!(name in Tensor.prototype)) (Tensor.prototype as unknown as Record<string, unknown>)[name] =
        function (this: Tensor, ...given: unknown[]): unknown { return (this.burn.ops as unknown as typeof ops)[name]!(this, ...given); };
    }
    return Object.setPrototypeOf(ops, new Proxy({}, { get: (_, name) => missing(name, Object.keys(ops)) })) as Ops;
  }

  // ---- making tensors ----

  private made<D extends DType>(tensor: Tensor, options: TensorOptions<D> | undefined): Tensor<D> {
    if (options?.requiresGrad) tensor.requiresGrad = true;
    return tensor as Tensor<D>;
  }

  /** From a typed array, which keeps its dtype, or from numbers in arrays within arrays: numbers become float32, booleans
   * bool, bigints int64, unless a dtype is named. The data is copied at once. */
  tensor<D extends DType = DType>(data: Nested | TypedArray, options?: DataOptions<D>): Tensor<D> {
    this._connection.check();
    const { bytes, dtype, shape } = elementsOf(data, options?.shape, options?.dtype);
    const number = dtypeNumber(dtype);
    if (bytes.length <= CONSTANT_BYTES) return this.made(this._one("constant", [], [number, shape, bytes]), options);
    const token = this._connection.keep(bytes);
    try {
      const pointer = this._core.upload(number, shape, token);
      this._connection.recorded();
      return this.made(new Tensor(this, pointer), options);
    } catch (error) {
      this._connection.drop(token);
      throw error;
    }
  }

  /** One value everywhere. */
  full<D extends DType = DType>(shape: readonly number[], value: number | boolean | bigint, options?: TensorOptions<D>): Tensor<D> {
    const dtype = options?.dtype ?? (typeof value === "boolean" ? "bool" : "float32");
    return this.made(this._one("full", [weak(value, isFloat(dtype))], [shape, dtypeNumber(dtype)]), options);
  }

  /** Zeros. */
  zeros<D extends DType = DType>(shape: readonly number[], options?: TensorOptions<D>): Tensor<D> {
    return this.full(shape, 0, options);
  }

  /** Ones. */
  ones<D extends DType = DType>(shape: readonly number[], options?: TensorOptions<D>): Tensor<D> {
    return this.full(shape, 1, options);
  }

  /** start, start + step, … up to but without end; one number is the end. Whole numbers give int32. */
  arange<D extends DType = DType>(start: number, end?: number, step = 1, options?: TensorOptions<D>): Tensor<D> {
    const from = end === undefined ? 0 : start, to = end ?? start, count = Math.ceil((to - from) / step);
    if (!Number.isFinite(count) || count < 0) throw invalid(`arange: from ${from} to ${to} by ${step}`);
    const whole = [from, to, step].every(Number.isInteger), dtype = options?.dtype ?? (whole ? "int32" : "float32");
    return this.made(this._one("arange", [weak(from, !whole), weak(step, !whole)], [count, dtypeNumber(dtype)]), options);
  }

  /** Evenly spaced numbers from start to end, both included. */
  linspace<D extends DType = DType>(start: number, end: number, count: number, options?: TensorOptions<D>): Tensor<D> {
    return this.made(this._one("linspace", [weak(start, true), weak(end, true)],
      [count, dtypeNumber(options?.dtype ?? "float32")]), options);
  }

  /** 1 on the diagonal, else 0. */
  eye<D extends DType = DType>(rows: number, columns = rows, options?: TensorOptions<D>): Tensor<D> {
    return this.made(this._one("eye", [], [rows, columns, dtypeNumber(options?.dtype ?? "float32")]), options);
  }

  // ---- random numbers ----

  /** Starts the random numbers of this session anew; the same seed gives the same numbers, in every client. */
  seed(seed: number): void {
    if (!Number.isSafeInteger(seed) || seed < 0) throw invalid(`a seed is an integer from 0 to 2^53 - 1, not ${seed}`);
    this._core.exports.seed(seed, 0);
  }

  /** @internal Seed and offset for so many numbers, as attributes. */
  _draw(count: number): [number, number] {
    return this._core.nextRandom(count);
  }

  /** Uniform in [low, high). */
  uniform<D extends DType = DType>(shape: readonly number[], low = 0, high = 1, options?: TensorOptions<D>): Tensor<D> {
    return this.made(this._one("uniform", [weak(low, true), weak(high, true)],
      [shape, dtypeNumber(options?.dtype ?? "float32"), ...this._draw(elements(shape))]), options);
  }

  /** Normally distributed. */
  normal<D extends DType = DType>(shape: readonly number[], mean = 0, std = 1, options?: TensorOptions<D>): Tensor<D> {
    return this.made(this._one("normal", [weak(mean, true), weak(std, true)],
      [shape, dtypeNumber(options?.dtype ?? "float32"), ...this._draw(elements(shape))]), options);
  }

  /** Integers from low to high - 1. */
  randint<D extends DType = DType>(shape: readonly number[], low: number, high: number, options?: TensorOptions<D>): Tensor<D> {
    return this.made(this._one("randint", [weak(low, false), weak(high, false)],
      [shape, dtypeNumber(options?.dtype ?? "int32"), ...this._draw(elements(shape))]), options);
  }

  /** The integers 0 to n - 1 in random order. */
  randperm(n: number): Tensor<"int64"> {
    return this.tidy(() => this._one("argsort", [this.uniform([n], 0, 1, { dtype: "float64" })], [0, 0])) as Tensor<"int64">;
  }

  // ---- functions of several tensors ----

  /** One after the other along a dim. */
  concat(tensors: readonly Tensor[], dim = 0): Tensor {
    return this._one("concat", tensors, [dim]);
  }

  /** Along a new dim. */
  stack(tensors: readonly Tensor[], dim = 0): Tensor {
    return this._one("stack", tensors, [dim]);
  }

  /** a where the condition holds, else b. */
  where(condition: Tensor, a: Operand, b: Operand): Tensor {
    return this._one("where", [condition, a, b], []);
  }

  // ---- gradients ----

  /** Whether ops on tensors that require a gradient keep their history. */
  get isGradEnabled(): boolean {
    return this.gradEnabled;
  }

  private withGrad<T>(enabled: boolean, f: () => T): T {
    const before = this.gradEnabled;
    this.gradEnabled = enabled;
    this._core.exports.grad_mode(enabled ? 1 : 0);
    try {
      const result = f();
      if (result instanceof Promise)
        throw invalid("noGrad() takes a function that does not wait: return the tensors and await their values outside");
      return result;
    } finally {
      this.gradEnabled = before;
      this._core.exports.grad_mode(before ? 1 : 0);
    }
  }

  /** Runs the function without keeping histories: for inference, and for changing parameters. */
  noGrad<T>(f: () => T): T {
    return this.withGrad(false, f);
  }

  /** Runs the function with histories kept, also within noGrad(). */
  enableGrad<T>(f: () => T): T {
    return this.withGrad(true, f);
  }

  /** Adds the gradients of the roots, weighted by `gradients`, to the `grad` of the leaves (or of `inputs`). */
  backward(roots: readonly Tensor[], options?: {
    gradients?: readonly (Tensor | null)[]; inputs?: readonly Tensor[]; retainGraph?: boolean; createGraph?: boolean;
  }): void {
    const create = options?.createGraph ?? false, retain = options?.retainGraph ?? create;
    this._connection.check();
    this._core.backward(roots.map((t) => this._pointer(t)), this.seeds(roots, options?.gradients),
      (options?.inputs ?? []).map((t) => this._pointer(t)), (retain ? 1 : 0) | (create ? 2 : 0));
    this._connection.recorded();
  }

  private seeds(roots: readonly Tensor[], gradients: readonly (Tensor | null)[] | undefined): number[] {
    return roots.map((_, i) => (gradients?.[i] ? this._pointer(gradients[i]) : 0));
  }

  /** The gradients of the roots' weighted sum by the inputs; null for one that does not matter, which must be allowed. */
  gradients(roots: readonly Tensor[], inputs: readonly Tensor[], options?: {
    gradients?: readonly (Tensor | null)[]; retainGraph?: boolean; createGraph?: boolean; allowUnused?: boolean;
  }): (Tensor | null)[] {
    const create = options?.createGraph ?? false, retain = options?.retainGraph ?? create;
    this._connection.check();
    const pointers = this._core.gradients(roots.map((t) => this._pointer(t)), this.seeds(roots, options?.gradients),
      inputs.map((t) => this._pointer(t)), (retain ? 1 : 0) | (create ? 2 : 0) | (options?.allowUnused ? 4 : 0));
    this._connection.recorded();
    return pointers.map((pointer) => (pointer === 0 ? null : new Tensor(this, pointer)));
  }

  /** The function that gives the gradient of f, which returns one number, by its first argument; f may be given the
   * result again for a second derivative. */
  grad<A extends unknown[]>(f: (x: Tensor, ...rest: A) => Tensor): (x: Tensor, ...rest: A) => Tensor {
    const both = this.valueAndGrad(f);
    return (x, ...rest) => {
      const [value, gradient] = both(x, ...rest);
      value.dispose();
      return gradient;
    };
  }

  /** As grad(), with the value of f first. */
  valueAndGrad<A extends unknown[]>(f: (x: Tensor, ...rest: A) => Tensor): (x: Tensor, ...rest: A) => [Tensor, Tensor] {
    return (x, ...rest) => this.enableGrad(() => {
      const nested = x.requiresGrad, input = nested ? x : x.detach();
      if (!nested) input.requiresGrad = true;
      const value = f(input, ...rest);
      const [gradient] = this.gradients([value], [input], { createGraph: nested, retainGraph: nested });
      return [nested ? value : value.detach(), gradient!];
    });
  }
}
