// SPDX-License-Identifier: Apache-2.0
// Tensors within arrays and plain objects.
import { Tensor } from "./tensor.js";

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The same structure with each tensor replaced by what the function gives. */
export function mapTensors(value: unknown, f: (tensor: Tensor) => unknown): unknown {
  if (value instanceof Tensor) return f(value);
  if (Array.isArray(value)) return value.map((item) => mapTensors(item, f));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTensors(item, f)]));
}

/** All tensors in it, in order. */
export function tensorsIn(value: unknown): Tensor[] {
  const found: Tensor[] = [];
  mapTensors(value, (tensor) => found.push(tensor));
  return found;
}
