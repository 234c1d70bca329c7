// SPDX-License-Identifier: Apache-2.0
// The few lists that TypeScript repeats are those of the protocol.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { REPORTS } from "../src/connection.js";
import { DTYPES } from "../src/dtypes.js";
import { codeNumber, type BurnErrorCode } from "../src/errors.js";

const rows = (file: string, pattern: RegExp): RegExpExecArray[] =>
  [...readFileSync(new URL(`../../../proto/${file}`, import.meta.url), "utf8").matchAll(pattern)];

it("has the dtypes of dtypes.def", () => {
  const found = rows("dtypes.def", /^DTYPE\(\w+, (\d+), "(\w+)", \w+, (\d+)/gm).map((row) => [row[2], Number(row[1]), Number(row[3])]);
  expect(Object.entries(DTYPES).map(([name, row]) => [name, row.number, row.bytes])).toEqual(found);
});

it("has the codes of codes.def", () => {
  const found = rows("base/codes.def", /^CODE\((\w+), (\d+)/gm).slice(1);
  expect(found.map((row) => codeNumber(row[1] as BurnErrorCode))).toEqual(found.map((row) => Number(row[2])));
});

it("has the reports of messages.def", () => {
  const numbers = new Map(rows("messages.def", /^BEGIN\((\w+), (\d+)/gm).map((row) => [row[1]!.toLowerCase(), Number(row[2])]));
  expect(Object.entries(REPORTS)).toEqual(Object.keys(REPORTS).map((name) => [name, numbers.get(name)]));
});
