// SPDX-License-Identifier: Apache-2.0
// Values by name, between two connections.
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect, nn, Tensor, type Burn, type BurnError } from "../src/node.js";
import { Daemon } from "./daemon.js";

let daemon: Daemon, a: Burn, b: Burn;
beforeAll(async () => {
  daemon = await Daemon.start();
  [a, b] = [await connect(daemon.url), await connect(daemon.url)];
});
afterAll(async () => {
  a.close();
  b.close();
  await daemon.stop();
});

it("shares a tensor, as it was when it was published", async () => {
  const x = a.arange(6).reshape(2, 3);
  await a.names.publish("numbers", x);
  x.assign(0);
  const got = await b.names.get("numbers") as Tensor;
  expect([got.dtype, got.shape, await got.tolist()]).toEqual(["int32", [2, 3], [[0, 1, 2], [3, 4, 5]]]);
  expect(await got.add(1).sum().item()).toBe(21);
  await a.names.remove("numbers");
  expect(await got.sum().item()).toBe(15);
  expect(await b.names.get("numbers").catch((error: BurnError) => error.code)).toBe("NOT_FOUND");
});

it("shares a model in one step, and objects of objects", async () => {
  const model = new nn.Sequential(new nn.Linear(a, 4, 3), new nn.Linear(a, 3, 2)), other = new nn.Sequential(new nn.Linear(b, 4, 3), new nn.Linear(b, 3, 2));
  await a.names.publish("model", model.stateDict());
  other.loadStateDict(await b.names.getState("model"));
  expect(await other.forward(b.ones([1, 4])).tolist()).toEqual(await model.forward(a.ones([1, 4])).tolist());
  expect((await b.names.list("model")).map((item) => item.name)).toEqual(["model/0.bias", "model/0.weight", "model/1.bias", "model/1.weight"]);
  await a.names.publish("deep", { x: a.ones([1]), y: { z: a.full([1], 5) } });
  const deep = await b.names.get("deep") as { x: Tensor; y: { z: Tensor } };
  expect([await deep.x.item(), await deep.y.z.item()]).toEqual([1, 5]);
});

it("shares programs, with the weights that they use", async () => {
  const model = new nn.Linear(a, 4, 3);
  await a.names.publishProgram("classify", (x) => model.forward(x).softmax(1), a.zeros([2, 4]));
  const x = [[1, 2, 3, 4], [0, 1, 0, -1]], expected = await model.forward(a.tensor(x)).softmax(1).tolist();
  a.noGrad(() => model.weight.assign(0)); // the program keeps the values of its publishing
  const classify = await b.names.program("classify");
  expect(await classify(b.tensor(x))[0]!.tolist()).toEqual(expected);
  expect(() => classify(b.ones([3, 4]))).toThrow(/\[3, 4\]/);
  expect(await b.names.program("nothing").catch((error: BurnError) => error.code)).toBe("NOT_FOUND");
});

it("names what is wrong", async () => {
  const failure = (promise: Promise<unknown>): Promise<string> => promise.then(() => "none", (error: Error) => error.message);
  expect(await failure(a.names.publish("a b", a.ones([1])))).toMatch(/name/);
  expect(await failure(a.names.publish("x", {}))).toMatch(/nothing is published/);
  expect(await failure(a.names.publish("x", { y: 5 as never }))).toMatch(/y is a number/);
  expect(await failure(a.names.publish("x", { y: undefined as never }))).toMatch(/y is an undefined/);
  expect(await failure(b.names.getState("deep"))).toMatch(/no state dict/);
});

it("gives each publication of a name as it comes", async () => {
  const seen: number[] = [], controller = new AbortController();
  const watched = (async () => {
    for await (const value of b.names.watch("watched", { everyMs: 5, signal: controller.signal })) {
      const number = await (value as Tensor).item();
      if (seen.at(-1) !== number) seen.push(number);
    }
  })();
  for (const number of [1, 2, 3]) {
    await a.names.publish("watched", a.full([], number));
    while (seen.at(-1) !== number) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const versions = (await a.names.list("watched")).map((item) => item.version);
  await a.names.publish("watched", a.full([], 3)); // the same value is a new publication
  expect((await a.names.list("watched"))[0]!.version).toBe(versions[0]! + 1);
  await a.names.remove("watched");
  await a.names.publish("watched", a.full([], 4));
  while (seen.at(-1) !== 4) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort(new Error("enough"));
  await expect(watched).rejects.toThrow("enough");
  expect(seen).toEqual([1, 2, 3, 4]);
  for await (const value of b.names.watch("watched")) {
    expect(await (value as Tensor).item()).toBe(4);
    break;
  }
});

it("stops waiting at a signal, wherever it waits", async () => {
  const signal = AbortSignal.abort(new Error("enough")), options = { signal }, x = a.ones([2]);
  const waits = [() => a.names.publish("x", x, options), () => a.names.get("deep", options), () => a.names.getState("deep", options),
    () => a.names.program("classify", options), () => a.names.publishProgram("p", (t) => t.add(1), x, options), () => a.names.remove("deep", options),
    () => a.names.list("", options), () => a.names.watch("deep", options).next(), () => x.data(options), () => x.sum().item(options), () => x.tolist(options),
    () => x.chunks(options).next(), () => a.sync(options), () => a.flush(options), () => a.ping(options), () => a.report("stats", options),
    () => a.mintToken({}, options), () => a.shutdown(options), () => connect(daemon.url, options)];
  for (const wait of waits) await expect(wait(), wait.toString()).rejects.toThrow("enough");
  expect(await x.tolist()).toEqual([1, 1]);
});
