// SPDX-License-Identifier: Apache-2.0
// Layers and losses as functions; names, defaults and results are PyTorch's.
import { invalid } from "./errors.js";
import { isFloat } from "./dtypes.js";
import { Tensor, type Operand } from "./tensor.js";

/** One number for every dim, or one for each. */
export type Sizes = number | readonly number[];

/** How elements of a loss become one: their mean (at first), their sum, or not at all. */
export type Reduction = "none" | "mean" | "sum";

/** Options of losses. */
export interface LossOptions { reduction?: Reduction }

/** Options of windows that move over an input. */
export interface WindowOptions {
  stride?: Sizes;
  padding?: Sizes;
  dilation?: Sizes;
}

const REDUCTIONS: Record<Reduction, number> = { none: 0, mean: 1, sum: 2 };

function kind(reduction: Reduction = "mean"): number {
  const number = REDUCTIONS[reduction] as number | undefined;
  if (number === undefined) throw invalid(`${String(reduction)} is no reduction; there are none, mean and sum`);
  return number;
}

/** One number a place dim. */
function each(sizes: Sizes, places: number, name: string): readonly number[] {
  const list = typeof sizes === "number" ? Array.from({ length: places }, () => sizes) : sizes;
  if (list.length !== places) throw invalid(`${name} is a number or ${places} of them, not [${list.join(", ")}]`);
  return list;
}

// ---- layers ----

/** x [..., in] times the transpose of weight [out, in], plus bias [out]. */
export function linear(x: Tensor, weight: Tensor, bias: Tensor | null = null): Tensor {
  return x.burn._one("linear", [x, weight, bias], []);
}

/** Convolution of x [batch, channels, places…] with weight [outputs, channels / groups, sizes…], plus bias [outputs]; as
 * many places as the weight has (conv1d, conv2d and conv3d). "same" pads so that a stride of 1 keeps the places. */
export function conv(x: Tensor, weight: Tensor, bias: Tensor | null = null,
                     options: Omit<WindowOptions, "padding"> & { padding?: Sizes | "same"; groups?: number } = {}): Tensor {
  const places = weight.rank - 2, kernel = weight.shape.slice(2);
  if (x.rank !== weight.rank) throw invalid(`conv: an input of shape [${x.shape.join(", ")}] and a weight of shape [${weight.shape.join(", ")}]`);
  const strides = each(options.stride ?? 1, places, "stride"), dilations = each(options.dilation ?? 1, places, "dilation");
  let low: readonly number[], high: readonly number[];
  if (options.padding === "same") {
    if (strides.some((s) => s !== 1)) throw invalid('padding "same" goes with a stride of 1');
    low = kernel.map((k, i) => Math.floor(dilations[i]! * (k - 1) / 2));
    high = kernel.map((k, i) => dilations[i]! * (k - 1) - low[i]!);
  } else {
    low = high = each(options.padding ?? 0, places, "padding");
  }
  if (![...low, ...high].some((n) => n > 0)) low = high = [];
  return x.burn._one("conv", [x, weight, bias], [strides, low, high, dilations, options.groups ?? 1]);
}

function windows(x: Tensor, kernel: Sizes, options: WindowOptions, places: number): (readonly number[] | number)[] {
  const sizes = each(kernel, places, "the kernel's size"), strides = each(options.stride ?? sizes, places, "stride");
  const pads = each(options.padding ?? 0, places, "padding"), dilations = each(options.dilation ?? 1, places, "dilation");
  if (x.rank < places) throw invalid(`windows of ${places} dims over a tensor of shape [${x.shape.join(", ")}]`);
  const padded = pads.some((n) => n > 0), list = padded ? pads : [];
  const tiled = !padded && strides.every((s, i) => s === sizes[i]) && dilations.every((d) => d === 1);
  return [sizes, strides, list, list, dilations, tiled ? 1 : 0];
}

/** The largest element of each window of the last two dims; the stride is the window's size at first. */
export function maxPool2d(x: Tensor, kernel: Sizes, options: WindowOptions = {}): Tensor {
  return x.burn._one("max_pool", [x], windows(x, kernel, options, 2));
}

/** The mean of each window of the last two dims, with padding counted. */
export function avgPool2d(x: Tensor, kernel: Sizes, options: Omit<WindowOptions, "dilation"> = {}): Tensor {
  const parts = windows(x, kernel, options, 2);
  return x.burn._one("avg_pool", [x], [...parts, (parts[2] as readonly number[]).length > 0 ? 1 : 0]);
}

/** Rows of the weight by index. */
export function embedding(index: Tensor, weight: Tensor): Tensor {
  return weight.burn._one("embedding", [weight, index], [-1]);
}

/** x less its mean, over its standard deviation, within the last dims, which have the given shape. */
export function layerNorm(x: Tensor, shape: readonly number[], weight: Tensor | null = null, bias: Tensor | null = null, eps = 1e-5): Tensor {
  return x.burn._one("layer_norm", [x, weight, bias, eps], [shape]);
}

/** x over its root mean square within the last dims, which have the given shape. */
export function rmsNorm(x: Tensor, shape: readonly number[], weight: Tensor | null = null, eps = 1e-6): Tensor {
  return x.burn._one("rms_norm", [x, weight, eps], [shape]);
}

/** Each element 0 with probability p, the others divided by 1 - p; x itself outside of training. */
export function dropout(x: Tensor, p = 0.5, training = true): Tensor {
  if (!(p >= 0 && p <= 1)) throw invalid(`a probability of ${p}`);
  return training ? x.burn._one("dropout", [x, p], x.burn._draw(x.size)) : x;
}

/** softmax(q kᵀ / √width) v for [batch…, length, width]; causal: no query sees a later key. */
export function attention(query: Tensor, key: Tensor, value: Tensor, options: { causal?: boolean; scale?: number } = {}): Tensor {
  const scale = options.scale ?? 1 / Math.sqrt(query.shape.at(-1) ?? 1);
  let scores = query.mul(scale).matmul(key.transpose(-2, -1));
  if (options.causal) scores = query.burn._one("causal", [scores], [0]);
  return query.burn._one("attend", [scores, value], []);
}

// ---- losses ----

/** The negative log-likelihood of the target under softmax over the classes, dim 1 (dim 0 of a vector). The target holds
 * class numbers, or, in floats, the probability of each class. */
export function crossEntropy(x: Tensor, target: Tensor, options: LossOptions & {
  weight?: Tensor; labelSmoothing?: number; ignoreIndex?: number;
} = {}): Tensor {
  const inputs = [x, target, options.weight, options.labelSmoothing || null], reduction = kind(options.reduction);
  return isFloat(target.dtype) ? x.burn._one("cross_entropy_soft", inputs, [reduction])
    : x.burn._one("cross_entropy", inputs, [reduction, options.ignoreIndex ?? -100]);
}

function loss(op: string, x: Tensor, target: Operand, options: LossOptions | undefined, more: Operand[] = []): Tensor {
  if (target instanceof Tensor && x.shape.join() !== target.shape.join())
    throw invalid(`a target of shape [${target.shape.join(", ")}] for an input of shape [${x.shape.join(", ")}]`);
  return x.burn._one(op, [x, target, ...more], [kind(options?.reduction)]);
}

/** The squared difference. */
export function mseLoss(x: Tensor, target: Tensor, options?: LossOptions): Tensor {
  return loss("mse_loss", x, target, options);
}

/** The absolute difference. */
export function l1Loss(x: Tensor, target: Tensor, options?: LossOptions): Tensor {
  return loss("l1_loss", x, target, options);
}

/** Half the squared difference up to delta, beyond it linear. */
export function huberLoss(x: Tensor, target: Tensor, options?: LossOptions & { delta?: number }): Tensor {
  return loss("huber_loss", x, target, options, [options?.delta ?? 1]);
}

/** The cross-entropy of probabilities given as their logits. */
export function bceWithLogits(x: Tensor, target: Tensor, options?: LossOptions): Tensor {
  return x.burn._one("bce_with_logits", [x, target, null, null], [kind(options?.reduction)]);
}

/** The negative of x at the target class, for logarithms of probabilities. */
export function nllLoss(x: Tensor, target: Tensor, options: LossOptions & { ignoreIndex?: number } = {}): Tensor {
  return x.burn._one("nll_loss", [x, target, null], [kind(options.reduction), options.ignoreIndex ?? -100]);
}

/** Scales the gradients so that the root of the sum of all squares is at most `most`; gives what it was. */
export function clipGradNorm(parameters: readonly Tensor[], most: number): Tensor {
  const burn = parameters[0]?.burn;
  if (!burn) throw invalid("clipGradNorm: there are no parameters");
  return burn.noGrad(() => burn.tidy(() => {
    const grads = parameters.flatMap((p) => p._grad() ?? []);
    if (grads.length === 0) throw invalid("clipGradNorm: no parameter has a gradient");
    const norm = burn._one("global_norm", grads, []), factor = burn._one("clip_coefficient", [norm, most], []);
    for (const grad of grads) grad.assign(grad.mul(factor));
    return norm;
  }));
}
