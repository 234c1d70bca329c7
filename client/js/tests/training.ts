// SPDX-License-Identifier: Apache-2.0
// A training loop whose last bits tell whether anything was lost or done twice on the way. It runs in Node and, as text, in
// pages, so it uses nothing from outside.
import type { Burn } from "../src/index.js";
import type * as Package from "../src/index.js";

/** The bytes of all parameters after the last step. */
export async function train(burn: Burn, { nn, optim }: Pick<typeof Package, "nn" | "optim">): Promise<number[]> {
  burn.seed(5);
  const model = new nn.Sequential(new nn.Linear(burn, 100, 64), (x) => x.tanh(), new nn.Linear(burn, 64, 10));
  const adam = new optim.Adam(model.parameters(), { lr: 1e-2 });
  for (let i = 0; i < 40; i++) {
    const images = Float32Array.from({ length: 200 * 100 }, (_, j) => Math.sin(i + j * j)), labels = BigInt64Array.from({ length: 200 }, (_, j) => BigInt((i + j) % 10));
    const loss = burn.tidy(() => {
      const value = nn.crossEntropy(model.forward(burn.tensor(images, { shape: [200, 100] }).add(burn.normal([200, 100], 0, 0.1))), burn.tensor(labels));
      adam.zeroGrad();
      value.backward();
      adam.step();
      return value;
    });
    if (i % 4 === 0) await loss.item();
  }
  const bytes: number[] = [];
  for (const parameter of model.parameters()) {
    const data = await parameter.data() as Float32Array;
    bytes.push(...new Uint8Array(data.buffer));
  }
  return bytes;
}
