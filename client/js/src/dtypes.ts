// SPDX-License-Identifier: Apache-2.0
// Element types: names, numbers on the wire, typed arrays, and the way between nested arrays and bytes. The numbers are
// those of proto/dtypes.def (a test compares).
import { BurnError, invalid } from "./errors.js";

/** Element types. */
export type DType =
  | "float64" | "float32" | "float16" | "bfloat16" | "int64" | "int32" | "int16" | "int8"
  | "uint64" | "uint32" | "uint16" | "uint8" | "bool";

/** The typed array that holds the elements of a dtype: 16-bit floats as their bits, bools as 0 and 1. */
export interface ArrayOf {
  float64: Float64Array<ArrayBuffer>;
  float32: Float32Array<ArrayBuffer>;
  float16: Uint16Array<ArrayBuffer>;
  bfloat16: Uint16Array<ArrayBuffer>;
  int64: BigInt64Array<ArrayBuffer>;
  int32: Int32Array<ArrayBuffer>;
  int16: Int16Array<ArrayBuffer>;
  int8: Int8Array<ArrayBuffer>;
  uint64: BigUint64Array<ArrayBuffer>;
  uint32: Uint32Array<ArrayBuffer>;
  uint16: Uint16Array<ArrayBuffer>;
  uint8: Uint8Array<ArrayBuffer>;
  bool: Uint8Array<ArrayBuffer>;
}

/** Any typed array that a tensor can be made of. */
export type TypedArray =
  | Float64Array | Float32Array | BigInt64Array | Int32Array | Int16Array | Int8Array
  | BigUint64Array | Uint32Array | Uint16Array | Uint8Array | Uint8ClampedArray;

/** Numbers, bools or bigints, in arrays within arrays of equal lengths. */
export type Nested = number | boolean | bigint | readonly Nested[];

/** What tolist() gives. */
export type NestedValues = number | boolean | NestedValues[];

type Constructor = new (buffer: ArrayBuffer) => ArrayOf[DType];
interface Row { number: number; bytes: number; array: Constructor }

/** Every dtype once. */
export const DTYPES: Record<DType, Row> = {
  float64: { number: 1, bytes: 8, array: Float64Array },
  float32: { number: 2, bytes: 4, array: Float32Array },
  float16: { number: 3, bytes: 2, array: Uint16Array },
  bfloat16: { number: 4, bytes: 2, array: Uint16Array },
  int64: { number: 5, bytes: 8, array: BigInt64Array },
  int32: { number: 6, bytes: 4, array: Int32Array },
  int16: { number: 7, bytes: 2, array: Int16Array },
  int8: { number: 8, bytes: 1, array: Int8Array },
  uint64: { number: 9, bytes: 8, array: BigUint64Array },
  uint32: { number: 10, bytes: 4, array: Uint32Array },
  uint16: { number: 11, bytes: 2, array: Uint16Array },
  uint8: { number: 12, bytes: 1, array: Uint8Array },
  bool: { number: 13, bytes: 1, array: Uint8Array },
};
const NAMES = Object.keys(DTYPES) as DType[];

/** The dtype of a number on the wire. */
export function dtypeOf(number: number): DType {
  return NAMES[number - 1]!;
}

/** The number of a dtype; an error that lists them for any other name. */
export function dtypeNumber(dtype: DType): number {
  const row = DTYPES[dtype] as Row | undefined;
  if (!row) throw invalid(`there is no dtype "${String(dtype)}"; there are ${NAMES.join(", ")}`);
  return row.number;
}

export function isFloat(dtype: DType): boolean {
  return dtype.includes("float");
}

/** The dtype that a typed array has as a tensor. */
export function dtypeOfArray(array: TypedArray): DType {
  if (array instanceof Uint8ClampedArray) return "uint8";
  const name = NAMES.find((dtype) => dtype !== "float16" && dtype !== "bfloat16" && array instanceof DTYPES[dtype].array);
  if (!name) throw invalid(`a ${Object.prototype.toString.call(array)} cannot become a tensor`);
  return name;
}

export function isTypedArray(value: unknown): value is TypedArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

/** Number of elements of a shape. */
export function elements(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}

// ---- 16-bit floats ----

const float = new Float32Array(1), bits = new Uint32Array(float.buffer);

/** The bits of the nearest bfloat16, halves to even. */
function toBfloat16(value: number): number {
  float[0] = value;
  const word = bits[0]!;
  if (value !== value) return (word >>> 16) | 0x40;
  return ((word + 0x7fff + ((word >>> 16) & 1)) >>> 16) & 0xffff;
}

function fromBfloat16(half: number): number {
  bits[0] = half << 16;
  return float[0]!;
}

/** The bits of the nearest float16, halves to even, straight from a double. */
function toFloat16(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0, size = Math.abs(value);
  if (size !== size) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size)));
  let step = 2 ** (exponent - 10), count = size / step;
  if (size !== 0 && exponent > -14 && count < 1024) { // Math.log2 rounded up to the next power
    step /= 2;
    count = size / step;
  }
  const low = Math.floor(count), rest = count - low;
  const rounded = (low + (rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? 1 : 0)) * step;
  if (rounded < 2 ** -14) return sign | Math.round(rounded / 2 ** -24);
  const power = Math.floor(Math.log2(rounded));
  return sign | ((power + 15) << 10) + Math.round((rounded / 2 ** power - 1) * 1024);
}

function fromFloat16(half: number): number {
  const exponent = (half >> 10) & 31, fraction = half & 1023, sign = half & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24);
}

// ---- values ----

/** One element as JavaScript's value: 16-bit floats as numbers, bools as booleans, 64-bit integers as bigints. */
export function valueAt(dtype: DType, array: ArrayOf[DType], index: number): number | bigint | boolean {
  const value = array[index]!;
  if (dtype === "float16") return fromFloat16(value as number);
  if (dtype === "bfloat16") return fromBfloat16(value as number);
  return dtype === "bool" ? value !== 0 : value;
}

/** The elements, through a function, as arrays within arrays. */
export function nest(dtype: DType, shape: readonly number[], array: ArrayOf[DType],
                     form: (value: number | bigint | boolean) => number | boolean): NestedValues {
  let next = 0;
  const level = (depth: number): NestedValues =>
    depth === shape.length ? form(valueAt(dtype, array, next++)) : Array.from({ length: shape[depth]! }, () => level(depth + 1));
  return level(0);
}

/** "a number", "an object", "null". */
export function kindOf(value: unknown): string {
  const kind = typeof value;
  return value === null ? "null" : `${/^[uo]/.test(kind) ? "an" : "a"} ${kind}`;
}

/** A tensor's dims at most, as BURN_RANK_MAX of proto/shape.h. */
const RANK_MAX = 16;

/** Shape and elements of arrays within arrays. */
function flatten(data: Nested): { shape: number[]; flat: (number | boolean | bigint)[] } {
  const shape: number[] = [], flat: (number | boolean | bigint)[] = [];
  for (let at: Nested = data; Array.isArray(at); at = at[0] as Nested) {
    if (shape.push(at.length) > RANK_MAX) throw invalid(`arrays nested more than ${RANK_MAX} deep: a tensor has at most ${RANK_MAX} dims`);
    if (at.length === 0) break;
  }
  const walk = (value: Nested, depth: number): void => {
    if (Array.isArray(value)) {
      if (depth >= shape.length || value.length !== shape[depth])
        throw invalid(`nested arrays of unequal lengths: expected ${shape[depth] ?? "a number"} at depth ${depth}, got ${value.length} items`);
      for (const item of value as readonly Nested[]) walk(item, depth + 1);
    } else if (depth < shape.length) {
      throw invalid(`nested arrays of unequal depth: ${kindOf(value)} where an array of ${shape[depth]} is expected`);
    } else if (typeof value !== "number" && typeof value !== "boolean" && typeof value !== "bigint") {
      throw invalid(`${kindOf(value)} is no element of a tensor; numbers, booleans and bigints are`);
    } else {
      flat.push(value);
    }
  };
  walk(data, 0);
  return { shape, flat };
}

function guess(flat: readonly (number | boolean | bigint)[]): DType {
  if (flat.length > 0 && flat.every((value) => typeof value === "boolean")) return "bool";
  return flat.length > 0 && flat.every((value) => typeof value === "bigint") ? "int64" : "float32";
}

/** The same elements in memory of their own: Node's Buffer and other subclasses slice() as they like. */
function copyOf(array: TypedArray): ArrayOf[DType] {
  const copy: new (from: TypedArray) => ArrayOf[DType] = DTYPES[dtypeOfArray(array)].array as never;
  try {
    return new copy(array);
  } catch (error) {
    throw new BurnError("INVALID", "the array has no elements any more: its buffer was transferred, or has become too small", { cause: error });
  }
}

/** The elements in a dtype. What an integer dtype does not hold is an error; fractions are cut. */
export function fill(dtype: DType, flat: ArrayLike<number | boolean | bigint>): ArrayOf[DType] {
  const row = DTYPES[dtype], array = new row.array(new ArrayBuffer(row.bytes * flat.length)), whole = !isFloat(dtype);
  const refuse = (value: unknown): never => { throw invalid(`${String(value)} cannot be an element of dtype ${dtype}`); };
  for (let i = 0; i < flat.length; i++) {
    const value = flat[i]!;
    if (array instanceof BigInt64Array || array instanceof BigUint64Array) {
      const exact = typeof value !== "number" ? BigInt(value) : Number.isFinite(value) ? BigInt(Math.trunc(value)) : refuse(value);
      array[i] = exact;
      if (array[i] !== exact) refuse(value);
    } else if (dtype === "bool") array[i] = Number(value) !== 0 ? 1 : 0;
    else if (dtype === "float16") array[i] = toFloat16(Number(value));
    else if (dtype === "bfloat16") array[i] = toBfloat16(Number(value));
    else {
      array[i] = Number(value);
      if (whole && array[i] !== Math.trunc(Number(value))) refuse(value);
    }
  }
  return array;
}

/** Data of a tensor to be: bytes that nobody else changes, dtype and shape. */
export interface Elements { bytes: Uint8Array; dtype: DType; shape: readonly number[] }

/** From what tensor() takes. A typed array keeps its dtype and is copied; plain numbers become float32, booleans bool,
 * bigints int64, unless a dtype is named. */
export function elementsOf(data: Nested | TypedArray, shape?: readonly number[], dtype?: DType): Elements {
  let array: ArrayOf[DType], own: readonly number[];
  if (dtype !== undefined) dtypeNumber(dtype);
  if (isTypedArray(data)) {
    const bits16 = (dtype === "float16" || dtype === "bfloat16") && data instanceof Uint16Array;
    const wanted = dtype ?? dtypeOfArray(data), copy = copyOf(data);
    own = [copy.length];
    array = bits16 || wanted === dtypeOfArray(data) ? copy : fill(wanted, copy);
    dtype = wanted;
  } else {
    const flat = flatten(data);
    dtype ??= guess(flat.flat);
    own = flat.shape;
    array = fill(dtype, flat.flat);
  }
  const final = shape ?? own;
  if (elements(final) !== array.length)
    throw invalid(`${array.length} elements do not fill the shape [${final.join(", ")}], which has ${elements(final)}`);
  return { bytes: new Uint8Array(array.buffer, array.byteOffset, array.byteLength), dtype, shape: final };
}
