// SPDX-License-Identifier: Apache-2.0
// The network as the trainer has it (train.py): its weights come by name, its ops run on the daemon.
import { nn, optim } from "./burn/browser.js";

const SIDE = 28, MEAN = 0.2860, DEVIATION = 0.3530; // of the training images
const STEPS = 40;

export class Network {
  constructor(burn, classes) {
    this.burn = burn;
    this.last = new nn.Linear(burn, 128, classes);
    this.model = new nn.Sequential(
      new nn.Conv2d(burn, 1, 16, 3), (x) => x.relu(), (x) => nn.maxPool2d(x, 2),
      new nn.Conv2d(burn, 16, 32, 3), (x) => x.relu(), (x) => nn.maxPool2d(x, 2),
      (x) => x.flatten(1), new nn.Linear(burn, 32 * 5 * 5, 128), (x) => x.relu(), this.last);
    this.model.eval();
  }

  /** The weights that stand under the name now. */
  async load(name) {
    const state = await this.burn.names.getState(name);
    this.model.loadStateDict(state);
    for (const tensor of Object.values(state)) tensor.dispose();
  }

  pixels(images) {
    const all = new Float32Array(images.length * SIDE * SIDE);
    images.forEach((image, i) => all.set(image, i * SIDE * SIDE));
    return this.burn.tensor(all, { shape: [images.length, 1, SIDE, SIDE] }).sub(MEAN).div(DEVIATION);
  }

  /** The probability of each class. */
  async classify(image) {
    const shares = this.burn.tidy(() => this.burn.noGrad(() => this.model.forward(this.pixels([image])).softmax(1)));
    const found = [...await shares.data()];
    shares.dispose();
    return found;
  }

  /** Trains the last layer on the lessons; the loss at each step. */
  async train(lessons, progress) {
    const { burn, model, last } = this, body = new nn.Sequential(...model.layers.slice(0, -1));
    const optimizer = new optim.Adam(last.parameters(), { lr: 0.02 }), losses = [];
    const features = burn.tidy(() => burn.noGrad(() => body.forward(this.pixels(lessons.map((lesson) => lesson.image)))));
    const labels = burn.tensor(BigInt64Array.from(lessons, (lesson) => BigInt(lesson.label)));
    for (let i = 0; i < STEPS; i++) {
      const loss = burn.tidy(() => {
        const value = nn.crossEntropy(last.forward(features), labels);
        optimizer.zeroGrad();
        value.backward();
        optimizer.step();
        return value;
      });
      losses.push(await loss.item());
      loss.dispose();
      progress(i + 1, STEPS);
    }
    features.dispose();
    labels.dispose();
    return losses;
  }
}
