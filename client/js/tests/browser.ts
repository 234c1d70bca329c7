// SPDX-License-Identifier: Apache-2.0
// Chromium for tests, with nothing that goes to the network on its own.
import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

/** CHROMIUM names one; if it is empty, tests do without. */
const PLACES = process.env.CHROMIUM === undefined ? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"] : [process.env.CHROMIUM];
const FOUND = PLACES.find((path) => path !== "" && existsSync(path));

/** Whether a browser is there: deploy/setup installs one. */
export const hasBrowser = FOUND !== undefined;
if (!hasBrowser)
  console.warn(`tests in Chromium are LEFT OUT: it is not at ${PLACES.join(", ") || "any place (CHROMIUM is empty)"}; deploy/setup installs it, CHROMIUM names another place`);

/** In its pages waitForFunction takes functions, not strings: it polls strings by eval, which our pages' policy forbids. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: FOUND!,
    args: ["--headless=new", "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
      "--no-first-run", "--disable-default-apps", "--disable-features=OptimizationHints,MediaRouter"],
  });
}
