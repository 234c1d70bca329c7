// SPDX-License-Identifier: Apache-2.0
// A proxy for TCP that cuts connections after so many bytes, in the middle of whatever passes.
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export class Cutter {
  /** How often it has cut. */
  cuts = 0;
  /** Whether new connections are closed at once. */
  refuses = false;
  /** Whether what comes on connections that are open is kept for ever. */
  swallows = false;
  private readonly sockets = new Set<Socket>();
  private left = Infinity;
  private most = 0;
  private state = 1;

  /** target: the daemon's port, which may change. */
  private constructor(private readonly server: Server, public target: number) {
    server.on("connection", (client) => this.pair(client));
  }

  static async start(target: number): Promise<Cutter> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Cutter(server, target);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** From now on cuts after at most so many bytes, the same ones for the same seed. */
  begin(most: number, seed: number): void {
    this.most = most;
    this.state = seed;
    this.next();
  }

  /** No more cuts. */
  rest(): void {
    this.left = Infinity;
  }

  private next(): void {
    this.state = (this.state * 48271) % 2147483647;
    this.left = 1 + this.state % this.most;
  }

  private pair(client: Socket): void {
    if (this.refuses) {
      client.destroy();
      return;
    }
    const daemon = createConnection({ port: this.target, host: "127.0.0.1" });
    let mute = false; // for good
    const pass = (from: Socket, to: Socket): void => {
      this.sockets.add(from);
      from.setNoDelay(true);
      from.on("data", (bytes: Buffer) => {
        mute ||= this.swallows;
        if (mute) return;
        if (bytes.length >= this.left) {
          to.write(bytes.subarray(0, this.left), () => to.destroy());
          from.destroy();
          this.cuts++;
          this.next();
        } else {
          this.left -= bytes.length;
          to.write(bytes);
        }
      }).on("error", () => {}).on("close", () => {
        this.sockets.delete(from);
        to.end();
      });
    };
    pass(client, daemon);
    pass(daemon, client);
  }

  /** Cuts all connections now. */
  cut(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
    this.cuts++;
  }

  stop(): void {
    this.cut();
    this.server.close();
  }
}
