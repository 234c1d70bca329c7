// SPDX-License-Identifier: Apache-2.0
// What goes to the transport: for transports of messages frame by frame. What was sent after HELLO is kept until the daemon
// has it, so that a new transport can go on with the first byte that did not arrive. Owner: the connection.
import { BurnError } from "./errors.js";
import { frameSizes, HEADER_BYTES, PREFACE_BYTES, type Transport } from "./transport.js";

export class Outgoing {
  /** Whether what is sent is kept. */
  keeps = false;
  /** What the daemon may lack: what the transport was given at a time, which is a frame if it takes messages. */
  private units: Uint8Array[] = [];
  /** Bytes before the first unit, from HELLO on. */
  private gone = 0;
  private prefaced = false;
  /** The frame that is not whole yet. */
  private parts: Uint8Array[] = [];
  private partBytes = 0;
  private wantedBytes = 0;

  /** The bytes come in the order of the frames, their heads whole; nobody changes them afterwards. */
  send(transport: Transport, bytes: Uint8Array): void {
    if (!transport.messages) return this.unit(transport, bytes);
    for (let at = 0; at < bytes.length;) {
      if (this.wantedBytes === 0) {
        const rest = bytes.subarray(at);
        const { head, payload } = this.prefaced ? frameSizes(rest.subarray(0, HEADER_BYTES)) : { head: PREFACE_BYTES, payload: 0 };
        this.prefaced = true;
        this.wantedBytes = head + payload;
      }
      const count = Math.min(bytes.length - at, this.wantedBytes - this.partBytes);
      this.parts.push(bytes.subarray(at, at + count));
      this.partBytes += count;
      at += count;
      if (this.partBytes === this.wantedBytes) this.unit(transport, this.frame());
    }
  }

  private frame(): Uint8Array {
    let frame = this.parts[0]!;
    if (this.parts.length > 1) {
      frame = new Uint8Array(this.partBytes);
      let at = 0;
      for (const part of this.parts) {
        frame.set(part, at);
        at += part.length;
      }
    }
    this.parts = [];
    this.partBytes = this.wantedBytes = 0;
    return frame;
  }

  private unit(transport: Transport, bytes: Uint8Array): void {
    if (this.keeps) this.units.push(bytes);
    transport.send(bytes);
  }

  /** Nothing will be sent again. */
  drop(): void {
    this.keeps = false;
    this.units = [];
  }

  /** The daemon has so many bytes. */
  forget(received: number): void {
    let count = 0, left = received - this.gone;
    if (left <= 0) return;
    while (count < this.units.length && this.units[count]!.length <= left) left -= this.units[count++]!.length;
    this.units.splice(0, count);
    if (left > 0 && this.units.length > 0) {
      this.units[0] = this.units[0]!.subarray(left);
      left = 0;
    }
    this.gone = received - left;
  }

  /** Sends again, on a new transport, what the daemon lacks, which has so many bytes. */
  resume(transport: Transport, received: number): void {
    this.forget(received);
    if (this.gone !== received) throw new BurnError("PROTOCOL", "the daemon has received what was not sent");
    for (const unit of this.units) transport.send(unit);
  }
}
