// SPDX-License-Identifier: Apache-2.0
// Tensor: a handle on a value in the daemon. Owner: whoever holds it; the daemon's memory is given back when it is
// disposed of, or some time after nobody holds it.
import type { Burn } from "./burn.js";
import { Kind, type Operand as CoreOperand } from "./core.js";
import {
  DTYPES, dtypeNumber, dtypeOf, elements, isFloat, kindOf, nest, valueAt, type ArrayOf, type DType, type NestedValues,
} from "./dtypes.js";
import { BurnError, invalid } from "./errors.js";
import type { WaitOptions } from "./connection.js";
import type { PlainMethods } from "./ops_gen.js";
import { dimList, indexed, resolveShape, wrapDim, type Index } from "./shape.js";

/** What ops take: a tensor, or a number that adapts to the dtype of the tensors beside it. */
export type Operand = Tensor | number | boolean | bigint;

/** Options of reductions. */
export interface ReduceOptions {
  /** Whether the reduced dims stay, with size 1. */
  keepdim?: boolean;
}

/** Options of sums. */
export interface SumOptions extends ReduceOptions {
  /** The result's dtype; x is cast first. */
  dtype?: DType;
}

/** Options of chunks(). */
export interface ChunkOptions extends WaitOptions {
  /** The elements of a piece; as many as fill a MiB if left out. */
  elements?: number;
}

const CHUNK_BYTES = 1024 * 1024;
export const symbolDispose: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for("Symbol.dispose") as never);

// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging
export interface Tensor<D extends DType = DType> extends PlainMethods {}

/** A tensor in the daemon. Ops on it return at once and run there; data(), item() and tolist() wait. */
export class Tensor<D extends DType = DType> {
  /** @internal */
  _pointer: number;
  private known: { dtype: DType; shape: readonly number[] } | undefined;
  private gradKnown: Tensor | undefined;

  /** @internal Takes over the reference. */
  constructor(
    /** The connection that it belongs to. */
    readonly burn: Burn, pointer: number) {
    this._pointer = pointer;
    burn._adopt(this);
  }

  // ---- what it is ----

  private type(): { dtype: DType; shape: readonly number[] } {
    if (!this.known) {
      const { dtype, shape } = this.burn._core.type(this._live());
      this.known = { dtype: dtypeOf(dtype), shape: Object.freeze(shape) };
    }
    return this.known;
  }

  /** @internal The pointer; an error if it was disposed of. */
  _live(): number {
    if (this._pointer === 0) throw invalid("the tensor was disposed of");
    return this._pointer;
  }

  /** Sizes of the dims. */
  get shape(): readonly number[] {
    return this.type().shape;
  }

  /** Element type. */
  get dtype(): D {
    return this.type().dtype as D;
  }

  /** Number of dims. */
  get rank(): number {
    return this.shape.length;
  }

  /** Number of elements. */
  get size(): number {
    return elements(this.shape);
  }

  /** Whether dispose() was called. */
  get disposed(): boolean {
    return this._pointer === 0;
  }

  /** Gives the daemon's memory back, if no other tensor needs it. Twice is fine. */
  dispose(): void {
    this.gradKnown?.dispose();
    this.burn._release(this);
  }

  /** `using x = …` disposes of x at the end of the block. */
  [symbolDispose](): void {
    this.dispose();
  }

  /** For messages: dtype and shape; no elements, which would have to be awaited. */
  toString(): string {
    return this.disposed ? "Tensor(disposed)" : `Tensor(${this.dtype}, [${this.shape.join(", ")}])`;
  }

  /** What console.log shows in Node. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }

  // ---- reading ----

  /** All elements, row-major: float64 as Float64Array and so on; int64 as BigInt64Array, bools as 0 and 1 in a
   * Uint8Array, 16-bit floats as their bits in a Uint16Array. */
  async data(options?: WaitOptions): Promise<ArrayOf[D]> {
    options?.signal?.throwIfAborted();
    const row = DTYPES[this.dtype], count = this.size;
    const buffer = new ArrayBuffer(row.bytes * count);
    await this.burn._connection.get(this.burn._core.id(this._live()), new Uint8Array(buffer), options);
    return new row.array(buffer) as ArrayOf[D];
  }

  /** All elements, as data() gives them, in pieces one behind the other: for tensors that need not be held whole. They are
   * those of this moment. While one piece is looked at, the next one is under way. */
  chunks(options: ChunkOptions = {}): AsyncGenerator<ArrayOf[D], void, void> {
    const count = options.elements ?? CHUNK_BYTES / DTYPES[this.dtype].bytes;
    if (!Number.isInteger(count) || count < 1) throw invalid(`chunks: pieces of ${count} elements`);
    const { burn } = this, flat = burn._outside(() => burn.noGrad(() => {
      const copy = burn._one("clone", [this], []);
      const result = copy.reshape(-1);
      copy.dispose();
      return result;
    }));
    return pieces(flat as Tensor<D>, count, options);
  }

  /** The only element. An integer beyond 2^53 is an error: data() gives it as a bigint. */
  async item(options?: WaitOptions): Promise<[D] extends ["bool"] ? boolean : number> {
    if (this.size !== 1) throw invalid(`item() is of tensors with one element; this one has the shape [${this.shape.join(", ")}]`);
    return plain(valueAt(this.dtype, await this.data(options), 0)) as [D] extends ["bool"] ? boolean : number;
  }

  /** The elements as arrays within arrays; integers beyond 2^53 are an error. */
  async tolist(options?: WaitOptions): Promise<NestedValues> {
    const { dtype, shape } = this.type();
    return nest(dtype, shape, await this.data(options), plain);
  }

  // ---- gradients ----

  /** Whether gradients reach it. */
  get requiresGrad(): boolean {
    return this.burn._core.exports.requires_grad(this._live()) !== 0;
  }

  /** Only of leaves: tensors that no op with a gradient made. */
  set requiresGrad(flag: boolean) {
    this.burn._core.check(this.burn._core.exports.set_requires_grad(this._live(), flag ? 1 : 0));
  }

  /** Whether no op with a gradient made it. */
  get isLeaf(): boolean {
    return this.burn._core.exports.is_leaf(this._live()) !== 0;
  }

  /** What backward() has added up here; null before. Assign null to begin anew. */
  get grad(): Tensor | null {
    const pointer = this.burn._core.exports.grad(this._live());
    if (this.gradKnown?._pointer !== pointer) this.gradKnown = this.burn._outside(() => this._grad()) ?? undefined;
    return this.gradKnown ?? null;
  }

  /** @internal A handle of one's own, which belongs to the tidy() around. */
  _grad(): Tensor | null {
    const pointer = this.burn._core.exports.grad(this._live());
    if (pointer === 0) return null;
    this.burn._core.exports.retain(pointer);
    return new Tensor(this.burn, pointer);
  }

  set grad(grad: Tensor | null) {
    this.burn._core.check(this.burn._core.exports.set_grad(this._live(), grad ? this.burn._pointer(grad) : 0));
    this.gradKnown = undefined;
  }

  /** Makes backward() keep the gradient of a tensor that is no leaf. */
  retainGrad(): this {
    this.burn._core.check(this.burn._core.exports.retain_grad(this._live()));
    return this;
  }

  /** Adds the gradients of this tensor to the `grad` of every leaf that it depends on.
   * @param gradient its own gradient; may be left out for one element, which is 1
   * @param options retainGraph: backward() can be called again; createGraph: gradients are differentiable themselves */
  backward(gradient?: Tensor | null, options?: { retainGraph?: boolean; createGraph?: boolean; inputs?: readonly Tensor[] }): void {
    this.burn.backward([this], { ...options, gradients: [gradient ?? null] });
  }

  /** The same elements without a history; shares with this one. */
  detach(): Tensor<D> {
    return new Tensor<D>(this.burn, this.burn._core.detach(this._live()));
  }

  // ---- changing ----

  /** Takes the elements of the source, broadcast to this shape; what shares with it changes too. An in-place op is an
   * op and this. Not allowed for leaves that require a gradient, but within noGrad(). */
  assign(source: Operand): this {
    this.burn._core.assign(this._live(), this.burn._operand(source, isFloat(this.dtype)), 1);
    this.burn._connection.recorded();
    return this;
  }

  // ---- shapes ----

  /** The same elements in another shape; one size may be -1. */
  reshape(...shape: number[] | [readonly number[]]): Tensor<D> {
    return this.view("reshape", resolveShape(this.shape, listed(shape)));
  }

  /** One dim from `start` to `end`, both included. */
  flatten(start = 0, end = -1): Tensor<D> {
    const first = wrapDim(start, this.rank), last = wrapDim(end, this.rank), shape = this.shape;
    if (this.rank === 0) return this.view("reshape", [1]);
    if (first > last) throw invalid(`flatten: dim ${start} comes after dim ${end}`);
    return this.view("reshape", [...shape.slice(0, first), elements(shape.slice(first, last + 1)), ...shape.slice(last + 1)]);
  }

  /** Without the dims of size 1, or without this one, if it has. */
  squeeze(dim?: number): Tensor<D> {
    const at = dim === undefined ? -1 : wrapDim(dim, this.rank);
    return this.view("reshape", this.shape.filter((n, i) => n !== 1 || (at !== -1 && i !== at)));
  }

  /** With a new dim of size 1. */
  unsqueeze(dim: number): Tensor<D> {
    const at = wrapDim(dim, this.rank + 1);
    return this.view("reshape", [...this.shape.slice(0, at), 1, ...this.shape.slice(at)]);
  }

  /** The dims in another order. */
  permute(...dims: number[] | [readonly number[]]): Tensor<D> {
    return this.view("permute", listed(dims).map((dim) => wrapDim(dim, this.rank)));
  }

  /** Two dims swapped. */
  transpose(a: number, b: number): Tensor<D> {
    const dims = this.shape.map((_, i) => i), first = wrapDim(a, this.rank), second = wrapDim(b, this.rank);
    [dims[first], dims[second]] = [second, first];
    return this.view("permute", dims);
  }

  /** The dims in reverse order; of a matrix its transpose. */
  get T(): Tensor<D> {
    return this.view("permute", this.shape.map((_, i) => this.rank - 1 - i));
  }

  /** Dims of size 1, and new leading ones, repeated to the shape; -1 keeps a size. */
  expand(...shape: number[] | [readonly number[]]): Tensor<D> {
    const wanted = listed(shape), extra = wanted.length - this.rank;
    return this.view("expand", wanted.map((n, i) => (n === -1 && i >= extra ? this.shape[i - extra]! : n)));
  }

  private view(op: string, list: readonly number[]): Tensor<D> {
    return this.burn._one(op, [this], [list]) as Tensor<D>;
  }

  /** Part of it: for each dim an integer (the dim goes), a range [start?, stop?, step?] or an integer tensor (one at
   * most); null adds a dim of size 1. Negative numbers count from the end; what is not said is taken whole. */
  at(...indices: Index[]): Tensor<D> {
    return indexed(this, indices) as Tensor<D>;
  }

  /** Consecutive parts of a dim: of the given size, or sizes. */
  split(size: number | readonly number[], dim = 0): Tensor<D>[] {
    const at = wrapDim(dim, this.rank), n = this.shape[at]!;
    if (typeof size === "number" && !(Number.isInteger(size) && size > 0)) throw invalid(`split: parts of size ${size}`);
    const sizes = typeof size === "number"
      ? Array.from({ length: Math.max(1, Math.ceil(n / size)) }, (_, i) => Math.min(size, n - i * size)) : size;
    return this.burn._apply("split", [this], [sizes, at]) as Tensor<D>[];
  }

  /** The order of elements turned round in the dims. */
  flip(...dims: number[]): Tensor<D> {
    return this.burn._one("flip", [this], [dimList(dims, this.rank)]) as Tensor<D>;
  }

  /** In another dtype. Floats are cut to integers towards zero. */
  to<N extends DType>(dtype: N): Tensor<N> {
    return (this.dtype as DType) === dtype ? this as unknown as Tensor<N>
      : this.burn._one("cast", [this], [dtypeNumber(dtype)]) as Tensor<N>;
  }

  // ---- reductions ----

  private reduce(op: string, dim: number | readonly number[] | undefined, keepdim: boolean | undefined,
                 more: (Operand | CoreOperand)[] = [], last: number[] = []): Tensor {
    const dims = dim === undefined ? [] : dimList(typeof dim === "number" ? [dim] : dim, this.rank);
    return this.burn._one(op, [this, ...more], [dims, keepdim ? 1 : 0, ...last]);
  }

  /** The sum over a dim, several, or all. Integers and bools give int64 unless a dtype is named. */
  sum(dim?: number | readonly number[], options?: SumOptions): Tensor {
    return this.reduce("sum", dim, options?.keepdim, [], [options?.dtype ? dtypeNumber(options.dtype) : 0]);
  }

  /** The mean over a dim, several, or all. */
  mean(dim?: number | readonly number[], options?: SumOptions): Tensor {
    return this.reduce("mean", dim, options?.keepdim, [], [options?.dtype ? dtypeNumber(options.dtype) : 0]);
  }

  /** The product over a dim, several, or all. */
  prod(dim?: number | readonly number[], options?: SumOptions): Tensor {
    return this.reduce("prod", dim, options?.keepdim, [], [options?.dtype ? dtypeNumber(options.dtype) : 0]);
  }

  /** The largest over a dim, several, or all. */
  max(dim?: number | readonly number[], options?: ReduceOptions): Tensor<D> {
    return this.reduce("max", dim, options?.keepdim) as Tensor<D>;
  }

  /** The smallest over a dim, several, or all. */
  min(dim?: number | readonly number[], options?: ReduceOptions): Tensor<D> {
    return this.reduce("min", dim, options?.keepdim) as Tensor<D>;
  }

  /** The position of the largest along a dim, or among all elements. */
  argmax(dim?: number, options?: ReduceOptions): Tensor<"int64"> {
    return this.reduce("argmax", dim, options?.keepdim) as Tensor<"int64">;
  }

  /** The position of the smallest along a dim, or among all elements. */
  argmin(dim?: number, options?: ReduceOptions): Tensor<"int64"> {
    return this.reduce("argmin", dim, options?.keepdim) as Tensor<"int64">;
  }

  /** Whether any element is nonzero. */
  any(dim?: number | readonly number[], options?: ReduceOptions): Tensor {
    return this.reduce("any", dim, options?.keepdim);
  }

  /** Whether all elements are nonzero. */
  all(dim?: number | readonly number[], options?: ReduceOptions): Tensor {
    return this.reduce("all", dim, options?.keepdim);
  }

  /** The variance: squared deviations divided by the count less the correction, which is 1 at first. */
  var(dim?: number | readonly number[], options?: ReduceOptions & { correction?: number }): Tensor {
    return this.reduce("var", dim, options?.keepdim, [weak(options?.correction ?? 1, false)]);
  }

  /** The square root of the variance. */
  std(dim?: number | readonly number[], options?: ReduceOptions & { correction?: number }): Tensor {
    return this.reduce("std", dim, options?.keepdim, [weak(options?.correction ?? 1, false)]);
  }

  /** log(sum(exp(x))) without overflow. */
  logsumexp(dim: number | readonly number[], options?: ReduceOptions): Tensor {
    return this.reduce("logsumexp", dim, options?.keepdim);
  }

  /** The square root of the sum of squares. */
  norm(dim?: number | readonly number[], options?: ReduceOptions): Tensor {
    return this.square().sum(dim, options).sqrt();
  }

  // ---- along a dim ----

  private along(op: string, dim: number, more: Operand[] = [], last: number[] = []): Tensor {
    return this.burn._one(op, [this, ...more], [wrapDim(dim, this.rank), ...last]);
  }

  /** exp(x) over its sum along the dim. */
  softmax(dim: number): Tensor {
    return this.along("softmax", dim);
  }

  /** The logarithm of softmax, without overflow. */
  logSoftmax(dim: number): Tensor {
    return this.along("log_softmax", dim);
  }

  /** Running sums. */
  cumsum(dim: number): Tensor {
    return this.along("cumsum", dim, [], [0]);
  }

  /** Running products. */
  cumprod(dim: number): Tensor {
    return this.along("cumprod", dim, [], [0]);
  }

  /** In order along the dim, and where each stood. Equal elements keep their order. */
  sort(dim = -1, options?: { descending?: boolean }): { values: Tensor<D>; indices: Tensor<"int64"> } {
    const [values, indices] = this.burn._apply("sort", [this], [wrapDim(dim, this.rank), options?.descending ? 1 : 0]);
    return { values: values as Tensor<D>, indices: indices as Tensor<"int64"> };
  }

  /** The k largest along the dim (or smallest), in order, and where they stood. */
  topk(k: number, dim = -1, options?: { largest?: boolean }): { values: Tensor<D>; indices: Tensor<"int64"> } {
    const at = wrapDim(dim, this.rank), sorted = this.sort(at, { descending: options?.largest ?? true });
    if (!(k >= 0 && k <= this.shape[at]!)) throw invalid(`topk: ${k} of ${this.shape[at]} elements`);
    const first = this.shape.map((_, i): Index => (i === at ? [0, k] : []));
    return { values: sorted.values.at(...first), indices: sorted.indices.at(...first) };
  }

  /** out[i][j] = x[i][index[i][j]] for dim 1. */
  gather(dim: number, index: Tensor): Tensor<D> {
    return this.along("gather", dim, [index]) as Tensor<D>;
  }

  /** Slices in the order of an index of any rank. Negative indices count from the end. */
  take(dim: number, index: Tensor): Tensor<D> {
    return this.along("take", dim, [index], [1]) as Tensor<D>;
  }

  /** x plus src at the places that gather would read. */
  scatterAdd(dim: number, index: Tensor, src: Operand): Tensor<D> {
    return this.along("scatter_add", dim, [index, src]) as Tensor<D>;
  }

  // ---- products and the rest ----

  /** The matrix product of the last two dims; leading dims broadcast. */
  matmul(other: Tensor): Tensor {
    return this.burn._one("matmul", [this, other], []);
  }

  /** To the power of another. */
  pow(other: Operand): Tensor {
    const form = other === 2 ? "square" : other === 0.5 ? "sqrt" : other === -1 ? "reciprocal" : "pow";
    return this.burn._one(form, form === "pow" ? [this, other] : [this], []);
  }

  /** Held between low and high, of which one may be null. */
  clamp(low: Operand | null, high: Operand | null = null): Tensor {
    return this.burn._one("clamp", [this, low, high], []);
  }

  /** x * Φ(x); approximate: by tanh. */
  gelu(options?: { approximate?: boolean }): Tensor {
    return this.burn._one("gelu", [this], [options?.approximate ? 1 : 0]);
  }

  /** x * sigmoid(x). */
  silu(): Tensor {
    return this.burn._one("silu", [this], []);
  }

  /** The value where the mask holds, else x. */
  maskedFill(mask: Tensor, value: Operand): Tensor<D> {
    return this.burn._one("masked_fill", [this, mask, value], []) as Tensor<D>;
  }

  /** The last two dims keep what lies on and below the diagonal. */
  tril(diagonal = 0): Tensor<D> {
    return this.burn._one("tril", [this], [diagonal]) as Tensor<D>;
  }

  /** The last two dims keep what lies on and above the diagonal. */
  triu(diagonal = 0): Tensor<D> {
    return this.burn._one("triu", [this], [diagonal]) as Tensor<D>;
  }

  /** Elements of the value before and after, for each dim. */
  pad(low: readonly number[], high: readonly number[], value: Operand = 0): Tensor<D> {
    return this.burn._one("pad", [this, value], [low, high]) as Tensor<D>;
  }

  /** 1 at the place of the integer in a new last dim, else 0. */
  oneHot(classes: number): Tensor<"int64"> {
    return this.burn._one("one_hot", [this], [classes]) as Tensor<"int64">;
  }
}

function listed(list: number[] | [readonly number[]]): readonly number[] {
  return Array.isArray(list[0]) ? list[0] : list as number[];
}

/** A bigint as a number. */
function plain(value: number | bigint | boolean): number | boolean {
  if (typeof value !== "bigint") return value;
  if (!Number.isSafeInteger(Number(value)))
    throw new BurnError("LIMIT", `${value} is no exact number of JavaScript; data() gives bigints`);
  return Number(value);
}

/** An operand for the core that is no tensor. */
export function weak(value: number | boolean | bigint, float: boolean): CoreOperand {
  if (typeof value === "boolean") return { kind: Kind.BOOL, value: value ? 1 : 0 };
  if (typeof value === "bigint") return { kind: Kind.INT, value };
  if (typeof value !== "number") throw invalid(`expected a tensor or a number, not ${kindOf(value)}`);
  return float || !Number.isSafeInteger(value) ? { kind: Kind.FLOAT, value } : { kind: Kind.INT, value };
}

/** The pieces of a flat tensor, which is disposed of. */
async function* pieces<D extends DType>(flat: Tensor<D>, count: number, options: WaitOptions): AsyncGenerator<ArrayOf[D], void, void> {
  const { burn, size } = flat;
  const read = (from: number): Promise<ArrayOf[D]> => {
    const part = burn._outside(() => flat.at([from, from + count])), data = part.data(options);
    if (part !== flat) part.dispose();
    data.catch(() => {}); // whoever awaits it is told
    return data;
  };
  try {
    let next = size > 0 ? read(0) : undefined;
    for (let from = count; next; from += count) {
      const piece = await next;
      next = from < size ? read(from) : undefined;
      yield piece;
    }
  } finally {
    flat.dispose();
  }
}
