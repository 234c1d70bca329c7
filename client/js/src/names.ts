// SPDX-License-Identifier: Apache-2.0
// Values by name: what one client publishes, others on the same daemon use, while it trains and after it has ended.
import type { Burn } from "./burn.js";
import { abortable, type WaitOptions } from "./connection.js";
import { kindOf } from "./dtypes.js";
import { BurnError, invalid } from "./errors.js";
import { trace } from "./jit.js";
import { Tensor } from "./tensor.js";

/** As BURN_NAME_BYTES_MAX of proto/limits.h. */
const NAME_BYTES_MAX = 255;

/** What can be published: a tensor, or tensors in objects within objects, such as a state dict. */
export type Publishable = Tensor | { readonly [part: string]: Publishable };

/** What get() gives: a tensor, or tensors in objects as they were published. */
export type Named = Tensor | { [part: string]: Named };

/** One published value. */
export interface NamedType {
  name: string;
  kind: "tensor" | "program";
  /** Of a tensor. */
  dtype?: string;
  /** Of a tensor. */
  shape?: number[];
  bytes: number;
  /** Of its publication: it grows with each one. */
  version: number;
}

/** Options of watch(). */
export interface WatchOptions extends WaitOptions {
  /** Milliseconds between two looks: 250 if left out. */
  everyMs?: number;
}

/** The object's own property, which is made if it is not there. Others choose these keys, and `__proto__` is one, too. */
function own(place: { [part: string]: Named }, key: string, value: Named): Named {
  if (!Object.hasOwn(place, key)) Object.defineProperty(place, key, { value, writable: true, enumerable: true, configurable: true });
  return Object.getOwnPropertyDescriptor(place, key)!.value as Named;
}

/** Burn.names. A name is made of letters, digits, ".", "_", "-" and "/" for levels. It belongs to the user who published
 * it; those that begin with "public/" are everyone's. It holds its values until it is published anew, removed, or the
 * daemon ends. */
export class Names {
  constructor(private readonly burn: Burn) {}

  /** Gives the tensor, or all tensors of the object, a name, in one step: who gets the name has all of these or all of
   * those before. The values are those of this moment. What stood at the name and below it ends. */
  async publish(name: string, value: Publishable, options?: WaitOptions): Promise<void> {
    const parts: string[] = [], tensors: number[] = [];
    const add = (part: string, item: Publishable): void => {
      if (part.length > NAME_BYTES_MAX) throw invalid(`the name of a part has at most ${NAME_BYTES_MAX} bytes; there is ${part.slice(0, 40)}…`);
      if (item instanceof Tensor) {
        parts.push(part);
        tensors.push(this.burn._pointer(item));
      } else if (typeof item === "object" && item !== null) {
        for (const [key, below] of Object.entries(item)) add(part ? `${part}/${key}` : key, below);
      } else {
        throw invalid(`what is published is a tensor, or objects of tensors; ${part || "this"} is ${kindOf(item)}`);
      }
    };
    add("", value);
    if (tensors.length === 0) throw invalid(`nothing is published under "${name}": there is no tensor in it`);
    this.burn._connection.check();
    await this.burn._connection.request(this.burn._core.publish(name, parts, tensors), options);
  }

  /** The tensor of the name, or, where names stand below it, an object of them. They stay as they are when the name is
   * published anew. NOT_FOUND if there is nothing. */
  async get(name: string, options?: WaitOptions): Promise<Named> {
    this.burn._connection.check();
    const found = await this.burn._connection.import(name, options), result: { [part: string]: Named } = {};
    for (const { part, tensor: pointer } of found) {
      const tensor = this.burn._outside(() => new Tensor(this.burn, pointer));
      if (part === "") return tensor;
      const levels = part.split("/"), last = levels.pop()!;
      let place = result;
      for (const level of levels) place = own(place, level, {}) as { [part: string]: Named };
      own(place, last, tensor);
    }
    return result;
  }

  /** The tensors of a state dict that was published under the name. */
  async getState(name: string, options?: WaitOptions): Promise<Record<string, Tensor>> {
    const found = await this.get(name, options);
    if (found instanceof Tensor || !Object.values(found).every((item) => item instanceof Tensor))
      throw invalid(`${name} is no state dict: tensors stand at other levels than the first`);
    return found as Record<string, Tensor>;
  }

  /** Each publication of the name, as get() gives it: the present one first, as soon as there is one, then those that
   * come, without those that came and went between two looks (every 250 ms, if `everyMs` does not say otherwise); one that
   * comes during a look may be given twice. Ends by `break`, or with the signal's reason. */
  async *watch(name: string, options: WatchOptions = {}): AsyncGenerator<Named, never, void> {
    const { signal, everyMs = 250 } = options;
    for (let seen = "[]"; ;) {
      const names = await this.list(name, options), found = JSON.stringify(names);
      if (names.some((each) => each.version === undefined))
        throw new BurnError("UNSUPPORTED", "the daemon is too old to tell publications of a name apart");
      if (found !== seen && found !== "[]") {
        const value = await this.get(name, options).catch((error: BurnError) => {
          if (error.code !== "NOT_FOUND") throw error; // else it ended meanwhile
        });
        if (value) yield value;
      }
      seen = found;
      await abortable(new Promise<void>((resolve) => setTimeout(resolve, everyMs)), signal);
    }
  }

  /** Publishes a function of tensors as a program, recorded with the examples' shapes and dtypes, with the present values
   * of the tensors from outside that it uses. Who calls it needs no more rights than to infer. After the examples options
   * may stand. */
  async publishProgram(name: string, f: (...inputs: Tensor[]) => Tensor | readonly Tensor[], ...rest: Tensor[] | [...Tensor[], WaitOptions]): Promise<void> {
    const given: (Tensor | WaitOptions)[] = rest, examples = given.filter((each) => each instanceof Tensor);
    const options = given.find((each): each is WaitOptions => !(each instanceof Tensor));
    const { _connection: connection, _core: core } = this.burn;
    connection.check();
    const { pointer, changed, endsStep } = this.burn.noGrad(() =>
      trace(this.burn, f as (...args: never[]) => unknown, examples, examples, name.slice(-60)));
    try {
      if (changed.length > 0 || endsStep)
        throw invalid("a function that changes its arguments or ends a step cannot be published: only what it returns leaves it");
      await connection.request(core.publishProgram(pointer, name), options);
    } finally {
      if (this.burn.alive) core.exports.program_drop(pointer);
    }
  }

  /** A published program as a function: of tensors of the shapes and dtypes that it was published with. */
  async program(name: string, options?: WaitOptions): Promise<(...inputs: Tensor[]) => Tensor[]> {
    const { _connection: connection, _core: core } = this.burn;
    connection.check();
    const program = await connection.importProgram(name, options);
    return (...inputs) => {
      connection.check();
      const outputs = core.programCall(program, inputs.map((tensor) => this.burn._pointer(tensor)));
      connection.recorded();
      return outputs.map((pointer) => new Tensor(this.burn, pointer));
    };
  }

  /** Ends the name and all below it; who got the values keeps them. */
  async remove(name: string, options?: WaitOptions): Promise<void> {
    this.burn._connection.check();
    await this.burn._connection.request(this.burn._core.unpublish(name), options);
  }

  /** The values at the prefix and below it; without one all of this user's and all public ones. */
  async list(prefix = "", options?: WaitOptions): Promise<NamedType[]> {
    this.burn._connection.check();
    return JSON.parse(await this.burn._connection.request(this.burn._core.listNames(prefix), options)) as NamedType[];
  }
}
