import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { endianness, tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { addressBytes, type ClientView, TcpTable } from "./tcpTable.js";

/** A real connection within this machine: the client's end, and the server's view of it. */
async function connected(bind: string, target: string): Promise<{ readonly client: Socket; readonly view: ClientView }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, bind);
  await once(server, "listening");
  const address = server.address();
  const accepted = once(server, "connection");
  const client = connect({ host: target, port: typeof address === "object" ? (address?.port ?? 0) : 0, allowHalfOpen: true });
  await once(client, "connect");
  const [socket] = (await accepted) as [Socket];
  onTestFinished(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  const { remoteAddress = "", remotePort = 0, localAddress = "", localPort = 0 } = socket;
  return { client, view: { client: { address: remoteAddress, port: remotePort }, server: { address: localAddress, port: localPort } } };
}

describe.skipIf(process.platform !== "linux")("the kernel's table", () => {
  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1", "::ffff:127.0.0.1"],
    ["::", "127.0.0.1"],
    ["::1", "::1"],
  ])("knows the user and the inode of a connection to %s by %s", async (bind, target) => {
    const { view } = await connected(bind, target);
    expect(await new TcpTable().find(view)).toEqual({ kind: "open", uid: process.getuid?.(), inode: expect.stringMatching(/^[1-9]\d*$/) });
  });

  it("has no user for a socket that was closed, completely or for writing", async () => {
    const half = await connected("127.0.0.1", "127.0.0.1");
    half.client.end();
    await once(half.client, "finish");
    const whole = await connected("127.0.0.1", "127.0.0.1");
    whole.client.destroy();
    await once(whole.client, "close");
    const table = new TcpTable();
    expect(await Promise.all([table.find(half.view), table.find(whole.view)])).toEqual([{ kind: "closed" }, { kind: "closed" }]);
  });

  it("has no row for a connection that was not made here", async () => {
    const view = { client: { address: "192.0.2.1", port: 1 }, server: { address: "192.0.2.2", port: 2 } };
    expect(await new TcpTable().find(view)).toEqual({ kind: "absent" });
  });

  it("is read again if a row that must exist is missing, up to a limit", async () => {
    const { view } = await connected("127.0.0.1", "127.0.0.1");
    const folder = mkdtempSync(path.join(tmpdir(), "tcp-table-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [whole, lacking] = ["whole", "lacking"].map((name) => path.join(folder, name)) as [string, string];
    const rows = readFileSync("/proc/net/tcp", "utf8");
    writeFileSync(whole, rows);
    writeFileSync(lacking, `${rows.split("\n")[0]}\n`);
    /** The row appears at this reading. */
    const kindWhenThereAt = async (first: number) => {
      let readings = 0;
      const files = Object.assign([whole], { [Symbol.iterator]: () => [++readings < first ? lacking : whole].values() });
      return (await new TcpTable(files).findWithinMachine(view)).kind;
    };
    expect([await kindWhenThereAt(1), await kindWhenThereAt(4), await kindWhenThereAt(9)]).toEqual(["open", "open", "unknown"]);
  });

  it("answers many simultaneous look-ups, each with its own row", async () => {
    const many = await Promise.all(Array.from({ length: 50 }, () => connected("127.0.0.1", "127.0.0.1")));
    const table = new TcpTable();
    const found = await Promise.all(many.map(({ view }) => table.find(view)));
    expect(new Set(found.map((socket) => socket.kind === "open" && socket.inode)).size).toBe(50);
  });
});

describe.skipIf(endianness() !== "LE")("the text of a table", () => {
  const HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
  const VIEW = { client: { address: "127.0.0.1", port: 0xc350 }, server: { address: "127.0.0.1", port: 0x1000 } };
  const row = (state: string, uid: number, inode: number) =>
    `   1: 0100007F:C350 0100007F:1000 ${state} 00000000:00000000 00:00000000 00000000 ${uid}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;
  const other =
    "   0: 0100007F:C351 0100007F:1000 01 00000000:00000000 00:00000000 00000000  0        0 7 1 0000000000000000 20 4 30 10 -1\n";

  function tableOf(text: string): TcpTable {
    const folder = mkdtempSync(path.join(tmpdir(), "tcp-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(path.join(folder, "tcp"), text);
    return new TcpTable([path.join(folder, "tcp"), path.join(folder, "no-such-tcp6")]);
  }

  it.each([
    ["an open one", row("01", 1000, 42), { kind: "open", uid: 1000, inode: "42" }],
    ["one that waits for its end, with the number of root", row("06", 0, 0), { kind: "closed" }],
    ["one that nobody has taken, with the number of root", row("01", 0, 0), { kind: "closed" }],
    ["one whose process has closed it", row("05", 0, 0), { kind: "closed" }],
    ["one that is half closed", row("05", 1000, 42), { kind: "closed" }],
    ["none", "", { kind: "absent" }],
  ])("has %s", async (_, line, expected) => {
    expect(await tableOf(HEADER + other.repeat(3_000) + line).find(VIEW)).toEqual(expected);
  });

  it("that does not exist gives no answer", async () => {
    expect(await new TcpTable(["/no/such/tcp"]).find(VIEW)).toEqual({ kind: "unknown" });
  });

  it("that is invalid and endless is given up", async () => {
    expect(await new TcpTable(["/dev/zero"]).find(VIEW)).toEqual({ kind: "unknown" });
  });
});

it.each([
  ["127.0.0.1", [127, 0, 0, 1]],
  ["::ffff:127.0.0.1", [127, 0, 0, 1]],
  ["::FFFF:7f00:2", [127, 0, 0, 2]],
  ["::1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
  ["2001:db8::a:b%eth0", [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa, 0, 0xb]],
  ["1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]],
  ["localhost", undefined],
  ["", undefined],
])("the address %s is %j", (address, bytes) => {
  expect(addressBytes(address)).toEqual(bytes);
});
