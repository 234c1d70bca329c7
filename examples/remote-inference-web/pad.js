// SPDX-License-Identifier: Apache-2.0
// The drawing pad: strokes by mouse, finger or keyboard, and the picture as a network wants it.

/** Silhouettes as closed paths within 0 … 1. */
export const EXAMPLES = {
  "T-shirt": [[.3, .18], [.42, .14], [.5, .18], [.58, .14], [.7, .18], [.92, .36], [.8, .48], [.7, .4], [.7, .86], [.3, .86], [.3, .4], [.2, .48], [.08, .36]],
  Trouser: [[.34, .08], [.66, .08], [.68, .5], [.66, .94], [.54, .94], [.5, .36], [.46, .94], [.34, .94], [.32, .5]],
  Dress: [[.4, .06], [.6, .06], [.58, .34], [.72, .94], [.28, .94], [.42, .34]],
  Bag: [[.12, .42], [.3, .42], [.32, .24], [.42, .16], [.58, .16], [.68, .24], [.7, .42], [.88, .42], [.88, .86], [.12, .86], [.12, .42], [.36, .42], [.38, .28], [.45, .22], [.55, .22], [.62, .28], [.64, .42], [.36, .42]],
  "Ankle boot": [[.3, .14], [.62, .14], [.62, .46], [.9, .62], [.94, .82], [.28, .82]],
};
const SIDE = 28, CONTENT = 26;

export class Pad {
  onchange = () => {};

  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { willReadFrequently: true });
    this.brush = 44;
    this.cursor = { x: canvas.width / 2, y: canvas.height / 2 };
    this.marks = document.createElement("canvas"); // what is drawn, without the brush's outline
    this.marks.width = this.marks.height = canvas.width;
    this.drawing = this.marks.getContext("2d", { willReadFrequently: true });
    canvas.addEventListener("pointerdown", (event) => this.begin(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", () => { this.last = undefined; });
    canvas.addEventListener("pointercancel", () => { this.last = undefined; });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => this.paint());
    canvas.addEventListener("blur", () => {
      this.painting = false;
      this.paint();
    });
    this.paint();
  }

  setBrush(width) {
    this.brush = width;
    this.paint();
  }

  clear() {
    this.drawing.clearRect(0, 0, this.marks.width, this.marks.height);
    this.changed();
  }

  example(name) {
    const side = this.marks.width, path = new Path2D();
    this.drawing.clearRect(0, 0, side, side);
    EXAMPLES[name].forEach(([x, y], i) => (i === 0 ? path.moveTo(x * side, y * side) : path.lineTo(x * side, y * side)));
    path.closePath();
    this.drawing.fillStyle = "#fff";
    this.drawing.fill(path, "evenodd");
    this.changed();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect(), scale = this.canvas.width / box.width;
    return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
  }

  begin(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.last = this.place(event);
    this.stroke(this.last, this.last);
  }

  move(event) {
    if (!this.last) return;
    const to = this.place(event);
    this.stroke(this.last, to);
    this.last = this.cursor = to;
  }

  stroke(from, to) {
    const c = this.drawing;
    c.strokeStyle = "#fff";
    c.lineCap = c.lineJoin = "round";
    c.lineWidth = this.brush;
    c.beginPath();
    c.moveTo(from.x, from.y);
    c.lineTo(to.x, to.y + 0.01);
    c.stroke();
    this.changed();
  }

  key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (step) {
      const before = { ...this.cursor }, far = event.shiftKey ? 32 : 12, most = this.canvas.width;
      this.cursor = { x: Math.min(most, Math.max(0, before.x + far * step[0])), y: Math.min(most, Math.max(0, before.y + far * step[1])) };
      if (this.painting) this.stroke(before, this.cursor);
      this.paint();
    } else if (event.key === " ") {
      this.painting = !this.painting;
      if (this.painting) this.stroke(this.cursor, this.cursor);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.clear();
    } else {
      return;
    }
    event.preventDefault();
  }

  changed() {
    this.paint();
    this.onchange();
  }

  paint() {
    const c = this.context, side = this.canvas.width;
    c.clearRect(0, 0, side, side);
    c.drawImage(this.marks, 0, 0);
    if (document.activeElement !== this.canvas) return;
    c.strokeStyle = this.painting ? "#ff7a3d" : "#8a8178";
    c.lineWidth = 2;
    c.beginPath();
    c.arc(this.cursor.x, this.cursor.y, this.brush / 2, 0, 2 * Math.PI);
    c.stroke();
  }

  /** 28 × 28 numbers from 0 to 1, with what is drawn in the middle and as large as fits; undefined if there is nothing. */
  image() {
    const side = this.marks.width, { data } = this.drawing.getImageData(0, 0, side, side);
    let left = side, top = side, right = -1, bottom = -1;
    for (let y = 0; y < side; y++)
      for (let x = 0; x < side; x++)
        if (data[4 * (y * side + x) + 3] > 40) {
          left = Math.min(left, x);
          right = Math.max(right, x);
          top = Math.min(top, y);
          bottom = y;
        }
    if (right < 0) return undefined;
    const width = right - left + 1, height = bottom - top + 1, scale = CONTENT / Math.max(width, height);
    const small = new OffscreenCanvas(SIDE, SIDE), c = small.getContext("2d", { willReadFrequently: true });
    c.imageSmoothingQuality = "high";
    c.drawImage(this.marks, left, top, width, height, (SIDE - width * scale) / 2, (SIDE - height * scale) / 2, width * scale, height * scale);
    const pixels = c.getImageData(0, 0, SIDE, SIDE).data;
    return Float32Array.from({ length: SIDE * SIDE }, (_, i) => pixels[4 * i + 3] / 255);
  }
}
