import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { RPC, RpcError } from "../../../jsonrpc/errors.js";
import { describe } from "../../../lib/errors.js";
import { isFields, textOrNothing } from "../../../lib/fields.js";
import { oneLine } from "../../../lib/oneLine.js";
import { VERSION } from "../../../lib/version.js";
import { Redactor } from "../../../observability/redact.js";
import { isInside, resolvedAsFarAsPossible } from "../../../platform/paths.js";
import type { AppServer } from "./appServer.js";
import { CodexUnusable, UNCAUGHT_ERROR } from "./errors.js";

/** A start takes 0.1 s, a second on a busy machine. */
const HANDSHAKE_MS = 15_000;

const CLIENT = { name: "codex_mcpd", title: "codex-mcpd", version: VERSION };
/** Notifications that nothing here uses. */
const SILENCED = ["remoteControl/status/changed", "thread/readState/changed"];
/** The engine needs these methods, whatever the version. */
const NEEDED = ["thread/start", "thread/resume", "turn/start", "turn/interrupt"];

/** The version and abilities of the running Codex. */
export interface CodexAbilities {
  readonly version: string;
  /** Undefined when it does not list its methods: then they are tried. */
  readonly methods: ReadonlySet<string> | undefined;
  /** It accepted our use of its experimental API. */
  readonly isExperimental: boolean;
}

/** Performs the handshake and determines what this Codex supports. Throws `CodexUnusable` when it cannot be used. */
export async function shakeHands(server: AppServer, program: string): Promise<CodexAbilities> {
  const { userAgent, isExperimental } = await initialize(server);
  const version = readVersion(userAgent);
  if (version === undefined)
    throw new CodexUnusable(`${program} responded, but not like a Codex app-server: it did not report its version.`);
  requireSupported(version, program);
  server.notify("initialized");
  const methods = await askMethods(server);
  const missing = methods && NEEDED.filter((method) => !methods.has(method));
  if (missing && missing.length > 0)
    throw new CodexUnusable(
      `Codex ${version} at ${program} no longer has ${missing.join(", ")}: its version is newer than this server supports. Update codex-mcpd, or use --engine native.`,
    );
  return { version, methods, isExperimental };
}

async function initialize(server: AppServer): Promise<{ readonly userAgent: string; readonly isExperimental: boolean }> {
  const capabilities = { experimentalApi: true, requestAttestation: false, optOutNotificationMethods: SILENCED };
  try {
    const answer = await server.request("initialize", { clientInfo: CLIENT, capabilities }, { timeoutMs: HANDSHAKE_MS });
    return { userAgent: userAgentOf(answer), isExperimental: true };
  } catch (error) {
    // A Codex that does not know one of the capabilities may accept the request without any.
    if (!(error instanceof RpcError)) throw error;
    const answer = await server.request("initialize", { clientInfo: CLIENT }, { timeoutMs: HANDSHAKE_MS });
    return { userAgent: userAgentOf(answer), isExperimental: false };
  }
}

function userAgentOf(answer: unknown): string {
  return (isFields(answer) ? textOrNothing(answer["userAgent"]) : undefined) ?? "";
}

/** The error for an unknown method lists the existing ones. */
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

/** Why Codex could not open any thread: it does not accept config.toml. Undefined if it does, or has no method that tells. */
export async function configurationFault(server: AppServer): Promise<string | undefined> {
  try {
    await server.request("config/read", { includeLayers: false });
    return undefined;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (error.code !== RPC.internalError) return undefined;
    const why = oneLine(error.message, LONGEST_FAULT).replace(/\.$/, "");
    return `It does not accept config.toml in CODEX_HOME: ${why}. Correct that, or use --engine native.`;
  }
}

const LONGEST_FAULT = 500;

/** The first version whose app-server behaves as we rely on: complete lists, policies that survive a resume. */
const OLDEST = [0, 150, 0] as const;
const PROBE_MS = 10_000;

/** Finds the version in texts such as `codex-cli 0.166.0` and `ours/0.166.0 (Debian …)`. */
export function readVersion(text: string): string | undefined {
  return /(?:^|[\s/v])(\d+\.\d+\.\d+(?:-[\w.]+)?)/.exec(text)?.[1];
}

/** The first version known to enforce permission profiles per thread, for commands, patches and its own reads. */
const FIRST_HIDING = [0, 160, 1] as const;

/** Whether a Codex can keep its commands from reading hidden files. Verified for Linux only. */
export function hidesSecrets(version: string, platform: string = process.platform): boolean {
  return platform === "linux" && isAtLeast(version, FIRST_HIDING);
}

/** Why a Codex must not serve several callers. */
export function cannotHide(version: string, program: string): string {
  return (
    `The Codex CLI at ${program}, version ${version}, cannot hide tokens, its login and the threads of other callers from commands, and more than one principal may call this server. ` +
    "Update it (npm install -g @openai/codex), accept only one token, or use --engine native."
  );
}

interface HomeOfCodex {
  readonly codexHome: string;
  readonly env: Readonly<NodeJS.ProcessEnv>;
}

/**
 * Why Codex cannot confine a command with this home; undefined when it can. Codex keeps its sandbox helper there, and refuses to do so in a
 * folder that commands may write: every sandboxed command would fail, while its turn completes.
 */
export function homeInTemporaryFolder({ codexHome, env }: HomeOfCodex, platform: string = process.platform): string | undefined {
  const folder = resolvedAsFarAsPossible(env["TMPDIR"] || "/tmp");
  if (platform === "win32" || !isInside(resolvedAsFarAsPossible(codexHome), folder)) return undefined;
  return (
    `CODEX_HOME is ${codexHome}, below the temporary folder ${folder}, where Codex refuses to keep the helper of its sandbox: no sandboxed command could run. ` +
    "Set CODEX_HOME to a folder elsewhere, or use --engine native."
  );
}

/** Throws `CodexUnusable` for an unsupported version; pre-releases count as their release. */
export function requireSupported(version: string, program: string): void {
  if (!isAtLeast(version, OLDEST))
    throw new CodexUnusable(
      `The Codex CLI at ${program} is version ${version}; at least ${OLDEST.join(".")} is needed. Update it (npm install -g @openai/codex), or use --engine native.`,
    );
}

function isAtLeast(version: string, oldest: readonly number[]): boolean {
  const parts = version.split(/[.-]/).map(Number);
  return (oldest.map((part, at) => (parts[at] ?? 0) - part).find((step) => step !== 0) ?? 0) >= 0;
}

/** Asks the program for its version, which costs a process start. */
export async function askVersion(program: string, env: NodeJS.ProcessEnv): Promise<string> {
  let text: string;
  try {
    ({ stdout: text } = await promisify(execFile)(program, ["--version"], { env, timeout: PROBE_MS, killSignal: "SIGKILL" }));
  } catch (error) {
    throw new CodexUnusable(`${program} did not report its version: ${howItFailed(error, env)}. ${INSTALL_AGAIN}`, { cause: error });
  }
  const version = readVersion(text);
  if (version === undefined)
    throw new CodexUnusable(
      `${program} is not a Codex CLI: asked for its version, it printed ${JSON.stringify(text.slice(0, 80))}. ${INSTALL_AGAIN}`,
    );
  return version;
}

/** The way out for a Codex that is damaged or incomplete. */
export const INSTALL_AGAIN = "Install it again (npm install -g @openai/codex), or use --engine native.";

const LONGEST_REASON = 300;

function howItFailed(error: unknown, env: NodeJS.ProcessEnv): string {
  const { stderr, killed } = isFields(error) ? error : {};
  if (killed === true) return `it did not answer within ${PROBE_MS / 1_000} s`;
  const [ownWords = describe(error)] = UNCAUGHT_ERROR.exec(textOrNothing(stderr) ?? "") ?? [];
  return oneLine(Redactor.forEnvironment(env).mask(ownWords.split("\n")[0] ?? ""), LONGEST_REASON).replace(/\.$/, "");
}
