// SPDX-License-Identifier: Apache-2.0
// Values by name: what one client publishes, others on the same daemon use, while it trains and after it has ended.
import type { Burn } from "./burn.js";
import type { WaitOptions } from "./connection.js";
import { invalid } from "./errors.js";
import { Tensor } from "./tensor.js";

/** What can be published: a tensor, or tensors in objects within objects, such as a state dict. */
export type Publishable = Tensor | { readonly [part: string]: Publishable };

/** What get() gives: a tensor, or tensors in objects as they were published. */
export type Named = Tensor | { [part: string]: Named };

/** One published value. */
export interface NamedType { name: string; dtype: string; shape: number[]; bytes: number }

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
      if (item instanceof Tensor) {
        parts.push(part);
        tensors.push(this.burn._pointer(item));
      } else if (typeof item === "object" && item !== null) {
        for (const [key, below] of Object.entries(item)) add(part ? `${part}/${key}` : key, below);
      } else {
        throw invalid(`what is published is a tensor, or objects of tensors; ${part || "this"} is a ${typeof item}`);
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
      for (const level of levels) place = (place[level] ??= {}) as { [part: string]: Named };
      place[last] = tensor;
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
