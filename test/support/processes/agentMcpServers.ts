import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import {
  type AgentServers,
  type AgentServersOptions,
  type McpStartupNews,
  openAgentServers,
} from "../../../src/engines/native/agentServers/agentServers.js";
import type { ServerHost } from "../../../src/engines/native/agentServers/openLink.js";
import { HostEnvironment } from "../../../src/engines/native/tools/hostEnvironment.js";
import type { Tool, ToolContext, ToolResult } from "../../../src/engines/native/tools/tool.js";
import { WritablePlaces } from "../../../src/exec/outside/outsidePrograms.js";
import type { ThreadEvent } from "../../../src/threads/events.js";
import type { McpServerSettings, McpServerTransport } from "../../../src/threads/settings.js";
import { eventually } from "../eventually.js";
import { folderOfRun } from "../runner/runFolders.js";
import { turnContext } from "../threads/turns.js";
import { RUN_MARK } from "./markedProcesses.js";

const NEVER = new AbortController().signal;

type Changes = Partial<Omit<McpServerSettings, "name" | "transport">>;

/** A configured server that runs one of the programs in test/programs. */
export function programServer(
  name: string,
  [program = "", ...args]: readonly string[],
  changes: Changes & ProgramChanges = {},
): McpServerSettings {
  const { env = {}, envVars = [], cwd, ...rest } = changes;
  const file = fileURLToPath(new URL(`../../programs/${program}.mjs`, import.meta.url));
  const transport: McpServerTransport = {
    kind: "program",
    command: process.execPath,
    args: [file, ...args],
    env,
    envVars,
    ...(cwd && { cwd }),
  };
  return { ...DEFAULTS, name, transport, ...rest };
}

interface ProgramChanges {
  readonly env?: Record<string, string>;
  readonly envVars?: readonly string[];
  readonly cwd?: string;
}

/** A configured server on HTTP. */
export function httpServer(name: string, url: string, changes: Changes & HttpChanges = {}): McpServerSettings {
  const { httpHeaders = {}, envHttpHeaders = {}, bearerTokenEnvVar, ...rest } = changes;
  const transport: McpServerTransport = { kind: "http", url, httpHeaders, envHttpHeaders, ...(bearerTokenEnvVar && { bearerTokenEnvVar }) };
  return { ...DEFAULTS, name, transport, ...rest };
}

interface HttpChanges {
  readonly httpHeaders?: Record<string, string>;
  readonly envHttpHeaders?: Record<string, string>;
  readonly bearerTokenEnvVar?: string;
}

const DEFAULTS = { startupTimeoutMs: 15_000, toolTimeoutMs: 15_000, disabledTools: [] } as const;

type OpeningOptions = Partial<Omit<AgentServersOptions, "host"> & ServerHost>;

/** Opened with a long timeout for slow machines, so that the servers are started for the next request. */
export function openServers(settings: readonly McpServerSettings[], options: OpeningOptions = {}): AgentServers {
  const { env = process.env, codexHome = home(), outside = host().outside, contain = containing, ...rest } = options;
  return openAgentServers(settings, {
    host: { env, codexHome, outside, contain },
    signal: NEVER,
    shorten: (text) => text,
    patienceMs: 15_000,
    ...rest,
  });
}

const containing: ServerHost["contain"] = (command) => host().contain(command);

/** The sandbox of this machine is probed once. */
let known: HostEnvironment | undefined;

function host(): HostEnvironment {
  known ??= new HostEnvironment({
    codexHome: home(),
    env: process.env,
    serverCwd: process.cwd(),
    writable: new WritablePlaces([process.cwd()]),
  });
  return known;
}

let folder: string | undefined;

function home(): string {
  folder ??= folderOfRun();
  return folder;
}

/** All start-up events, once the start is complete. */
export async function startupOf(servers: AgentServers): Promise<McpStartupNews[]> {
  const news: McpStartupNews[] = [];
  return eventually("the end of the start", () => {
    news.push(...servers.takeStartupEvents());
    return news.some(({ type }) => type === "mcpStartupCompleted") ? news : undefined;
  });
}

/** The tool of this name; fails if it is not offered. */
export async function toolNamed(servers: AgentServers, name: string): Promise<Tool> {
  const tool = await servers.find(name, { signal: NEVER });
  if (!tool) throw new Error(`There is no tool ${name}.`);
  return tool;
}

export interface PlayedCall {
  readonly events: readonly ThreadEvent[];
  readonly result: ToolResult;
}

/** Calls a tool as the model would, and returns all events and the model's result. */
export async function callNamed(servers: AgentServers, name: string, args = "{}", signal: AbortSignal = NEVER): Promise<PlayedCall> {
  const running = (await toolNamed(servers, name)).run(args, context(signal));
  const events: ThreadEvent[] = [];
  for (;;) {
    const step = await running.next();
    if (step.done) return { events, result: step.value };
    events.push(...step.value);
  }
}

/** The model's result, if it is a JSON object. */
export async function structuredAnswer(servers: AgentServers, name: string, args?: string): Promise<Record<string, unknown>> {
  const { result } = await callNamed(servers, name, args);
  return JSON.parse(result.output);
}

function context(signal: AbortSignal): ToolContext {
  return {
    callId: "call_1",
    signal,
    ask: turnContext(signal).ask,
    remember: (item) => ({ type: "rawItem", item }),
    isFreeform: false,
    asRecorded: false,
  };
}

/** A mark of a server and all its children, to find them in the process table. */
export function newMark(): { readonly mark: string; readonly env: Record<string, string> } {
  const mark = randomUUID();
  return { mark, env: { [RUN_MARK]: mark } };
}
