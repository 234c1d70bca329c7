// SPDX-License-Identifier: Apache-2.0
// Modules: parameters with functions over them. Names in state dicts are PyTorch's, so weights pass between clients.
import type { Burn } from "./burn.js";
import { elements, type DType } from "./dtypes.js";
import { invalid } from "./errors.js";
import * as F from "./functional.js";
import { Tensor } from "./tensor.js";

export * from "./functional.js";

const snake = (name: string): string => name.replace(/[A-Z]/g, (c) => "_" + c.toLowerCase());

/** Base class. Fields that are tensors, modules, or arrays of modules are its parts. */
export abstract class Module {
  /** Whether layers act as in training (dropout, statistics of batches). */
  training = true;
  /** Names of fields whose tensors are no parameters: state that no gradient reaches. */
  protected readonly buffers: readonly string[] = [];

  abstract forward(...inputs: Tensor[]): Tensor;

  private *parts(prefix = ""): Generator<[name: string, part: Tensor | Module, buffer: boolean]> {
    for (const [field, value] of Object.entries(this) as [string, unknown][]) {
      const list = Array.isArray(value) ? value : [value];
      for (const [i, part] of list.entries()) {
        if (!(part instanceof Tensor || part instanceof Module)) continue;
        const own = this instanceof Sequential ? "" : snake(field);
        const name = [prefix, own, Array.isArray(value) ? String(i) : ""].filter(Boolean).join(".");
        yield [name, part, this.buffers.includes(field)];
        if (part instanceof Module) yield* part.parts(name);
      }
    }
  }

  /** This one and all within. */
  modules(): Module[] {
    return [this, ...[...this.parts()].flatMap(([, part]) => (part instanceof Module ? [part] : []))];
  }

  /** All tensors by name: parameters and buffers. */
  stateDict(): Record<string, Tensor> {
    return Object.fromEntries([...this.parts()].flatMap(([name, part]) => (part instanceof Tensor ? [[name, part]] : [])));
  }

  /** All parameters by name, also those that requiresGrad(false) has frozen. */
  namedParameters(): [string, Tensor][] {
    return [...this.parts()].flatMap(([name, part, buffer]): [string, Tensor][] =>
      part instanceof Tensor && !buffer ? [[name, part]] : []);
  }

  /** All parameters, for an optimizer. */
  parameters(): Tensor[] {
    return this.namedParameters().map(([, tensor]) => tensor);
  }

  /** Takes the elements of tensors with the same names and shapes; all names must be there, and no others. */
  loadStateDict(state: Readonly<Record<string, Tensor>>): this {
    const own = this.stateDict();
    const missing = Object.keys(own).filter((name) => !(name in state)), extra = Object.keys(state).filter((name) => !(name in own));
    if (missing.length > 0 || extra.length > 0)
      throw invalid(`the state has other names: missing are [${missing.join(", ")}], unknown are [${extra.join(", ")}]`);
    for (const [name, tensor] of Object.entries(own))
      if (tensor.shape.join() !== state[name]!.shape.join())
        throw invalid(`${name} has the shape [${tensor.shape.join(", ")}], in the state [${state[name]!.shape.join(", ")}]`);
    for (const [name, tensor] of Object.entries(own)) tensor.burn.noGrad(() => tensor.assign(state[name]!));
    return this;
  }

  /** Into training, or out of it. */
  train(training = true): this {
    for (const module of this.modules()) module.training = training;
    return this;
  }

  /** Out of training. */
  eval(): this {
    return this.train(false);
  }

  /** Makes gradients reach the parameters, or not: frozen ones stay as they are. */
  requiresGrad(flag: boolean): this {
    for (const tensor of this.parameters()) tensor.requiresGrad = flag;
    return this;
  }

  /** Gives the daemon's memory of all parameters and buffers back. */
  dispose(): void {
    for (const tensor of Object.values(this.stateDict())) tensor.dispose();
  }
}

/** Options of layers with parameters. */
export interface LayerOptions {
  /** Whether there is a bias; there is at first. */
  bias?: boolean;
  dtype?: DType;
}

/** Uniform in ±bound, as a parameter. */
function uniformParameter(burn: Burn, shape: readonly number[], bound: number, dtype: DType = "float32"): Tensor {
  return burn.uniform(shape, -bound, bound, { dtype, requiresGrad: true });
}

/** PyTorch's bound for weights of layers: kaiming_uniform_ with a slope of √5, in its order of operations. */
function weightBound(fanIn: number): number {
  const slope = Math.sqrt(5);
  return Math.sqrt(3) * (Math.sqrt(2 / (1 + slope * slope)) / Math.sqrt(fanIn));
}

/** x [..., inputs] to [..., outputs]: x times the transpose of weight, plus bias. */
export class Linear extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;

  constructor(burn: Burn, inputs: number, outputs: number, options: LayerOptions = {}) {
    super();
    this.weight = uniformParameter(burn, [outputs, inputs], weightBound(inputs), options.dtype);
    this.bias = options.bias === false ? null : uniformParameter(burn, [outputs], 1 / Math.sqrt(inputs), options.dtype);
  }

  override forward(x: Tensor): Tensor {
    return F.linear(x, this.weight, this.bias);
  }
}

/** Convolution over [batch, channels, height, width]. */
export class Conv2d extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;

  constructor(burn: Burn, inputs: number, outputs: number, kernel: F.Sizes,
              private readonly options: LayerOptions & Omit<F.WindowOptions, "padding"> & { padding?: F.Sizes | "same"; groups?: number } = {}) {
    super();
    const sizes = typeof kernel === "number" ? [kernel, kernel] : kernel, groups = options.groups ?? 1;
    if (inputs % groups !== 0 || outputs % groups !== 0) throw invalid(`${groups} groups divide neither ${inputs} nor ${outputs} channels`);
    const fanIn = inputs / groups * elements(sizes);
    this.weight = uniformParameter(burn, [outputs, inputs / groups, ...sizes], weightBound(fanIn), options.dtype);
    this.bias = options.bias === false ? null : uniformParameter(burn, [outputs], 1 / Math.sqrt(fanIn), options.dtype);
  }

  override forward(x: Tensor): Tensor {
    return F.conv(x, this.weight, this.bias, this.options);
  }
}

/** Vectors by index: indices [...] to [..., width]. */
export class Embedding extends Module {
  readonly weight: Tensor;

  constructor(burn: Burn, rows: number, width: number, options: { dtype?: DType } = {}) {
    super();
    this.weight = burn.normal([rows, width], 0, 1, { dtype: options.dtype ?? "float32", requiresGrad: true });
  }

  override forward(index: Tensor): Tensor {
    return F.embedding(index, this.weight);
  }
}

/** Mean 0 and deviation 1 within the last dims, times weight plus bias. */
export class LayerNorm extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  private readonly shape: readonly number[];

  constructor(burn: Burn, shape: F.Sizes, private readonly options: LayerOptions & { eps?: number } = {}) {
    super();
    this.shape = typeof shape === "number" ? [shape] : shape;
    const how = { dtype: options.dtype ?? "float32", requiresGrad: true };
    this.weight = burn.ones(this.shape, how);
    this.bias = options.bias === false ? null : burn.zeros(this.shape, how);
  }

  override forward(x: Tensor): Tensor {
    return F.layerNorm(x, this.shape, this.weight, this.bias, this.options.eps);
  }
}

/** Mean 0 and deviation 1 within each channel of [batch, channels, places…]: of the batch in training, of all that was
 * seen otherwise. */
export class BatchNorm extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor;
  readonly runningMean: Tensor;
  readonly runningVar: Tensor;
  readonly numBatchesTracked: Tensor;
  protected override readonly buffers = ["runningMean", "runningVar", "numBatchesTracked"];
  private readonly momentum: number;
  private readonly eps: number;

  constructor(burn: Burn, channels: number, options: { momentum?: number; eps?: number; dtype?: DType } = {}) {
    super();
    const dtype = options.dtype ?? "float32";
    this.momentum = options.momentum ?? 0.1;
    this.eps = options.eps ?? 1e-5;
    this.weight = burn.ones([channels], { dtype, requiresGrad: true });
    this.bias = burn.zeros([channels], { dtype, requiresGrad: true });
    this.runningMean = burn.zeros([channels], { dtype });
    this.runningVar = burn.ones([channels], { dtype });
    this.numBatchesTracked = burn.zeros([], { dtype: "int64" });
  }

  override forward(x: Tensor): Tensor {
    const burn = x.burn;
    if (!this.training)
      return burn._one("batch_norm_fixed", [x, this.runningMean, this.runningVar, this.weight, this.bias, this.eps], []);
    burn.noGrad(() => this.numBatchesTracked.assign(this.numBatchesTracked.add(1)));
    const normed = burn._one("batch_norm", [x, this.weight, this.bias, this.eps], []);
    const dims = x.shape.map((_, i) => i).filter((i) => i !== 1);
    burn.noGrad(() => burn.tidy(() => {
      const seen = x.detach(), move = (running: Tensor, found: Tensor): void => {
        running.assign(running.mul(1 - this.momentum).add(found.mul(this.momentum)));
      };
      move(this.runningMean, seen.mean(dims));
      move(this.runningVar, seen.var(dims));
    }));
    return normed;
  }
}

/** Each element 0 with probability p in training. */
export class Dropout extends Module {
  constructor(private readonly p = 0.5) {
    super();
  }

  override forward(x: Tensor): Tensor {
    return F.dropout(x, this.p, this.training);
  }
}

/** A function as a module: `new Lambda((x) => x.relu())`. */
export class Lambda extends Module {
  constructor(private readonly f: (x: Tensor) => Tensor) {
    super();
  }

  override forward(x: Tensor): Tensor {
    return this.f(x);
  }
}

/** One after the other. Functions stand for themselves: `new Sequential(a, (x) => x.relu(), b)`. */
export class Sequential extends Module {
  readonly layers: readonly Module[];

  constructor(...layers: (Module | ((x: Tensor) => Tensor))[]) {
    super();
    this.layers = layers.map((layer) => (layer instanceof Module ? layer : new Lambda(layer)));
  }

  override forward(x: Tensor): Tensor {
    return this.layers.reduce((value, layer) => layer.forward(value), x);
  }
}
