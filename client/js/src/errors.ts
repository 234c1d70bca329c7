// SPDX-License-Identifier: Apache-2.0
// The one error of this package, with the daemon's codes.

/** What kind of failure it was; the same codes as in the C client and on the wire. */
export type BurnErrorCode =
  | "INVALID" // an argument, shape, dtype or value is wrong
  | "NOT_FOUND"
  | "CONFLICT"
  | "LIMIT"
  | "NO_MEMORY"
  | "UNSUPPORTED"
  | "DEVICE"
  | "DEVICE_LOST"
  | "UNAVAILABLE" // no daemon, connection lost or closed
  | "UNAUTHENTICATED"
  | "DENIED"
  | "CANCELLED"
  | "DEADLINE"
  | "PROTOCOL"
  | "INTERNAL";

const NUMBERS: BurnErrorCode[] = [
  "INVALID", "NOT_FOUND", "CONFLICT", "LIMIT", "NO_MEMORY", "UNSUPPORTED", "DEVICE", "DEVICE_LOST", "UNAVAILABLE",
  "UNAUTHENTICATED", "DENIED", "CANCELLED", "DEADLINE", "PROTOCOL", "INTERNAL",
];

/** The number of a code on the wire. */
export function codeNumber(code: BurnErrorCode): number {
  return NUMBERS.indexOf(code) + 1;
}

/** What every function of this package throws or rejects with, but for aborts, which give the signal's reason. */
export class BurnError extends Error {
  override readonly name = "BurnError";
  /** The kind of failure. */
  readonly code: BurnErrorCode;
  /** Whether the same call can succeed later. */
  readonly retryable: boolean;
  /** Number of the op that failed in the daemon, counted from 1 in the order of recording; 0: it was no op. */
  readonly op: number;

  constructor(code: BurnErrorCode, message: string, options?: { cause?: unknown; retryable?: boolean; op?: number }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options?.retryable ?? false;
    this.op = options?.op ?? 0;
  }
}

/** A BurnError for an argument that is wrong. */
export function invalid(message: string): BurnError {
  return new BurnError("INVALID", message);
}
