// SPDX-License-Identifier: Apache-2.0
// Arithmetic of dims and shapes, and indexing by ops.
import { elements } from "./dtypes.js";
import { invalid } from "./errors.js";
import type { Tensor } from "./tensor.js";

/** One index of Tensor.at(): an integer, a range [start?, stop?, step?], an integer tensor, or null for a new dim. */
export type Index = number | null | readonly [start?: number | null, stop?: number | null, step?: number] | Tensor;

/** A dim counted from the front. */
export function wrapDim(dim: number, rank: number): number {
  const room = Math.max(rank, 1);
  if (!Number.isInteger(dim) || dim < -room || dim >= room)
    throw invalid(`there is no dim ${dim} of ${rank}; dims go from ${-room} to ${room - 1}`);
  return dim < 0 ? dim + room : dim;
}

export function dimList(dims: readonly number[], rank: number): number[] {
  return dims.map((dim) => wrapDim(dim, rank));
}

/** The shape with its -1 worked out. */
export function resolveShape(from: readonly number[], to: readonly number[]): number[] {
  const count = elements(from), known = elements(to.filter((n) => n !== -1));
  const open = to.filter((n) => n === -1).length;
  if (open > 1 || to.some((n) => !Number.isInteger(n) || n < -1) ||
      (open === 1 ? known === 0 || count % known !== 0 : known !== count))
    throw invalid(`a tensor of shape [${from.join(", ")}] cannot take the shape [${to.join(", ")}]`);
  return to.map((n) => (n === -1 ? count / known : n));
}

function clip(value: number, size: number): number {
  return Math.min(Math.max(value < 0 ? value + size : value, 0), size);
}

/** Tensor.at(). */
export function indexed(x: Tensor, indices: readonly Index[]): Tensor {
  const starts: number[] = [], stops: number[] = [], steps: number[] = [], shape: number[] = [];
  let dim = 0, taken: { at: number; index: Tensor } | undefined;
  for (const index of indices) {
    if (index === null) {
      shape.push(1);
      continue;
    }
    const size = x.shape[dim++];
    if (size === undefined) throw invalid(`${indices.filter((i) => i !== null).length} indices for ${x.rank} dims`);
    let start = 0, stop = size, step = 1;
    if (typeof index === "number") {
      if (!Number.isInteger(index) || index < -size || index >= size)
        throw invalid(`index ${index} is out of range for dim ${dim - 1}, which has the size ${size}`);
      start = index < 0 ? index + size : index;
      stop = start + 1;
    } else if (Array.isArray(index)) {
      const [from, to, by] = index as [number?, number?, number?];
      step = by ?? 1;
      if (!Number.isInteger(step) || step < 1) throw invalid(`a step of ${step}; steps are at least 1, flip() turns round`);
      start = clip(from ?? 0, size);
      stop = Math.max(start, clip(to ?? size, size));
      shape.push(Math.ceil((stop - start) / step));
    } else {
      if (taken) throw invalid("at() takes one tensor as an index; ops.takeNd takes several");
      taken = { at: shape.length, index: index as Tensor };
      shape.push(size);
    }
    starts.push(start);
    stops.push(stop);
    steps.push(step);
  }
  for (; dim < x.rank; dim++) {
    const size = x.shape[dim]!;
    starts.push(0);
    stops.push(size);
    steps.push(1);
    shape.push(size);
  }
  const whole = starts.every((start, i) => start === 0 && stops[i] === x.shape[i] && steps[i] === 1);
  let part = whole ? x : x.burn._one("slice", [x], [starts, stops, steps]);
  if (shape.length !== part.rank || shape.some((n, i) => n !== part.shape[i]))
    part = part.burn._one("reshape", [part], [shape]);
  return taken ? part.take(taken.at, taken.index) : part;
}
