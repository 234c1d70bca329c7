// SPDX-License-Identifier: Apache-2.0
// What programs do to their arrays, objects and signals while a connection is at work: the elements are those of the
// call, what is wrong is an error that says so, and nothing stays in the daemon that nobody can reach.
import { writeFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, type Burn } from "../src/node.js";
import type { Tensor } from "../src/index.js";
import { Daemon } from "./daemon.js";

const COUNT = 1 << 18; // far more than travels within a record
let daemon: Daemon, burn: Burn;

beforeAll(async () => {
  daemon = await Daemon.start();
  burn = await connect(daemon.url);
});

afterAll(async () => {
  burn.close();
  await daemon.stop();
});

const range = async (x: Tensor): Promise<unknown[]> => [x.dtype, await x.min().item(), await x.max().item()];

/** An ArrayBuffer that can shrink (in the types of ES2024 only). */
function resizable(bytes: number): ArrayBuffer & { resize(bytes: number): void } {
  return new (ArrayBuffer as unknown as new (bytes: number, options: object) => never)(bytes, { maxByteLength: 2 * bytes });
}

describe("arrays", () => {
  it("are copied at once, whatever they are a view of", async () => {
    const buffer = Buffer.alloc(COUNT, 1), a = burn.tensor(buffer);
    buffer.fill(9);
    expect(await range(a)).toEqual(["uint8", 1, 1]);
    const shared = new Float32Array(new SharedArrayBuffer(4 * COUNT)).fill(3), b = burn.tensor(shared);
    shared.fill(4);
    expect(await range(b)).toEqual(["float32", 3, 3]);
    const moved = new Int32Array(COUNT).fill(5), c = burn.tensor(moved);
    structuredClone(moved.buffer, { transfer: [moved.buffer] });
    expect(await range(c)).toEqual(["int32", 5, 5]);
    const memory = resizable(8 * COUNT), shrunk = new Float64Array(memory).fill(2), d = burn.tensor(shrunk);
    memory.resize(8);
    expect(await range(d)).toEqual(["float64", 2, 2]);
    const small = Buffer.from([1, 2, 3]), e = burn.tensor(small);
    small.fill(0);
    expect(await e.tolist()).toEqual([1, 2, 3]);
  });

  it("of subclasses that make other arrays keep their dtype", async () => {
    for (const other of [Uint8Array, Float64Array]) {
      class Odd extends Float32Array {
        static get [Symbol.species](): never { return other as never; }
      }
      expect(await range(burn.tensor(new Odd(COUNT).fill(1.5)))).toEqual(["float32", 1.5, 1.5]);
      expect(await burn.tensor(new Odd([1.5, 2.5])).tolist()).toEqual([1.5, 2.5]);
    }
    await burn.flush();
  });

  it("without memory are refused", () => {
    const moved = new Float32Array(COUNT), memory = resizable(400), shrunk = new Float32Array(memory, 0, 100);
    structuredClone(moved.buffer, { transfer: [moved.buffer] });
    memory.resize(4);
    for (const array of [moved, shrunk]) {
      expect(() => burn.tensor(array)).toThrow(/no elements any more/);
      expect(() => burn.tensor(array, { dtype: "float64" })).toThrow(/no elements any more/);
    }
    expect(burn.tensor(new Float32Array(0)).shape).toEqual([0]);
  });
});

describe("numbers", () => {
  it("that an integer dtype does not hold are refused", async () => {
    expect(() => burn.tensor([NaN], { dtype: "int64" })).toThrow(/NaN cannot be an element of dtype int64/);
    expect(() => burn.tensor([1, Infinity], { dtype: "int32" })).toThrow(/Infinity cannot/);
    expect(() => burn.tensor([256], { dtype: "uint8" })).toThrow(/256 cannot/);
    expect(() => burn.tensor([-1], { dtype: "uint64" })).toThrow(/-1 cannot/);
    expect(() => burn.tensor([2n ** 63n])).toThrow(/9223372036854775808 cannot/);
    expect(() => burn.tensor(new Float32Array([1e9]), { dtype: "int16" })).toThrow(/1000000000 cannot/);
    expect(await burn.tensor([-128, 127.5, true, -0.5], { dtype: "int8" }).tolist()).toEqual([-128, 127, 1, 0]);
    expect(Array.from(await burn.tensor([2n ** 64n - 1n], { dtype: "uint64" }).data())).toEqual([2n ** 64n - 1n]);
  });

  it("that are no sizes are refused", () => {
    for (const size of [NaN, 1.5, Infinity, 2 ** 63, "4" as never]) {
      expect(() => burn.zeros([size])).toThrow(/no fraction/);
      expect(() => burn.tensor(new Float32Array(4), { shape: [size] })).toThrow();
      expect(() => burn.zeros([1]).expand(size)).toThrow();
    }
    for (const size of [NaN, 1.5, Infinity, 1e-300]) expect(() => burn.zeros([4]).split(size)).toThrow(/parts of size/);
    expect(() => burn.full([1], 2n ** 64n, { dtype: "int64" })).toThrow(/64 bits/);
    expect(() => burn.zeros([1]).add("1" as never)).toThrow(/not a string/);
    expect(burn.zeros([2]).shape).toEqual([2]);
  });

  it("nested without end are refused", () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(() => burn.tensor(circle as never)).toThrow(/at most 16 dims/);
  });
});

describe("names", () => {
  it("that objects have of themselves are names like others", async () => {
    const inner = Object.fromEntries([["seen", burn.ones([1])]]), parts: Record<string, unknown> = { constructor: inner, toString: burn.ones([2]) };
    Object.defineProperty(parts, "__proto__", { value: inner, enumerable: true });
    await burn.names.publish("odd", parts as never);
    const got = await burn.names.get("odd") as Record<string, never>;
    expect(Object.keys(got).sort()).toEqual(["__proto__", "constructor", "toString"]);
    expect(Object.getPrototypeOf(got)).toBe(Object.prototype);
    expect(({} as { seen?: unknown }).seen).toBeUndefined();
    expect((Object as unknown as { seen?: unknown }).seen).toBeUndefined();
    const circle: { a?: unknown } = {};
    circle.a = circle;
    await expect(burn.names.publish("circle", circle as never)).rejects.toThrow(/at most 255 bytes/);
    await burn.names.remove("odd");
  });
});

describe("signals", () => {
  const gauges = async (one: Burn): Promise<number[]> => {
    const stats = await one.report("stats") as { stream: { tensors: number }; memory: { device_bytes: number } };
    return [stats.stream.tensors, stats.memory.device_bytes];
  };

  it("end a wait at any stage, and leave nothing behind", async () => {
    const one = await connect(daemon.url), x = burn.ones([1000]);
    await burn.names.publish("model", Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`p${i}`, x])));
    await burn.names.publishProgram("twice", (t) => t.mul(2), burn.ones([2]));
    await burn.sync();
    const before = await gauges(one);
    const waits: ((options: { signal: AbortSignal }) => Promise<unknown>)[] = [
      (options) => one.names.get("model", options), (options) => one.names.program("twice", options), (options) => one.sync(options),
      (options) => one.names.list("", options),
      (options) => {
        const sum = one.tidy(() => one.tensor(new Float32Array(COUNT)).sum());
        return sum.data(options).finally(() => sum.dispose());
      },
      (options) => one.flush(options), (options) => one.ping(options), (options) => one.report("devices", options)];
    let aborted = 0;
    for (let round = 0; round < 120; round++) {
      const control = new AbortController(), wait = waits[round % waits.length]!({ signal: control.signal });
      const late = new Promise<void>((resolve) => setTimeout(resolve, (round >> 3) % 3));
      if (round % 5 === 0) control.abort();
      else void late.then(() => control.abort());
      await wait.then((got) => {
        if (got && typeof got === "object") for (const each of Object.values(got)) if (typeof (each as Tensor).dispose === "function") (each as Tensor).dispose();
      }, (error: unknown) => {
        expect(error).toBe(control.signal.reason);
        aborted++;
      });
      await late;
    }
    expect(aborted).toBeGreaterThan(20);
    for (let tries = 0; tries < 200 && String(await gauges(one)) !== String(before); tries++) await one.sync();
    expect(await gauges(one)).toEqual(before);
    one.close();
  });

  it("end a connection that is not there yet", async () => {
    for (let round = 0; round < 12; round++) {
      const control = new AbortController(), wait = connect(daemon.url, { signal: control.signal });
      if (round % 3 === 0) control.abort();
      else setTimeout(() => control.abort(), round % 3 - 1);
      await wait.then((one) => one.close(), (error: unknown) => expect(error).toBe(control.signal.reason));
    }
    expect(burn.alive).toBe(true);
  });
});

describe("workers", () => {
  it("that are ended in the middle of an upload leave nothing", async () => {
    const file = new URL("../dist/node.js", import.meta.url).href;
    const text = `
      import { parentPort } from "node:worker_threads";
      import { connect } from ${JSON.stringify(file)};
      const one = await connect(${JSON.stringify(daemon.url)});
      for (;;) {
        const x = one.tensor(new Float32Array(${4 * COUNT}));
        parentPort.postMessage(one.session);
        await x.sum().item();
      }`;
    const open = async (): Promise<number> => (await burn.report("sessions") as unknown[]).length;
    const before = await open(), path = daemon.path + ".mjs";
    writeFileSync(path, text);
    for (let round = 0; round < 4; round++) {
      const worker = new Worker(path);
      await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
      await new Promise((resolve) => setTimeout(resolve, round));
      await worker.terminate();
    }
    while (await open() > before) await new Promise((resolve) => setTimeout(resolve, 10));
    await burn.sync();
  });
});
