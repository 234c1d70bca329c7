// SPDX-License-Identifier: Apache-2.0
// The page: what is drawn becomes 28 × 28 numbers, a network on the daemon names it, and lessons train its last layer there.
import { Link } from "./link.js";
import { Pad, EXAMPLES } from "./pad.js";
import { Network } from "./network.js";

const LABELS = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];
const NAME = new URLSearchParams(location.search).get("name") ?? "public/garments";
const FOLLOW_MS = 2000, TRIPS = 15;
const at = (id) => document.getElementById(id);

const pad = new Pad(at("pad")), link = new Link();
const bars = LABELS.map((label) => {
  const item = document.createElement("li");
  item.innerHTML = `<span>${label}</span><span class="track"><span class="bar"></span></span><span class="share"></span>`;
  at("bars").append(item);
  return item;
});

let network, dirty = false, busy = false, teaching = false, lessons = [];
const trips = [];

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

function showFacts(ms, burn) {
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
  const mine = network;
  at("verdict").setAttribute("aria-busy", "true");
  try {
    while (dirty) {
      dirty = false;
      const image = pad.image();
      if (!image) {
        showEmpty();
        continue;
      }
      const begin = performance.now(), shares = await mine.classify(image);
      showFacts(performance.now() - begin, mine.burn);
      if (pad.image()) show(shares);
    }
  } catch (error) {
    fail(error, mine);
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

/** Trains on all that the visitor has said. */
async function study() {
  const mine = network;
  teaching = true;
  try {
    const losses = await mine.train(lessons, (count, total) => { at("lesson").textContent = `Training … ${count} of ${total} steps`; });
    drawCurve(losses);
    at("lesson").textContent = `${lessons.length} ${lessons.length === 1 ? "lesson" : "lessons"}; loss ${losses[0].toFixed(3)} → ${losses.at(-1).toFixed(3)}`;
  } catch (error) {
    fail(error, mine);
  } finally {
    teaching = false;
  }
  await infer();
}

async function teach(label) {
  const image = pad.image();
  if (teaching) return;
  if (!image || !network) {
    at("lesson").textContent = network ? "Draw something first." : "Lessons wait for the daemon.";
    return;
  }
  lessons.push({ image, label });
  at("follow").checked = false;
  at("forget").disabled = false;
  await study();
}

async function forget() {
  lessons = [];
  at("forget").disabled = true;
  at("follow").checked = true;
  at("lesson").textContent = "No lessons so far.";
  at("curve").innerHTML = "";
  const mine = network;
  try {
    if (mine && await refresh(mine)) await infer();
  } catch (error) {
    fail(error, mine);
  }
}

// ---- the connection ----

/** Where the session of that network has failed, the link says so and makes another. */
function fail(error, of) {
  if (network === of && !of.burn.alive) network = undefined;
  link.lost(of.burn, error);
}

/** Takes the weights that stand under the name now; false: there are none. */
async function refresh(made) {
  try {
    await made.load(NAME);
  } catch (error) {
    if (error.code !== "NOT_FOUND") throw error;
    if (!network) link.waits(NAME);
    return false;
  }
  at("weights").textContent = `${NAME}, as of ${new Date().toLocaleTimeString("en", { hour12: false })}`;
  return true;
}

/** From now on with this session, for as long as it lives. */
async function follow(made) {
  try {
    const isNew = network !== made;
    if ((isNew || at("follow").checked) && !document.hidden && !busy && !teaching && await refresh(made)) {
      network = made;
      link.connected();
      await (isNew && lessons.length ? study() : infer());
    }
  } catch (error) {
    fail(error, made);
  }
  if (link.burn === made.burn) setTimeout(() => void follow(made), network === made ? FOLLOW_MS : FOLLOW_MS / 4);
}

link.onopen = async (burn) => {
  network = undefined;
  at("daemon").textContent = burn.server;
  at("device").textContent = burn.device;
  at("address").textContent = burn.url;
  await follow(new Network(burn, LABELS.length));
};

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
  if (/^\d$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey && event.target !== at("token")) void teach(Number(event.key));
});
at("clear").addEventListener("click", () => pad.clear());
at("forget").addEventListener("click", () => void forget());
at("brush").addEventListener("input", () => pad.setBrush(Number(at("brush").value)));
pad.onchange = () => void infer();
void link.begin();
