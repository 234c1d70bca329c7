// SPDX-License-Identifier: Apache-2.0
// The page: what is drawn becomes 28 × 28 numbers, a network on the daemon names it, and lessons train its last layer there.
import { connect } from "./burn/browser.js";
import { Pad, EXAMPLES } from "./pad.js";
import { Network } from "./network.js";

const LABELS = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];
const NAME = new URLSearchParams(location.search).get("name") ?? "public/garments";
const FOLLOW_MS = 2000, RETRY_MS = 1000, TRIPS = 15;
const at = (id) => document.getElementById(id);

const pad = new Pad(at("pad"));
const bars = LABELS.map((label) => {
  const item = document.createElement("li");
  item.innerHTML = `<span>${label}</span><span class="track"><span class="bar"></span></span><span class="share"></span>`;
  at("bars").append(item);
  return item;
});

let burn, network, dirty = false, busy = false, lessons = [];
const trips = [];

function say(state, kind) {
  at("state").textContent = state;
  at("state").className = kind ?? "";
}

// ---- naming what is drawn ----

function show(shares) {
  const top = shares.indexOf(Math.max(...shares));
  bars.forEach((item, i) => {
    item.className = i === top ? "top" : "";
    item.querySelector(".bar").style.width = `${100 * shares[i]}%`;
    item.querySelector(".share").textContent = `${(100 * shares[i]).toFixed(1)} %`;
  });
  at("verdict").textContent = `${LABELS[top]}, ${Math.round(100 * shares[top])} %`;
}

function showEmpty() {
  bars.forEach((item) => {
    item.className = "";
    item.querySelector(".bar").style.width = "0";
    item.querySelector(".share").textContent = "";
  });
  at("verdict").textContent = "Nothing yet";
}

function showFacts(ms) {
  trips.push(ms);
  if (trips.length > TRIPS) trips.shift();
  const middle = [...trips].sort((a, b) => a - b)[trips.length >> 1];
  at("trip").textContent = `${middle.toFixed(1)} ms for drawing → probabilities`;
  at("ops").textContent = burn.opsRecorded.toLocaleString("en");
  at("bytes").textContent = burn.bytesSent.toLocaleString("en");
}

/** One at a time; what is drawn meanwhile comes next. */
async function infer() {
  dirty = true;
  if (busy || !network) return;
  busy = true;
  at("verdict").setAttribute("aria-busy", "true");
  try {
    while (dirty) {
      dirty = false;
      const image = pad.image();
      if (!image) {
        showEmpty();
        continue;
      }
      const begin = performance.now(), shares = await network.classify(image);
      showFacts(performance.now() - begin);
      if (pad.image()) show(shares);
    }
  } catch (error) {
    lost(error);
  } finally {
    busy = false;
    at("verdict").setAttribute("aria-busy", "false");
  }
}

// ---- lessons ----

function drawCurve(losses) {
  const most = Math.max(...losses, 1e-6);
  const points = losses.map((loss, i) => `${300 * i / Math.max(1, losses.length - 1)},${58 - 54 * loss / most}`).join(" ");
  at("curve").innerHTML = `<polyline points="${points}"></polyline>`;
}

async function teach(label) {
  const image = pad.image();
  if (!image || !network) {
    at("lesson").textContent = "Draw something first.";
    return;
  }
  lessons.push({ image, label });
  at("follow").checked = false;
  at("forget").disabled = false;
  try {
    const losses = await network.train(lessons, (count, total) => { at("lesson").textContent = `Training … ${count} of ${total} steps`; });
    drawCurve(losses);
    at("lesson").textContent = `${lessons.length} ${lessons.length === 1 ? "lesson" : "lessons"}; loss ${losses[0].toFixed(3)} → ${losses.at(-1).toFixed(3)}`;
    await infer();
  } catch (error) {
    lost(error);
  }
}

async function forget() {
  lessons = [];
  at("forget").disabled = true;
  at("follow").checked = true;
  at("lesson").textContent = "No lessons so far.";
  at("curve").innerHTML = "";
  await refresh();
}

// ---- the connection ----

async function refresh() {
  await network.load(NAME);
  at("weights").textContent = `${NAME}, as of ${new Date().toLocaleTimeString("en", { hour12: false })}`;
  await infer();
}

async function follow() {
  if (!network) return;
  try {
    if (at("follow").checked && !document.hidden && !busy) await refresh();
    if (network) setTimeout(follow, FOLLOW_MS);
  } catch (error) {
    lost(error);
  }
}

function lost(error) {
  if (burn?.alive) {
    say(error.message, "bad");
    return;
  }
  network = undefined;
  say("connection lost, trying again …", "bad");
  setTimeout(begin, RETRY_MS);
}

async function begin() {
  try {
    burn = await connect(undefined, {});
    at("daemon").textContent = burn.server;
    at("device").textContent = burn.device;
    at("address").textContent = burn.url;
    const made = new Network(burn, LABELS.length);
    await made.load(NAME);
    network = made;
    say("connected", "good");
    await refresh();
    setTimeout(follow, FOLLOW_MS);
  } catch (error) {
    say(error.code === "NOT_FOUND" ? `nobody has published ${NAME} yet` : error.message, "bad");
    burn?.close();
    network = undefined;
    setTimeout(begin, RETRY_MS);
  }
}

// ---- controls ----

for (const [i, label] of LABELS.entries()) {
  const button = document.createElement("button");
  button.type = "button";
  button.innerHTML = `<b>${i}</b>${label}`;
  button.addEventListener("click", () => teach(i));
  at("labels").append(button);
}
for (const name of Object.keys(EXAMPLES)) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name;
  button.addEventListener("click", () => pad.example(name));
  at("examples").append(button);
}
document.addEventListener("keydown", (event) => {
  if (/^\d$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) void teach(Number(event.key));
});
at("clear").addEventListener("click", () => pad.clear());
at("forget").addEventListener("click", () => void forget().catch(lost));
at("brush").addEventListener("input", () => pad.setBrush(Number(at("brush").value)));
pad.onchange = () => void infer();
void begin();
