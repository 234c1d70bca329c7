// SPDX-License-Identifier: Apache-2.0
// Files with secrets: those that others can read are refused, as the C client does.
import { readFileSync, statSync } from "node:fs";
import { BurnError, invalid } from "./errors.js";

/** What the file holds that the environment variable names. Its mode is at most 0600, or 0640 where root owns it. */
export function readSecret(variable: string, file: string): string {
  let mode = 0, text = "", ofRoot = false;
  try {
    const status = statSync(file);
    if (status.isFile() && process.platform !== "win32") mode = status.mode & 0o7777;
    ofRoot = status.uid === 0;
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw invalid(`${variable} names ${file}, which cannot be read: ${(error as Error).message}`);
  }
  if (mode & (ofRoot ? 0o037 : 0o077)) {
    throw new BurnError("DENIED", `${variable} names ${file}, and others could read or change it, as its mode is ` +
      `0${mode.toString(8)}: chmod ${ofRoot && process.geteuid?.() !== 0 ? 640 : 600} ${file}`);
  }
  return text;
}
