// SPDX-License-Identifier: Apache-2.0
// jit: a function of tensors as a program that the daemon keeps and runs at one message.
import type { Burn } from "./burn.js";
import { invalid } from "./errors.js";
import { tracing } from "./optim.js";
import { mapTensors, tensorsIn } from "./structure.js";
import { Tensor } from "./tensor.js";

/** See Burn.jit. */
export interface Jit {
  /** Traces the function at its first call for each signature, then calls the daemon's copy. The signature is the
   * arguments' structure, their other values, the tensors' shapes and dtypes, and whether gradients are on. Inside,
   * tensors from outside may be read and assigned (parameters, optimizer state); values cannot be awaited. JavaScript in
   * the function runs while tracing only. */
  <F extends (...args: never[]) => unknown>(f: F, options?: { name?: string }): F;
}

/** A recorded function. */
export interface Program {
  pointer: number;
  /** What the function returned, with tensors as places among the outputs. */
  result: unknown;
  /** Arguments that it assigns to; their new elements follow the outputs. */
  changed: number[];
  endsStep: boolean;
  failure: unknown;
}

class Place {
  constructor(readonly index: number) {}
}

/** What a call is known by, apart from its tensors' elements. */
function signature(burn: Burn, args: unknown[], inputs: Tensor[]): string {
  let next = 0;
  const form = mapTensors(args, () => new Place(next++));
  const text = JSON.stringify(form, (_, value: unknown) => {
    if (value instanceof Place) return `tensor ${value.index}`;
    if (typeof value === "bigint") return `bigint ${value}`;
    if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))) return `number ${Object.is(value, -0) ? "-0" : value}`;
    if (typeof value === "function" || typeof value === "symbol")
      throw invalid(`a ${typeof value} cannot be an argument of a jit function: pass tensors, numbers, text, or arrays and objects of these`);
    return value;
  });
  return `${text} ${burn.isGradEnabled} ${inputs.map((x) => `${x.dtype}[${x.shape.join()}]`).join()}`;
}

/** Records the function with the arguments. */
export function trace(burn: Burn, f: (...args: never[]) => unknown, args: unknown[], inputs: Tensor[], name: string): Program {
  const core = burn._core;
  return burn._outside(() => tracing(burn, (endsStep) => {
    const standIns = core.programBegin(inputs.map((t) => burn._pointer(t))).map((pointer) => new Tensor(burn, pointer));
    try {
      let next = 0;
      const outputs: Tensor[] = [];
      const returned = f(...mapTensors(args, () => standIns[next++]!) as never[]);
      if (returned instanceof Promise) throw invalid("a jit function must not wait: it is recorded, not run");
      const result = mapTensors(returned, (tensor) => new Place(outputs.push(tensor) - 1));
      const changed = standIns.flatMap((standIn, i) => (core.exports.version(standIn._live()) > 0 ? [i] : []));
      outputs.push(...changed.map((i) => standIns[i]!.detach()));
      const { program, request } = core.programEnd(outputs.map((t) => burn._pointer(t)), name);
      const made: Program = { pointer: program, result, changed, endsStep: endsStep(), failure: undefined };
      burn._connection.request(request).catch((error: unknown) => { made.failure = error; });
      return made;
    } catch (error) {
      core.exports.program_abort();
      throw error;
    }
  }));
}

function restore(value: unknown, outputs: Tensor[]): unknown {
  if (value instanceof Place) return outputs[value.index];
  if (Array.isArray(value)) return value.map((item) => restore(item, outputs));
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, restore(item, outputs)]));
  return value;
}

export function createJit(burn: Burn): Jit {
  return <F extends (...args: never[]) => unknown>(f: F, options?: { name?: string }): F => {
    const programs = new Map<string, Program>(), name = options?.name ?? (f.name || "program");
    const called = (...args: unknown[]): unknown => {
      burn._connection.check();
      const inputs = tensorsIn(args), key = signature(burn, args, inputs);
      let program = programs.get(key);
      if (!program) {
        program = trace(burn, f, args, inputs, name);
        programs.set(key, program);
      }
      if (program.failure !== undefined) throw program.failure;
      const outputs = burn._core.programCall(program.pointer, inputs.map((t) => burn._pointer(t)))
        .map((pointer) => new Tensor(burn, pointer));
      program.changed.forEach((input, i) => {
        const value = outputs[outputs.length - program.changed.length + i]!;
        burn.noGrad(() => inputs[input]!.assign(value));
        value.dispose();
      });
      if (program.endsStep) burn._stepEnded();
      else burn._connection.recorded();
      return restore(program.result, outputs);
    };
    return called as unknown as F;
  };
}
