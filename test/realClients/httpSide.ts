import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { ServerProcess } from "../support/processes/serverProcess.js";
import { isRecord } from "../support/scenarios/scenario.js";
import type { WireMessage } from "./wire.js";

/** The time in which a server must listen, and end. */
const SERVER_MS = 20_000;

/** A listening server behind a tap that records the messages of both sides. */
export interface HttpSide extends AsyncDisposable {
  readonly url: string;
  /** The messages since the last call. */
  takeWire(): readonly WireMessage[];
}

export interface HttpSideStart {
  /** Arguments of Node: the program and its own arguments. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export async function openHttpSide({ args, cwd, env }: HttpSideStart): Promise<HttpSide> {
  let told: (address: string) => void = () => {};
  const address = new Promise<string>((resolve) => {
    told = resolve;
  });
  const lines: string[] = [];
  const server = new ServerProcess(
    { program: process.execPath, args, cwd, env: { ...env } },
    {
      onLine: () => {},
      onErrorLine: (line) => {
        lines.push(line);
        const [, found] = /listening on (http:\/\/\S+)\/mcp/.exec(line) ?? [];
        if (found !== undefined) told(found);
      },
    },
  );
  const origin = await Promise.race([address, server.waitForEnd(SERVER_MS).then(() => undefined)]);
  if (origin === undefined) {
    server.kill("SIGKILL");
    throw new Error(`the server does not listen: ${lines.join(" ")}`);
  }
  const tap = await openTap(origin);
  return {
    url: `${tap.origin}/mcp`,
    takeWire: () => tap.takeWire(),
    async [Symbol.asyncDispose]() {
      await tap.close();
      server.kill("SIGTERM");
      if (!(await server.waitForEnd(SERVER_MS))) server.kill("SIGKILL");
    },
  };
}

interface Tap {
  readonly origin: string;
  takeWire(): readonly WireMessage[];
  close(): Promise<void>;
}

/** Forwards each request and its answer unchanged, and ends one side when the other ends. */
async function openTap(target: string): Promise<Tap> {
  let wire: WireMessage[] = [];
  const note = (direction: WireMessage["direction"], text: string) => {
    for (const message of messagesIn(text)) wire.push({ at: Date.now(), direction, message });
  };
  const server = createServer((incoming, response) => pass(incoming, response, { target, note }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    takeWire() {
      const taken = wire;
      wire = [];
      return taken;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Way {
  readonly target: string;
  readonly note: (direction: WireMessage["direction"], text: string) => void;
}

function pass(incoming: IncomingMessage, response: ServerResponse, { target, note }: Way): void {
  const { host } = new URL(target);
  const onward = request(
    `${target}${incoming.url ?? ""}`,
    { method: incoming.method, headers: { ...incoming.headers, host } },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      noted(answer, (text) => note("out", text));
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    },
  );
  noted(incoming, (text) => note("in", text));
  incoming.pipe(onward);
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
}

/** Reports each complete line, and the rest at the end. */
function noted(stream: IncomingMessage, note: (text: string) => void): void {
  let begun = "";
  stream.on("data", (part: Buffer) => {
    const lines = (begun + part.toString("utf8")).split("\n");
    begun = lines.pop() ?? "";
    for (const line of lines) note(line);
  });
  stream.on("end", () => note(begun));
}

/** Bodies and the data of events are JSON-RPC messages or lists of them. Anything else is skipped. */
function messagesIn(text: string): readonly WireMessage["message"][] {
  const json = text.startsWith("data:") ? text.slice("data:".length) : text;
  try {
    const said: unknown = JSON.parse(json);
    return (Array.isArray(said) ? said : [said]).filter(isRecord);
  } catch {
    return [];
  }
}
