import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../eventually.js";
import { type McpServer, type ServerStart, startServer } from "../processes/mcpServer.js";
import { ask, type EventStream, type HttpQuestion, openStream, type Reply } from "./httpClient.js";

export interface HttpStart extends Omit<ServerStart, "args"> {
  /** Further flags; `--engine scripted --port 0` are given. */
  readonly args?: readonly string[];
  /** The lines of `[mcp_server.http]`. */
  readonly http?: string;
}

/** Starts the built server as a real process that listens on a free port of this machine, with the scripted model. */
export async function startHttpServer({ args = [], http, config, ...start }: HttpStart = {}): Promise<HttpServer> {
  const lines = [config, ...(http === undefined ? [] : ["[mcp_server.http]", http])].filter((part) => part !== undefined);
  const running = await startServer({
    ...start,
    ...(lines.length === 0 ? {} : { config: lines.join("\n") }),
    args: ["--engine", "scripted", "--port", "0", ...args],
  });
  try {
    return new HttpServer(running, await addressOf(running));
  } catch (error) {
    await running[Symbol.asyncDispose]();
    throw error;
  }
}

/** The server's line about its address. Fails with its output if it ended instead. */
export async function addressOf({ errorLines, process }: McpServer): Promise<string> {
  const told = await eventually("the line with the server's address", () => {
    const origin = errorLines.map((line) => /listening on (https?:\/\/\S+)\/mcp/.exec(line)?.[1]).find((found) => found !== undefined);
    return origin ?? (process.end ? { endedWith: process.end } : undefined);
  });
  if (typeof told === "string") return told;
  throw new Error(`The server ended with ${JSON.stringify(told.endedWith)}: ${errorLines.join("\n")}`);
}

/** A listening server, and clients for it. */
export class HttpServer implements AsyncDisposable {
  constructor(
    readonly running: McpServer,
    readonly origin: string,
  ) {}

  get url(): string {
    return `${this.origin}/mcp`;
  }

  get port(): number {
    return Number(new URL(this.origin).port);
  }

  ask(question: HttpQuestion): Promise<Reply> {
    return ask(this.origin, question);
  }

  stream(question: HttpQuestion): Promise<EventStream> {
    return openStream(this.origin, question);
  }

  /** The entry of this session in `GET /sessions`. */
  async session(id: string | undefined): Promise<SessionReport | undefined> {
    const { body } = await this.ask({ method: "GET", path: "/sessions" });
    return (body as { sessions: SessionReport[] }).sessions.find((session) => session.id === id);
  }

  /** Polls a session until the condition is true. */
  async sessionWhere(id: string | undefined, isSo: (session: SessionReport | undefined) => boolean): Promise<SessionReport | undefined> {
    const until = performance.now() + 45_000;
    for (;;) {
      const seen = await this.session(id);
      if (isSo(seen)) return seen;
      if (performance.now() > until) throw new Error(`It never came to that: ${JSON.stringify(seen)}`);
      await sleep(20);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.running[Symbol.asyncDispose]();
  }
}

export interface SessionReport {
  readonly id: string;
  readonly principal: string;
  readonly transport: string;
  readonly requests: number;
  readonly running: number;
  readonly streams: number;
  readonly messages: { readonly sent: number; readonly dropped: number; readonly disconnected: number; readonly keptBytes: number };
}
