// SPDX-License-Identifier: Apache-2.0
// The connection to the daemon: made, made anew, and what the page says about it meanwhile. The token comes from the fragment of
// the page's address, which no server and no log sees, or by hand; it stays in this tab.
import { connect } from "./burn/browser.js";

const RETRY_MS = 1000, LOOK_MS = 200, PLACE = "burnd token";
const at = (id) => document.getElementById(id);

/** Takes the token out of the address, so that it is in no bookmark and no picture of the window. */
function takeFragment() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return false;
  sessionStorage.setItem(PLACE, token);
  history.replaceState(null, "", location.pathname + location.search);
  return true;
}

export class Link {
  /** Called with each new session; what it throws is told as the session's fault. */
  onopen = async () => {};
  burn = undefined;
  timer = undefined;
  turn = 0;

  constructor() {
    takeFragment();
    addEventListener("hashchange", () => { if (takeFragment()) this.again(); });
    at("token-form").addEventListener("submit", (event) => {
      event.preventDefault();
      sessionStorage.setItem(PLACE, at("token").value.trim());
      at("token").value = "";
      this.again();
    });
    setInterval(() => this.look(), LOOK_MS);
  }

  /** state: a few words; why: what the visitor can do about it. */
  say(state, kind, why = "") {
    at("state").textContent = state;
    at("state").className = kind;
    at("why").textContent = why;
    at("notice").hidden = why === "";
    document.body.classList.toggle("away", kind !== "good");
  }

  askToken(asks) {
    if (asks && at("token-form").hidden) requestAnimationFrame(() => at("token").focus());
    at("token-form").hidden = !asks;
  }

  connected() {
    this.say("connected", "good");
    this.askToken(false);
  }

  /** The session is alive, and a name that it needs is not there. */
  waits(name) {
    this.say("waiting", "busy", `Nobody has published ${name} on this daemon yet. The page goes on as soon as somebody does.`);
  }

  again() {
    clearTimeout(this.timer);
    const old = this.burn;
    this.burn = undefined;
    old?.close();
    void this.begin();
  }

  async begin() {
    const turn = ++this.turn;
    this.say("connecting …", "busy");
    try {
      const burn = await connect(undefined, { token: () => sessionStorage.getItem(PLACE) ?? "" });
      if (turn !== this.turn) {
        burn.close(); // another token was given meanwhile
        return;
      }
      this.burn = burn;
      void burn.closed.then((error) => this.lost(burn, error));
      await this.onopen(burn);
    } catch (error) {
      if (turn === this.turn) this.lost(this.burn, error);
    }
  }

  /** Whoever was told that its session failed says so here. */
  lost(burn, error) {
    if (burn !== this.burn) return; // an earlier one
    if (burn?.alive) {
      this.say("failed", "bad", error.message);
      return;
    }
    this.burn = undefined;
    const wrong = error.code === "UNAUTHENTICATED" || error.code === "DENIED";
    if (wrong) {
      const had = sessionStorage.getItem(PLACE);
      this.say("not let in", "bad", had ? `The daemon refused this token: ${error.message}` : "This daemon wants a token. Its operator makes one with “burnctl token create”.");
      this.askToken(true);
      return; // until another one is given
    }
    this.say("no daemon", "bad", `The daemon does not answer (${error.message}). Trying again every second; your drawing stays.`);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.begin(), RETRY_MS);
  }

  /** A lost connection is made anew by the library; nothing is lost meanwhile. */
  look() {
    if (!this.burn?.alive && !this.burn?.resuming) return;
    const says = at("state").textContent;
    if (this.burn.resuming && says !== "resuming …")
      this.say("resuming …", "busy", "The connection was lost and is being made anew. What you draw meanwhile is named when it is back.");
    else if (!this.burn.resuming && says === "resuming …")
      this.connected();
  }
}
