// SPDX-License-Identifier: Apache-2.0
// One instance of the WebAssembly module: client/core as the C and Python clients have it, behind the exports of
// client/js/wasm. Structs are written and read as they lie there. Owner: one Connection. Tensor bytes never come here,
// but for constants of at most 4096 bytes, which are part of an op record.
import { BurnError, invalid, type BurnErrorCode } from "./errors.js";
import { PREFACE_BYTES } from "./transport.js";
import { WASM } from "./wasm_gen.js";

/** Pointers into the instance's memory are plain numbers; 0 is NULL. */
type Pointer = number;

interface Exports {
  memory: WebAssembly.Memory;
  area(bytes: number): Pointer;
  results(): Pointer;
  open(library: Pointer, device: Pointer, token: Pointer, resumes: number): void;
  resume_ms(): number;
  farewell(): Pointer;
  peer_received(): number;
  resume(token: Pointer): number;
  resumed(bytes: number): Pointer;
  bye(): void;
  phase(): number;
  fail(code: number, text: Pointer): void;
  failure(): Pointer;
  fact(which: number): Pointer;
  session_number(): number;
  error_code(error: Pointer): Pointer;
  error_retryable(error: Pointer): number;
  error_text(error: Pointer): Pointer;
  error_op(error: Pointer): number;
  error_free(error: Pointer): void;
  output(): number;
  sent(bytes: number): void;
  outside(): number;
  outside_sent(bytes: number): void;
  feed(bytes: number): Pointer;
  incoming(): number;
  filled(bytes: number): Pointer;
  flush(): void;
  batched(): number;
  backlog(): number;
  bytes_sent(): number;
  op_count(): number;
  get(id: number, bytes: number): Pointer;
  sync(): Pointer;
  ping(): Pointer;
  ask(type: number): Pointer;
  done(pending: Pointer): number;
  answer(pending: Pointer): Pointer;
  pending_free(pending: Pointer): void;
  table_count(): number;
  table_at(index: number): Pointer;
  apply(info: Pointer, inputs: Pointer, count: number, attrs: Pointer): Pointer;
  upload(dtype: number, rank: number, dims: Pointer, token: number): Pointer;
  mark(): void;
  seed(seed: number, offset: number): void;
  next_random(count: number): void;
  retain(tensor: Pointer): void;
  release(tensor: Pointer): void;
  type(tensor: Pointer): Pointer;
  id(tensor: Pointer): Pointer;
  version(tensor: Pointer): number;
  assign(target: Pointer, source: Pointer, flags: number): Pointer;
  detach(tensor: Pointer): Pointer;
  grad_mode(enabled: number): void;
  requires_grad(tensor: Pointer): number;
  set_requires_grad(tensor: Pointer, flag: number): Pointer;
  is_leaf(tensor: Pointer): number;
  retain_grad(tensor: Pointer): Pointer;
  grad(tensor: Pointer): Pointer;
  set_grad(tensor: Pointer, grad: Pointer): Pointer;
  backward(tensors: Pointer, roots: number, inputs: number, flags: number): Pointer;
  gradients(tensors: Pointer, roots: number, inputs: number, flags: number): Pointer;
  program_begin(tensors: Pointer, count: number): Pointer;
  program_abort(): void;
  program_end(tensors: Pointer, count: number, name: Pointer): Pointer;
  program_call(program: Pointer, tensors: Pointer, count: number): Pointer;
  program_drop(program: Pointer): void;
  publish(tensors: Pointer, count: number, names: Pointer): Pointer;
  import(name: Pointer): Pointer;
  imported(request: Pointer, first: number): Pointer;
  publish_program(program: Pointer, name: Pointer): Pointer;
  import_program(name: Pointer): Pointer;
  imported_program(request: Pointer, number: number): Pointer;
  cancel_work(session: number): Pointer;
  close_session(session: number): Pointer;
  mint_token(words: Pointer, seconds: number): Pointer;
  unpublish(name: Pointer): Pointer;
  list_names(prefix: Pointer): Pointer;
}

/** Kinds of operands, as burn_operand_kind. */
export const enum Kind { ABSENT = 0, TENSOR = 1, BOOL = 2, INT = 3, FLOAT = 4 }

/** An input as the instance takes it: a kind, and a pointer or a number. */
export interface Operand { kind: Kind; value: number | bigint }

/** Kinds of attributes, as burn_attr_kind. */
export const enum AttrKind { INT = 0, INTS = 1, DTYPE = 2, SIZE = 3, SIZES = 4, BYTES = 5 }

export type AttrValue = number | readonly number[] | Uint8Array;

/** A row of the op table, read from the instance. */
export interface OpInfo {
  readonly pointer: Pointer;
  readonly name: string;
  readonly number: number;
  readonly flags: number;
  readonly inputs: readonly { readonly name: string; readonly role: number; readonly optional: boolean }[];
  readonly variadic: boolean;
  readonly attrs: readonly {
    readonly name: string; readonly kind: AttrKind; readonly optional: boolean; readonly default: number;
  }[];
}

/** Flags of an op, as burn_op_flags. */
export const enum Flag { POINTWISE = 1, RANDOM = 8, INTERNAL = 64, VARIADIC = 128, CONTROL = 512 }

const OPERAND_BYTES = 16, ATTR_BYTES = 16, TEXT_BYTES_MAX = 511;
const decoder = new TextDecoder(), encoder = new TextEncoder();

/** Strings of C, one behind the other: a NUL within one would begin the next, and what a message cannot say is cut. */
function terminated(...texts: string[]): Uint8Array {
  for (const text of texts) {
    const bytes = encoder.encode(text).length;
    if (text.includes("\0")) throw new BurnError("INVALID", `${JSON.stringify(text)} holds a NUL character`);
    if (bytes > TEXT_BYTES_MAX) throw new BurnError("INVALID", `a text of ${bytes} bytes; at most ${TEXT_BYTES_MAX} go`);
  }
  return encoder.encode(texts.map((text) => text + "\0").join(""));
}

let compiled: Promise<WebAssembly.Module> | undefined;

async function compile(): Promise<WebAssembly.Module> {
  const packed = Uint8Array.from(atob(WASM), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

export class Core {
  readonly exports: Exports;
  private readonly results: Pointer;
  private u8!: Uint8Array;
  private u32!: Uint32Array;
  private i32!: Int32Array;
  private f64!: Float64Array;
  private table: Map<string, OpInfo> | undefined;

  private constructor(instance: WebAssembly.Instance) {
    this.exports = instance.exports as unknown as Exports;
    this.results = this.exports.results();
    this.refresh();
  }

  static async create(): Promise<Core> {
    compiled ??= compile();
    let core: Core | undefined;
    const fatal = (file: number, line: number, what: number): never => {
      throw new BurnError("INTERNAL", `${core!.text(file)}:${line}: assertion failed: ${core!.text(what)}`);
    };
    return core = new Core(await WebAssembly.instantiate(await compiled, { burn: { fatal } }));
  }

  // ---- memory ----

  private refresh(): void {
    const buffer = this.exports.memory.buffer;
    this.u8 = new Uint8Array(buffer);
    this.u32 = new Uint32Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.f64 = new Float64Array(buffer);
  }

  /** To be called after every export that may have made the memory grow, before it is looked at. */
  private fresh(): void {
    if (this.u8.byteLength === 0) this.refresh();
  }

  /** Copies bytes into the area. */
  private put(bytes: Uint8Array): Pointer {
    const place = this.exports.area(bytes.length);
    this.fresh();
    this.u8.set(bytes, place);
    return place;
  }

  private word(index: number): number {
    this.fresh();
    return this.u32[(this.results >> 2) + index]!;
  }

  private number(): number {
    this.fresh();
    return this.f64[(this.results + 16) >> 3]!;
  }

  /** The text at a pointer; "" for NULL. */
  text(pointer: Pointer): string {
    if (pointer === 0) return "";
    this.fresh();
    return decoder.decode(this.u8.subarray(pointer, this.u8.indexOf(0, pointer)));
  }

  private setInt64(place: Pointer, value: number | bigint): void {
    const at = place >> 2;
    const fits = typeof value === "bigint" ? [BigInt.asIntN(64, value), BigInt.asUintN(64, value)].includes(value)
      : Number.isInteger(value) && Math.abs(value) < 2 ** 63;
    if (!fits) throw invalid(`sizes, dims and whole numbers have at most 64 bits and no fraction; ${String(value)} has not`);
    if (typeof value === "bigint") {
      this.u32[at] = Number(BigInt.asUintN(32, value));
      this.u32[at + 1] = Number(BigInt.asUintN(32, value >> 32n));
    } else {
      this.u32[at] = value >>> 0;
      this.i32[at + 1] = Math.floor(value / 4294967296);
    }
  }

  private setOperand(place: Pointer, operand: Operand): void {
    this.u32[place >> 2] = operand.kind;
    if (operand.kind === Kind.FLOAT) this.f64[(place + 8) >> 3] = operand.value as number;
    else this.setInt64(place + 8, operand.value);
  }

  // ---- errors ----

  /** The error at a pointer, which is freed; undefined for NULL. */
  error(pointer: Pointer): BurnError | undefined {
    if (pointer === 0) return undefined;
    const e = this.exports;
    const error = new BurnError(this.text(e.error_code(pointer)) as BurnErrorCode, this.text(e.error_text(pointer)),
      { retryable: e.error_retryable(pointer) !== 0, op: e.error_op(pointer) });
    e.error_free(pointer);
    return error;
  }

  /** Throws the error at a pointer. */
  check(pointer: Pointer): void {
    const error = this.error(pointer);
    if (error) throw error;
  }

  // ---- the connection ----

  open(library: string, device: string, token: string, resumes: boolean): void {
    const [a, b] = [library, device].map((text) => encoder.encode(text).length + 1) as [number, number];
    const place = this.put(terminated(library, device, token));
    this.exports.open(place, place + a, place + a + b, resumes ? 1 : 0);
  }

  /** What a connection that takes a lost one's place says first. */
  resume(token: string): { preface: Uint8Array; frame: Uint8Array } {
    const size = this.exports.resume(this.put(terminated(token))), place = this.word(0);
    return { preface: this.u8.slice(place, place + PREFACE_BYTES), frame: this.u8.slice(place + PREFACE_BYTES, place + size) };
  }

  /** The answer as far as it has come: how many bytes of it are wanted, and, when these are there, how many the daemon has. */
  resumed(bytes: Uint8Array): { wanted: number; received: number } {
    this.put(bytes);
    this.check(this.exports.resumed(bytes.length));
    return { wanted: this.word(0), received: this.number() };
  }

  fail(code: number, message: string): void {
    this.exports.fail(code, this.put(encoder.encode(message + "\0")));
  }

  /** A copy of the bytes that may be sent now. */
  output(): Uint8Array | undefined {
    const size = this.exports.output();
    if (size === 0) return undefined;
    const place = this.word(0);
    const bytes = this.u8.slice(place, place + size);
    this.exports.sent(size);
    return bytes;
  }

  /** The upload whose bytes come next, and how many. */
  outside(): { token: number; size: number } | undefined {
    const size = this.exports.outside();
    return size === 0 ? undefined : { token: this.word(0), size };
  }

  /** Takes in what the daemon sent. */
  feed(bytes: Uint8Array): void {
    this.put(bytes);
    this.check(this.exports.feed(bytes.length));
  }

  /** Whose tensor bytes come next, and where they belong. */
  incoming(): { request: Pointer; offset: number } | undefined {
    return this.exports.incoming() === 0 ? undefined : { request: this.word(0), offset: this.word(1) };
  }

  /** A finished request's report, or "" if it has none; throws its error. The request is gone. */
  finish(request: Pointer): string {
    const error = this.error(this.exports.answer(request));
    const report = this.text(this.word(0));
    this.exports.pending_free(request);
    if (error) throw error;
    return report;
  }

  // ---- ops ----

  /** The op table. */
  ops(): Map<string, OpInfo> {
    if (this.table) return this.table;
    this.table = new Map();
    for (let i = 0; i < this.exports.table_count(); i++) {
      const info = this.readOp(this.exports.table_at(i));
      this.table.set(info.name, info);
    }
    return this.table;
  }

  private readOp(at: Pointer): OpInfo {
    this.fresh();
    const u8 = this.u8, word = (offset: number): number => this.u32[(at + offset) >> 2]!;
    const inputCount = u8[at + 12]!, optional = u8[at + 16]! | u8[at + 17]! << 8;
    const inputs = Array.from({ length: inputCount }, (_, i) => ({
      name: this.text(word(24 + 4 * i)), role: u8[at + 72 + i]!, optional: (optional >> i & 1) === 1,
    }));
    const attrs = Array.from({ length: u8[at + 18]! }, (_, i) => ({
      name: this.text(word(88 + 24 * i)), kind: word(92 + 24 * i) as AttrKind,
      optional: u8[at + 96 + 24 * i] === 1, default: this.i32[(at + 104 + 24 * i) >> 2]!,
    }));
    const flags = word(8);
    return {
      pointer: at, name: this.text(word(0)), number: u8[at + 4]! | u8[at + 5]! << 8, flags, inputs, attrs,
      variadic: (flags & Flag.VARIADIC) !== 0,
    };
  }

  /** The tensors that the last call gave. */
  private outputs(): Pointer[] {
    const place = this.word(0) >> 2, count = this.word(1);
    return Array.from(this.u32.subarray(place, place + count));
  }

  apply(info: OpInfo, inputs: readonly Operand[], attrs: readonly AttrValue[]): Pointer[] {
    let bytes = OPERAND_BYTES * inputs.length + ATTR_BYTES * attrs.length;
    const attrsAt = OPERAND_BYTES * inputs.length;
    let next = bytes;
    for (const attr of attrs)
      if (typeof attr !== "number") bytes += attr instanceof Uint8Array ? (attr.length + 7) & ~7 : 8 * attr.length;
    const place = this.exports.area(bytes);
    this.fresh();
    inputs.forEach((input, i) => this.setOperand(place + OPERAND_BYTES * i, input));
    attrs.forEach((attr, i) => {
      const at = place + attrsAt + ATTR_BYTES * i;
      this.u32.fill(0, at >> 2, (at >> 2) + 4);
      if (typeof attr === "number") {
        this.setInt64(at, attr);
        return;
      }
      this.u32[(at + 8) >> 2] = place + next;
      this.u32[(at + 12) >> 2] = attr.length;
      if (attr instanceof Uint8Array) {
        this.u8.set(attr, place + next);
        next += (attr.length + 7) & ~7;
      } else {
        for (const item of attr) {
          this.setInt64(place + next, item);
          next += 8;
        }
      }
    });
    this.check(this.exports.apply(info.pointer, place, inputs.length, attrs.length > 0 ? place + attrsAt : 0));
    return this.outputs();
  }

  /** A tensor whose bytes are sent when `outside` gives the token. */
  upload(dtype: number, shape: readonly number[], token: number): Pointer {
    const place = this.exports.area(8 * shape.length);
    this.fresh();
    shape.forEach((n, i) => this.setInt64(place + 8 * i, n));
    this.check(this.exports.upload(dtype, shape.length, place, token));
    return this.word(0);
  }

  /** Seed and offset for so many random numbers, each as low and high half. */
  nextRandom(count: number): [number, number] {
    this.exports.next_random(count);
    const [a, b, c, d] = [0, 1, 2, 3].map((i) => this.word(i)) as [number, number, number, number];
    return [b * 4294967296 + a, d * 4294967296 + c];
  }

  /** Dtype number and shape. */
  type(tensor: Pointer): { dtype: number; shape: number[] } {
    const at = this.exports.type(tensor) >> 2;
    this.fresh();
    const shape = Array.from({ length: this.u32[at + 2]! },
      (_, i) => this.u32[at + 4 + 2 * i]! + 4294967296 * this.u32[at + 5 + 2 * i]!);
    return { dtype: this.u32[at]!, shape };
  }

  id(tensor: Pointer): number {
    this.check(this.exports.id(tensor));
    return this.number();
  }

  assign(target: Pointer, source: Operand, flags: number): void {
    const place = this.exports.area(OPERAND_BYTES);
    this.fresh();
    this.setOperand(place, source);
    this.check(this.exports.assign(target, place, flags));
  }

  detach(tensor: Pointer): Pointer {
    this.check(this.exports.detach(tensor));
    return this.outputs()[0]!;
  }

  /** Writes pointers into the area. */
  private pointers(list: readonly Pointer[], bytesAfter = 0): Pointer {
    const place = this.exports.area(4 * list.length + bytesAfter);
    this.fresh();
    this.u32.set(list, place >> 2);
    return place;
  }

  backward(roots: readonly Pointer[], seeds: readonly Pointer[], inputs: readonly Pointer[], flags: number): void {
    const place = this.pointers([...roots, ...seeds, ...inputs]);
    this.check(this.exports.backward(place, roots.length, inputs.length, flags));
  }

  /** 0 for an input that does not matter. */
  gradients(roots: readonly Pointer[], seeds: readonly Pointer[], inputs: readonly Pointer[], flags: number): Pointer[] {
    const place = this.pointers([...roots, ...seeds, ...inputs]);
    this.check(this.exports.gradients(place, roots.length, inputs.length, flags));
    return this.outputs();
  }

  // ---- programs ----

  /** Stand-ins for the arguments. */
  programBegin(tensors: readonly Pointer[]): Pointer[] {
    this.check(this.exports.program_begin(this.pointers(tensors), tensors.length));
    return this.outputs();
  }

  programEnd(tensors: readonly Pointer[], name: string): { program: Pointer; request: Pointer } {
    const text = terminated(name);
    const place = this.pointers(tensors, text.length), textAt = place + 4 * tensors.length;
    this.u8.set(text, textAt);
    this.check(this.exports.program_end(place, tensors.length, textAt));
    return { program: this.word(0), request: this.word(1) };
  }

  programCall(program: Pointer, tensors: readonly Pointer[]): Pointer[] {
    this.check(this.exports.program_call(program, this.pointers(tensors), tensors.length));
    return this.outputs();
  }

  // ---- names ----

  /** The request that ends when all are published. */
  publish(name: string, parts: readonly string[], tensors: readonly Pointer[]): Pointer {
    const texts = terminated(name, ...parts);
    const place = this.pointers(tensors, texts.length);
    this.u8.set(texts, place + 4 * tensors.length);
    this.check(this.exports.publish(place, tensors.length, place + 4 * tensors.length));
    return this.word(0);
  }

  import(name: string): { request: Pointer; first: number } {
    this.check(this.exports.import(this.put(terminated(name))));
    return { request: this.word(0), first: this.number() };
  }

  /** The tensors of an import that has ended, with their parts; throws its error. The request is gone. */
  imported(request: Pointer, first: number): { part: string; tensor: Pointer }[] {
    try {
      this.check(this.exports.answer(request));
      this.check(this.exports.imported(request, first));
      const parts = this.text(this.word(2)).split("\n");
      return this.outputs().map((tensor, i) => ({ part: parts[i]!, tensor }));
    } finally {
      this.exports.pending_free(request);
    }
  }

  publishProgram(program: Pointer, name: string): Pointer {
    this.check(this.exports.publish_program(program, this.put(terminated(name))));
    return this.word(0);
  }

  importProgram(name: string): { request: Pointer; first: number } {
    this.check(this.exports.import_program(this.put(terminated(name))));
    return { request: this.word(0), first: this.number() };
  }

  /** The program of such a request that has ended; throws its error. The request is gone. */
  importedProgram(request: Pointer, number: number): Pointer {
    try {
      this.check(this.exports.answer(request));
      this.check(this.exports.imported_program(request, number));
      return this.word(0);
    } finally {
      this.exports.pending_free(request);
    }
  }

  mintToken(name: string, scopes: string, origins: string, seconds: number): Pointer {
    return this.exports.mint_token(this.put(terminated(name, scopes, origins)), seconds);
  }

  unpublish(name: string): Pointer {
    return this.exports.unpublish(this.put(terminated(name)));
  }

  listNames(prefix: string): Pointer {
    return this.exports.list_names(this.put(terminated(prefix)));
  }
}
