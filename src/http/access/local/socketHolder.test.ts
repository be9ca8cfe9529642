import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { ConnectionUsers } from "./connectionUsers.js";
import { HolderSearch } from "./socketHolder.js";

/** Both ends of a real connection in this process. */
async function connected(): Promise<{ readonly client: Socket; readonly server: Socket }> {
  const listener = createServer();
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  const client = connect({ host: "127.0.0.1", port: typeof address === "object" && address !== null ? address.port : 0 });
  const [server]: Socket[] = await once(listener, "connection");
  if (!server) throw new Error("no connection");
  onTestFinished(() => {
    client.destroy();
    server.destroy();
    listener.close();
  });
  return { client, server };
}

/** The inodes of this process's open sockets. */
function ownSockets(): string[] {
  return readdirSync("/proc/self/fd").flatMap((name) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${name}`))?.[1] ?? [];
    } catch {
      return [];
    }
  });
}

describe.skipIf(process.platform !== "linux")("the holder of a socket", () => {
  it("is found by its descriptors", async () => {
    const before = new Set(ownSockets());
    await connected();
    const inode = ownSockets().find((each) => !before.has(each));
    if (inode === undefined) throw new Error("the connection has no descriptor");
    const stranger = spawn("sleep", ["60"], { stdio: "ignore" });
    onTestFinished(() => void stranger.kill());
    await once(stranger, "spawn");
    const search = new HolderSearch(inode);
    expect(await search.isHeldBy(process.pid)).toBe(true);
    expect(await search.isHeldBy(stranger.pid ?? 0)).toBe(false);
    expect(await search.isHeldBy(2 ** 30)).toBe(false);
    expect(await search.isHeldByOther(new Set([process.pid]), () => false)).toBe(false);
    expect(await search.isHeldByOther(new Set([stranger.pid ?? 0]), () => false)).toBe(true);
    expect(await search.isHeldByOther(new Set([stranger.pid ?? 0]), (pid) => pid === process.pid)).toBe(false);
  });
});

describe.skipIf(process.platform !== "linux")("the user of a connection", () => {
  it("is the one who opened it, looked up once for the connection", async () => {
    const { server } = await connected();
    const users = new ConnectionUsers();
    const first = users.of(server);
    expect(first).toBeInstanceOf(Promise);
    expect(await first).toBe(process.getuid?.());
    expect(users.of(server)).toBe(process.getuid?.());
  });

  it("is unknown once the connection is closed", async () => {
    const { client, server } = await connected();
    client.destroy();
    await once(server.resume(), "close");
    expect(await new ConnectionUsers().of(server)).toBe("unknown");
  });
});
