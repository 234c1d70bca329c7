// SPDX-License-Identifier: Apache-2.0
// Chromium for tests, with nothing that goes to the network on its own.
import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

const PLACES = [process.env.CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Whether a browser is there: deploy/setup installs one. */
export const hasBrowser = PLACES.some((path) => path !== "" && existsSync(path));

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: PLACES.find((path) => path !== "" && existsSync(path))!,
    args: ["--headless=new", "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
      "--no-first-run", "--disable-default-apps", "--disable-features=OptimizationHints,MediaRouter"],
  });
}
