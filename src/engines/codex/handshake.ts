import { RpcError } from "../../jsonrpc/errors.js";
import { isFields, textOrNothing } from "../../lib/fields.js";
import { VERSION } from "../../lib/version.js";
import type { AppServer } from "./appServer.js";
import { CodexUnusable } from "./errors.js";
import { readVersion, requireSupported } from "./version.js";

/** A start takes 0.1 s, a second on a busy machine. */
const HANDSHAKE_MS = 15_000;

const CLIENT = { name: "codex_mcpd", title: "codex-mcpd", version: VERSION };
/** Notifications that no reader of ours has a use for. */
const SILENCED = ["remoteControl/status/changed", "thread/readState/changed"];
/** Without these there is no engine, whatever the version. */
const NEEDED = ["thread/start", "thread/resume", "turn/start", "turn/interrupt"];

/** What the running Codex is and can do. */
export interface CodexAbilities {
  readonly version: string;
  /** Undefined when it does not say which methods it has: then they are tried. */
  readonly methods: ReadonlySet<string> | undefined;
  /** It lets us use what it calls experimental. */
  readonly isExperimental: boolean;
}

/** Introduces us and learns what this Codex can do. Throws `CodexUnusable` when it is not one that we can work with. */
export async function shakeHands(server: AppServer, program: string): Promise<CodexAbilities> {
  const { userAgent, isExperimental } = await initialize(server);
  const version = readVersion(userAgent);
  if (version === undefined)
    throw new CodexUnusable(`${program} answered, but not as a Codex app-server does: it did not tell its version.`);
  requireSupported(version, program);
  server.notify("initialized");
  const methods = await askMethods(server);
  const missing = methods && NEEDED.filter((method) => !methods.has(method));
  if (missing && missing.length > 0)
    throw new CodexUnusable(
      `Codex ${version} at ${program} no longer has ${missing.join(", ")}: it is newer than this server knows. Update codex-mcpd, or use --engine native.`,
    );
  return { version, methods, isExperimental };
}

async function initialize(server: AppServer): Promise<{ readonly userAgent: string; readonly isExperimental: boolean }> {
  const capabilities = { experimentalApi: true, requestAttestation: false, optOutNotificationMethods: SILENCED };
  try {
    const answer = await server.request("initialize", { clientInfo: CLIENT, capabilities }, { timeoutMs: HANDSHAKE_MS });
    return { userAgent: userAgentOf(answer), isExperimental: true };
  } catch (error) {
    // A Codex that does not know one of the capabilities may do without all of them.
    if (!(error instanceof RpcError)) throw error;
    const answer = await server.request("initialize", { clientInfo: CLIENT }, { timeoutMs: HANDSHAKE_MS });
    return { userAgent: userAgentOf(answer), isExperimental: false };
  }
}

function userAgentOf(answer: unknown): string {
  return (isFields(answer) ? textOrNothing(answer["userAgent"]) : undefined) ?? "";
}

/** The complaint about a method that cannot exist lists those that do. */
async function askMethods(server: AppServer): Promise<ReadonlySet<string> | undefined> {
  try {
    await server.request("codex_mcpd/which_methods", {}, { timeoutMs: HANDSHAKE_MS });
    return undefined;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const named = [...error.message.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    return named.includes("initialize") ? new Set(named) : undefined;
  }
}
