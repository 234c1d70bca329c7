// SPDX-License-Identifier: Apache-2.0
// Every op by its own name, with values and gradients judged by PyTorch's recorded answers: tests/conformance/make_js.py
// wrote the cases from those of tests/conformance.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect, type Burn, type DType, type Operand, type Tensor } from "../src/node.js";

type Value = null | boolean | { t: number } | { i: number } | { f: number | string };
interface Call { constant?: [number, number[], string]; op: string; inputs: (Value | Value[])[]; attrs: (number | number[])[]; outputs: number }
interface Answer { dtype: DType; shape: number[]; data: (number | string)[] }
interface Case {
  name: string; calls: Call[]; reads: number[]; answers: Answer[]; differentiable: boolean[]; weights: number[][];
  gradients: Record<string, Answer>; rtol: number; atol: number;
}
interface Row { name: string; attrs: { name: string; kind: string }[]; inputs: unknown[]; flags: string[] }

const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
const cases = read("golden.json") as Case[];
const table = new Map((read("../../../tests/conformance/ops_gen.json") as Row[]).map((row) => [row.name, row]));
const DTYPES: DType[] = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool"];
const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

let burn: Burn;
beforeAll(async () => { burn = await connect("private:", { device: "cpu" }); });
afterAll(() => burn.close());

function constant([dtype, shape, hex]: [number, number[], string]): Tensor {
  const buffer = new Uint8Array(Buffer.from(hex, "hex")).buffer, name = DTYPES[dtype - 1]!;
  const arrays = { float64: Float64Array, float32: Float32Array, float16: Uint16Array, bfloat16: Uint16Array, int64: BigInt64Array,
    int32: Int32Array, int16: Int16Array, int8: Int8Array, uint64: BigUint64Array, uint32: Uint32Array, uint16: Uint16Array, uint8: Uint8Array, bool: Uint8Array };
  return burn.tensor(new arrays[name](buffer), { shape, dtype: name });
}

/** Runs the calls; all tensors made, inputs first. */
function run(one: Case): Tensor[] {
  const made: Tensor[] = [];
  const value = (v: Value): Operand | null => {
    if (v === null || typeof v === "boolean") return v;
    if ("t" in v) return made[v.t]!;
    return "i" in v ? BigInt(v.i) : { kind: 4, value: Number(v.f) } as unknown as number; // a float, also where it is whole
  };
  for (const call of one.calls) {
    if (call.constant) {
      const tensor = constant(call.constant), place = String(made.length);
      if (place in one.gradients) tensor.requiresGrad = true;
      made.push(tensor);
      continue;
    }
    const row = table.get(call.op)!;
    const attrs = Object.fromEntries(call.attrs.map((attr, i) => [camel(row.attrs[i]!.name), row.attrs[i]!.kind === "dtype" ? DTYPES[Number(attr) - 1] : attr]));
    const op = (burn.ops as unknown as Record<string, (...given: unknown[]) => Tensor | Tensor[]>)[camel(call.op)]!;
    const given: unknown[] = call.inputs.map((input) => (Array.isArray(input) ? input.map(value) : value(input)));
    if (row.attrs.length > 0) given.push(attrs);
    made.push(...[op(...given)].flat());
  }
  return made;
}

/** How the elements differ from the answer, by parity's measure. */
async function compare(what: string, tensor: Tensor, answer: Answer, one: Case): Promise<string[]> {
  if (tensor.dtype !== answer.dtype) return [`${what}: ${tensor.dtype}, not ${answer.dtype}`];
  if (tensor.shape.join() !== answer.shape.join()) return [`${what}: [${tensor.shape.join()}], not [${answer.shape.join()}]`];
  const got = (await tensor.tolist() as unknown[]), flat = ([got].flat(Infinity) as (number | boolean)[]).map(Number);
  const want = answer.data.map((v) => (v === "nan" ? NaN : v === "inf" ? Infinity : v === "-inf" ? -Infinity : Number(v)));
  const scale = Math.max(0.01, ...want.filter(Number.isFinite).map(Math.abs));
  const wrong = want.findIndex((w, i) => {
    const g = flat[i]!;
    return !(g === w || (Number.isNaN(g) && Number.isNaN(w)) || Math.abs(g - w) <= one.rtol * Math.abs(w) + one.atol * scale);
  });
  return flat.length !== want.length || wrong >= 0 ? [`${what}: element ${wrong} is ${flat[wrong]}, not ${want[wrong]}`] : [];
}

it.each(cases.map((one) => [one.name, one] as const))("%s", async (_, one) => {
  const made = run(one), found: string[] = [];
  const outputs = one.reads.map((place) => made[place]!);
  for (const [i, answer] of one.answers.entries()) found.push(...await compare(`output ${i}`, outputs[i]!, answer, one));
  if (Object.keys(one.gradients).length > 0) {
    const roots = outputs.filter((_, i) => one.differentiable[i]);
    const sums = roots.map((root, i) => root.mul(burn.tensor(one.weights[i]!, { shape: root.shape, dtype: root.dtype })).sum());
    burn.backward(sums);
    for (const [place, answer] of Object.entries(one.gradients))
      found.push(...await compare(`gradient of input ${place}`, made[Number(place)]!.grad!, answer, one));
  }
  expect(found).toEqual([]);
});

it("leaves out only ops that the other tests judge", () => {
  const used = new Set(cases.flatMap((one) => one.calls.map((call) => call.op)));
  const left = [...table.values()].filter((row) => !used.has(row.name) && !row.flags.includes("random") && !row.name.endsWith("_step"));
  expect(left.map((row) => row.name).sort()).toEqual(["attend", "batch_norm", "batch_norm_fixed", "causal",
    "clip_coefficient", "conv_input", "conv_weight", "detach", "global_norm", "group_norm", "split"]);
});
