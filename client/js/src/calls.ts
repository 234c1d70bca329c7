// SPDX-License-Identifier: Apache-2.0
// Ops called by their own names: what is given, as inputs and attributes, and what is wrong with it.
import type { Input } from "./burn.js";
import { AttrKind, type AttrValue, type OpInfo } from "./core.js";
import { dtypeNumber, type DType } from "./dtypes.js";
import { invalid } from "./errors.js";

/** A name of ops.toml as JavaScript writes it. */
export const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

/** The inputs of a call of an op by its own name. */
export function inputsOf(info: OpInfo, given: readonly unknown[]): Input[] {
  const named = info.variadic ? info.inputs.length - 1 : info.inputs.length;
  const inputs = info.inputs.slice(0, named).map((input, i) => {
    const value = given[i] as Input;
    if ((value === null || value === undefined) && !input.optional)
      throw invalid(`${info.name}: the input ${input.name} is missing`);
    return value;
  });
  if (!info.variadic) return inputs;
  const rest = given[named];
  if (!Array.isArray(rest)) throw invalid(`${info.name}: expected an array of tensors`);
  return [...inputs, ...rest as Input[]];
}

/** Its attributes: the object behind the inputs. */
export function attributesOf(info: OpInfo, given: readonly unknown[]): AttrValue[] {
  const most = info.inputs.length + (info.attrs.length > 0 ? 1 : 0);
  if (given.length > most) throw invalid(`${info.name} takes ${most} arguments, not ${given.length}`);
  const attrs = (given[info.inputs.length] ?? {}) as Record<string, unknown>;
  for (const name of Object.keys(attrs))
    if (!info.attrs.some((attr) => camel(attr.name) === name))
      throw invalid(`${info.name} has no attribute ${name}; it has ${info.attrs.map((attr) => camel(attr.name)).join(", ") || "none"}`);
  return info.attrs.map((attr) => {
    const value = attrs[camel(attr.name)], list = attr.kind === AttrKind.INTS || attr.kind === AttrKind.SIZES;
    if (value === undefined) {
      if (!attr.optional) throw invalid(`${info.name}: the attribute ${camel(attr.name)} is missing`);
      return list ? [] : attr.default;
    }
    if (attr.kind === AttrKind.DTYPE) return dtypeNumber(value as DType);
    if (list !== Array.isArray(value)) throw invalid(`${info.name}: ${camel(attr.name)} is ${list ? "an array of numbers" : "a number"}`);
    for (const n of list ? value as unknown[] : [value])
      if (typeof n !== "boolean" && !Number.isSafeInteger(n)) throw invalid(`${info.name}: ${camel(attr.name)} takes integers, not ${String(n)}`);
    return list ? value as number[] : Number(value);
  });
}

/** How many letters must change to make one name of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j++)
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
  }
  return row[b.length]!;
}

/** Throws for a name that no op has; whoever looks at the object may ask for what all objects have, and for toJSON. */
export function missing(name: string | symbol, ops: string[]): unknown {
  if (typeof name === "symbol" || name in Object.prototype || !/^[a-z]\w*$/i.test(name) || /^(then|toJSON|asymmetricMatch|nodeType)$/.test(name))
    return (Object.prototype as Record<string | symbol, unknown>)[name];
  const plain = (text: string): string => text.replace(/_/g, "").toLowerCase(), wanted = plain(name);
  const far = (op: string): number => plain(op).startsWith(wanted) ? 0 : distance(plain(op), wanted);
  const near = ops.filter((op) => far(op) <= Math.max(1, wanted.length / 4)).sort((a, b) => far(a) - far(b)).slice(0, 3);
  throw invalid(`there is no op ${name}${near.length > 0 ? `; there is ${near.join(", ")}` : ""} (burn.ops has all, ${ops.length} of them)`);
}
