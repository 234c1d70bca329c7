// SPDX-License-Identifier: Apache-2.0
// What a connection sends and receives through, and the framing that transports of messages need.

/** A way to a daemon. Whoever makes one sets nothing; the connection sets the three callbacks before anything comes. */
export interface Transport {
  /** For messages: what it is connected to. */
  readonly url: string;
  /** Whether what is sent at a time arrives as one: then that is the preface, a frame, or the rest of one. */
  readonly messages: boolean;
  /** Whether it takes more bytes now; when that changes back to true, ondrain is called. */
  readonly ready: boolean;
  /** Takes the bytes; nobody changes them afterwards. */
  send(bytes: Uint8Array): void;
  /** Whether the process should stay alive for it. */
  hold(busy: boolean): void;
  close(): void;
  onbytes: (bytes: Uint8Array) => void;
  ondrain: () => void;
  /** The other side is gone, or this one was closed. broken: neither of them said so. */
  onclose: (reason: string, broken: boolean) => void;
}

export const PREFACE_BYTES = 16, HEADER_BYTES = 32;
const FLAG_ALIGNED = 2, ALIGNMENT_BYTES = 64;

/** Sizes of a frame by its header: of header, message and zeros, and of the payload. */
export function frameSizes(header: Uint8Array): { head: number; payload: number } {
  const view = new DataView(header.buffer, header.byteOffset, HEADER_BYTES);
  const message = view.getUint32(0, true), flags = view.getUint16(6, true);
  const payload = view.getUint32(16, true) + 4294967296 * view.getUint32(20, true);
  let head = HEADER_BYTES + message;
  if (flags & FLAG_ALIGNED) head = Math.ceil(head / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
  return { head, payload };
}
