// SPDX-License-Identifier: Apache-2.0
// Daemons of a test's own, and a proxy that records what a client sends.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A daemon with listeners of its own. */
export class Daemon {
  private constructor(private readonly folder: string, private readonly child: ChildProcess, readonly errors: string[]) {}

  /** With further flags; its state, tokens included, is in its own folder. */
  static start(...flags: string[]): Promise<Daemon> {
    return Daemon.prepared(() => {}, ...flags);
  }

  /** One whose state folder is filled before. */
  static async prepared(prepare: (state: string) => void, ...flags: string[]): Promise<Daemon> {
    const folder = mkdtempSync(join(tmpdir(), "burn-js-")), errors: string[] = [];
    mkdirSync(join(folder, "state"), { mode: 0o700 });
    prepare(join(folder, "state"));
    const child = spawn(process.env.BURND!, ["--listen", `unix://${folder}/d.sock`, "--device=cpu", `--state_dir=${folder}/state`, ...flags], { stdio: ["ignore", "ignore", "pipe"] });
    child.stderr!.setEncoding("utf8").on("data", (text: string) => errors.push(text));
    const daemon = new Daemon(folder, child, errors);
    while (!existsSync(daemon.path)) {
      if (child.exitCode !== null) throw new Error(errors.join(""));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return daemon;
  }

  get path(): string {
    return join(this.folder, "d.sock");
  }

  get url(): string {
    return `unix://${this.path}`;
  }

  /** Port of a listener that asked for port 0, as the log tells it. */
  async port(scheme: string): Promise<number> {
    for (;;) {
      const found = new RegExp(`listening url="${scheme}://127.0.0.1:(\\d+)`).exec(this.errors.join(""));
      if (found) return Number(found[1]);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null) {
      const ended = new Promise((resolve) => this.child.once("exit", resolve));
      this.child.kill("SIGTERM");
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Stands between a client and a daemon's TCP listener. */
export class Proxy {
  readonly sent: Buffer[] = [];
  private readonly sockets: Socket[] = [];
  /** Whether what the daemon says goes on to the client. */
  answers = true;

  /** When a client has said its last. */
  readonly ended: Promise<void>;
  private onEnd!: () => void;

  private constructor(private readonly server: Server, readonly url: string) {
    this.ended = new Promise((resolve) => { this.onEnd = resolve; });
  }

  static async start(daemon: Daemon): Promise<Proxy> {
    const port = await daemon.port("tcp"), server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const proxy = new Proxy(server, `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("connection", (client) => {
      const upstream = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
      proxy.sockets.push(client, upstream);
      client.on("data", (bytes: Buffer) => {
        proxy.sent.push(bytes);
        upstream.write(bytes);
      }).on("end", () => {
        upstream.end();
        proxy.onEnd();
      }).on("error", () => upstream.destroy());
      upstream.on("data", (bytes: Buffer) => { if (proxy.answers) client.write(bytes); })
        .on("end", () => client.end()).on("error", () => client.destroy());
    });
    return proxy;
  }

  /** What came after preface and HELLO. */
  afterHello(): Buffer {
    const all = Buffer.concat(this.sent), hello = 16 + 32 + all.readUInt32LE(16);
    return all.subarray(hello);
  }

  /** Cuts all connections. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  stop(): void {
    this.cut();
    this.server.close();
  }
}
