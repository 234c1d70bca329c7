// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    env: { BURND: process.env.BURND ?? fileURLToPath(new URL("../../build/release/bin/burnd", import.meta.url)), BURN_URL: "" },
    testTimeout: 300_000, // other work on the machine can stop a test for a while
    hookTimeout: 300_000,
    maxWorkers: 2,
    minWorkers: 1,
  },
});
