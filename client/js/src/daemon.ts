// SPDX-License-Identifier: Apache-2.0
// A private daemon for Node: burnd over one half of a socket pair, in a process session of its own. It ends when the
// other half is closed, however this process ends.
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import type { Socket } from "node:net";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BurnError } from "./errors.js";
import { socketTransport } from "./sockets.js";
import type { Transport } from "./transport.js";

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function findDaemon(): string {
  const named = process.env.BURND;
  if (named) {
    if (!runs(named)) throw new BurnError("UNAVAILABLE", `BURND names ${named}, which cannot be run`);
    return named;
  }
  const own = fileURLToPath(new URL("../bin/burnd", import.meta.url));
  const places = [own, ...(process.env.PATH ?? "").split(delimiter).filter(Boolean).map((folder) => join(folder, "burnd"))];
  const found = places.find(runs);
  if (found) return found;
  throw new BurnError("UNAVAILABLE", "no daemon answers at the usual places, and there is no burnd to start a private one: "
    + "set BURN_URL, or BURND to the program, or put burnd into PATH");
}

/** Starts one. */
export function startDaemon(device: string): Promise<Transport> {
  const path = findDaemon();
  const flags = ["--embedded", "3", ...(device ? ["--device", device] : [])];
  const child = spawn(path, flags, { stdio: ["ignore", 2, 2, "pipe"], detached: true });
  return new Promise((resolve, reject) => {
    child.once("error", (error) =>
      reject(new BurnError("UNAVAILABLE", `cannot start ${path}: ${error.message}`, { cause: error })));
    child.once("spawn", () => {
      child.unref();
      resolve(socketTransport("private:", child.stdio[3] as Socket));
    });
  });
}
