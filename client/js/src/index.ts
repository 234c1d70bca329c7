// SPDX-License-Identifier: Apache-2.0
// What the package has in every environment.
export { Burn, type ConnectOptions, type DataOptions, type TensorOptions, type TokenOptions } from "./burn.js";
export type { WaitOptions } from "./connection.js";
export type { ArrayOf, DType, Nested, NestedValues, TypedArray } from "./dtypes.js";
export { BurnError, type BurnErrorCode } from "./errors.js";
export type { Jit } from "./jit.js";
export type { Named, NamedType, Names, Publishable, WatchOptions } from "./names.js";
export type { Ops } from "./ops_gen.js";
export * as nn from "./nn.js";
export * as optim from "./optim.js";
export type { Index } from "./shape.js";
export { Tensor, type ChunkOptions, type Operand, type ReduceOptions, type SumOptions } from "./tensor.js";
