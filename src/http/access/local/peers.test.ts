import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { startGated } from "../../../../test/support/http/gatedServer.js";
import { type OwnSide, Peers } from "./localLogin.js";

const TOKEN = "an-example-token-of-some-length";
const SANDBOXED = {
  jsonrpc: "2.0",
  id: null,
  error: {
    code: -32_000,
    message: "Commands in a sandbox of this server may not call it. This connection comes from one, or cannot be distinguished from one.",
  },
};

/** Sends a request and prints the answer. The second program sends it for the first, which has no open socket. */
const CLIENT = `
  const { request } = require("node:http");
  const headers = process.argv[2] ? { authorization: "Bearer " + process.argv[2] } : {};
  request({ host: "127.0.0.1", port: process.argv[1], path: "/mcp", headers }, (response) => {
    let text = "";
    response.on("data", (piece) => (text += piece)).on("end", () => console.log(response.statusCode + " " + text));
  }).end();`;

function program(script: string, args: readonly string[] = []): ChildProcess {
  const child = spawn(process.execPath, ["-e", script, "--", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function answerTo(child: ChildProcess): Promise<readonly [number, unknown]> {
  const said = (await child.stdout?.setEncoding("utf8").toArray())?.join("") ?? "";
  return [Number(said.slice(0, 3)), JSON.parse(said.slice(4))];
}

/** A server that takes these processes for its own. */
function having(own: () => readonly { readonly pid: number; readonly confined: boolean }[]): OwnSide {
  return {
    connectsFrom: () => false,
    hasProcesses: () => own().length > 0,
    processes: async () => own(),
    mayBeOwn: (pid) => own().some((known) => known.pid === pid),
  };
}

const idOf = ({ pid }: ChildProcess) => pid ?? 0;

describe.skipIf(process.platform !== "linux")("a connection of a process that the server has started", () => {
  it.each([
    ["without a token", undefined, {}],
    ["with one", TOKEN, { tokens: [TOKEN] }],
  ])("is inside, %s", async (_, token, options) => {
    const children: ChildProcess[] = [];
    await using server = await startGated({
      ...options,
      ownSide: having(() => children.map((child) => ({ pid: idOf(child), confined: false }))),
    });
    const child = program(CLIENT, [String(server.port), token ?? ""]);
    children.push(child);
    expect(await answerTo(child)).toEqual([200, expect.objectContaining({ inside: true, scopes: ["call", "read"] })]);
  });

  it.each([
    ["without a token", undefined, {}],
    ["with one that is right", TOKEN, { tokens: [TOKEN] }],
    ["where every user comes in", undefined, { allowUnauthenticated: true }],
  ])("in a sandbox is refused, %s", async (_, token, options) => {
    const children: ChildProcess[] = [];
    await using server = await startGated({
      ...options,
      ownSide: having(() => children.map((child) => ({ pid: idOf(child), confined: true }))),
    });
    const child = program(CLIENT, [String(server.port), token ?? ""]);
    children.push(child);
    expect(await answerTo(child)).toEqual([403, SANDBOXED]);
  });

  it("is refused too if a command in a sandbox has passed its socket on to a process that was not listed", async () => {
    const listed = program("setInterval(() => {}, 1000)");
    const newer: ChildProcess[] = [];
    const ownSide: OwnSide = {
      ...having(() => [{ pid: idOf(listed), confined: true }]),
      mayBeOwn: (pid) => newer.some((child) => idOf(child) === pid),
    };
    await using server = await startGated({ ownSide });
    const child = program(CLIENT, [String(server.port), ""]);
    newer.push(child);
    expect(await answerTo(child)).toEqual([403, SANDBOXED]);
  });

  it("is not mixed up with others while one runs in a sandbox", async () => {
    const other = program("setInterval(() => {}, 1000)");
    await using server = await startGated({ ownSide: having(() => [{ pid: idOf(other), confined: true }]) });
    expect(await answerTo(program(CLIENT, [String(server.port), ""]))).toEqual([200, expect.not.objectContaining({ inside: true })]);
  });

  it("is refused if a sandbox runs and no process is found that holds the socket, as if a command hides it", async () => {
    const [hiding, other] = [program("setInterval(() => {}, 1000)"), program("setInterval(() => {}, 1000)")];
    // No process holds the client's socket: its own process counts as one of the sandbox, and shows no sockets.
    const sockets = await acceptedFrom((port) => connect(port, "127.0.0.1"));
    const own = [hiding, other].map((child) => ({ pid: idOf(child), confined: true }));
    const peers = new Peers({ tellsUsers: true, ownSide: having(() => [...own, { pid: process.pid, confined: true }]) });
    expect(await peers.of(sockets.accepted)).toEqual({ user: "own", place: "sandbox" });
  });
});

/** Both ends of a connection in this process. */
async function acceptedFrom(open: (port: number) => Socket): Promise<{ readonly accepted: Socket; readonly client: Socket }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const coming = once(server, "connection");
  const client = open(typeof address === "object" ? (address?.port ?? 0) : 0);
  const [accepted] = (await coming) as [Socket];
  onTestFinished(() => {
    client.destroy();
    accepted.destroy();
    server.close();
  });
  return { accepted, client };
}

describe.skipIf(process.platform !== "linux")("the other end of a connection", () => {
  it("has no known user after it has closed its side, although the kernel may report root", async () => {
    const { accepted, client } = await acceptedFrom((port) => connect({ port, host: "127.0.0.1", allowHalfOpen: true }));
    client.end();
    await once(client, "finish");
    expect(await new Peers({ tellsUsers: true }).of(accepted)).toEqual({ user: "unknown", place: "outside" });
  });

  it("counts as sandboxed if it has closed its side while a sandbox runs", async () => {
    const { accepted, client } = await acceptedFrom((port) => connect({ port, host: "127.0.0.1", allowHalfOpen: true }));
    client.end();
    await once(client, "finish");
    const ownSide = having(() => [{ pid: 1, confined: true }]);
    expect(await new Peers({ tellsUsers: false, ownSide }).of(accepted)).toEqual({ user: "unknown", place: "sandbox" });
  });

  it("is unknown if the connection closes during the look-up", async () => {
    const { accepted } = await acceptedFrom((port) => connect(port, "127.0.0.1"));
    const finding = new Peers({ tellsUsers: true }).of(accepted);
    accepted.destroy();
    expect(await finding).toEqual({ user: "unknown", place: "outside" });
  });

  it("is inside if it is this process", async () => {
    const { accepted } = await acceptedFrom((port) => connect(port, "127.0.0.1"));
    const ownSide: OwnSide = {
      connectsFrom: (address, port) => address === accepted.remoteAddress && port === accepted.remotePort,
      hasProcesses: () => false,
      processes: async () => [],
      mayBeOwn: () => false,
    };
    expect(await new Peers({ tellsUsers: false, ownSide }).of(accepted)).toEqual({ user: "own", place: "inside" });
  });

  it("is not looked up for a token if the server has started no process", async () => {
    const { accepted } = await acceptedFrom((port) => connect(port, "127.0.0.1"));
    expect(new Peers({ tellsUsers: false, ownSide: having(() => []) }).of(accepted)).toEqual({ user: "unknown", place: "outside" });
  });
});
