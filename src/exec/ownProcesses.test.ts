import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasOwnProcesses, mayBeDescendant, OwnConnections, ownProcesses } from "./ownProcesses.js";

/** A shell that has said that it runs, and what it started with it. */
async function started(program: string, args: readonly string[]): Promise<number> {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child.pid ?? 0;
}

describe.skipIf(process.platform !== "linux")("processes that this process has started", () => {
  it("is found with its own child processes", async () => {
    const pid = await started("sh", ["-c", "sh -c 'echo; read line'; echo"]);
    const found = await ownProcesses();
    expect(hasOwnProcesses()).toBe(true);
    expect(found).toContainEqual({ pid, confined: false });
    expect(found.length).toBeGreaterThan(1);
  });

  it("is recognised by its ancestors; a process that has ended may have been one", async () => {
    const pid = await started("sh", ["-c", "sh -c 'echo; read line'; echo"]);
    const found = await ownProcesses();
    const [inner] = found.filter((own) => own.pid !== pid && own.pid > pid);
    expect([pid, inner?.pid ?? 0, 2 ** 30].map(mayBeDescendant)).toEqual([true, true, true]);
    expect([1, process.ppid].map(mayBeDescendant)).toEqual([false, false]);
  });

  it.skipIf(process.getuid?.() !== 0)("is left out if it is in another network namespace (needs root)", async () => {
    const pid = await started("unshare", ["--net", "sh", "-c", "echo; read line"]);
    expect((await ownProcesses()).map((own) => own.pid)).not.toContain(pid);
  });
});

it("knows the open connections of this process by the address that the other side sees", async () => {
  const own = new OwnConnections();
  const server = createServer().listen(0, "::");
  onTestFinished(() => {
    own.close();
    server.close();
  });
  await once(server, "listening");
  const address = server.address();
  const coming = once(server, "connection");
  const client = connect(typeof address === "object" ? (address?.port ?? 0) : 0, "127.0.0.1");
  const [{ remoteAddress = "", remotePort = 0 }] = (await coming) as [Socket];
  await once(client, "connect");
  expect(remoteAddress).toBe("::ffff:127.0.0.1");
  expect([own.has(remoteAddress, remotePort), own.has(remoteAddress, remotePort + 1)]).toEqual([true, false]);
  client.destroy();
  await once(client, "close");
  expect(own.has(remoteAddress, remotePort)).toBe(false);
});
