import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import path from "node:path";
import { ProgramNotStarted, WorkingFolderMissing } from "../../../exec/errors.js";
import type { SandboxPolicy } from "../../../exec/policies.js";
import { RpcError } from "../../../jsonrpc/errors.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import { Deadline, valueWithin } from "../../../lib/promises.js";
import type { OneOffCommand, OneOffResult } from "../../../threads/engineServices.js";
import type { Reach } from "../../../threads/limits.js";
import type { AppServer } from "../appServer/appServer.js";
import { GIT_VARIABLE } from "../appServer/appServerProcess.js";
import type { AppServers } from "../appServer/appServers.js";
import { codexRefusal } from "../appServer/errors.js";
import { asFields, asNumber, asText } from "../appServer/read.js";
import type { RunningCodex } from "../appServer/supervisor.js";
import type { EnforcedPolicy } from "../guard/permissionProfile.js";
import type { ThreadGuards } from "../guard/threadGuard.js";
import { sandboxPolicyParams } from "../translate/settings.js";

/** The limit kept of each stream. */
const OUTPUT_BYTES = 1_048_576;
/** Codex ends a command that takes too long; after this margin, we do. */
const MARGIN_MS = 5_000;
/** How long a command may take to end after `command/exec/terminate`. */
const TERMINATION_MS = 5_000;
const TIMED_OUT = 124;
const UNKNOWN = -1;

interface CommandPlaces {
  readonly servers: AppServers;
  readonly guards: ThreadGuards;
}

/** Runs a command in Codex's sandbox. When the signal aborts, rejects with its reason once the command is gone. */
export async function runInCodexSandbox(command: OneOffCommand, places: CommandPlaces, signal: AbortSignal): Promise<OneOffResult> {
  const { cwd, sandboxPolicy, reach } = command;
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) throw new WorkingFolderMissing(cwd);
  const env = { ...places.guards.withoutSecrets(), ...(reach ? GIT_AGAIN : {}) };
  const run = (codex: RunningCodex) => runIn(codex, { ...command, env, sandbox: policyOf(command) }, signal);
  if (sandboxPolicy.type === "danger-full-access") return places.servers.usual().lend(run);
  if (reach) return runGuarded({ ...command, reach, sandboxPolicy }, places, signal);
  // A command that may write its workspace can also write the working folder of Codex's own process.
  return sandboxPolicy.type === "workspace-write" ? places.servers.lendIn(cwd, run) : places.servers.usual().lend(run);
}

type GuardedCommand = OneOffCommand & { readonly reach: Reach; readonly sandboxPolicy: EnforcedPolicy };

/** Codex takes the profile of a single command only from its own configuration, so each command gets its own process. */
async function runGuarded(command: GuardedCommand, { servers, guards }: CommandPlaces, signal: AbortSignal): Promise<OneOffResult> {
  const { cwd, sandboxPolicy: policy, reach } = command;
  using guard = await guards.forCommand(servers.program(), { cwd, policy, reach });
  const { name, definition } = guard.profile;
  const settings = [`permissions.${name}=${inlineTable(definition)}`, `default_permissions=${JSON.stringify(name)}`];
  const run = (codex: RunningCodex) =>
    guards.hides(codex)
      ? runIn(codex, { ...command, env: guard.env, sandbox: { permissionProfile: name } }, signal)
      : runIn(codex, { ...command, env: guards.withoutSecrets(), sandbox: policyOf(command) }, signal);
  return servers.lendIn(cwd, run, settings);
}

interface PlacedCommand extends OneOffCommand {
  /** The sandbox parameters for Codex. */
  readonly sandbox: Fields;
  /** Changes to the environment that Codex gives it; null removes a variable. */
  readonly env: Readonly<Record<string, string | null>>;
}

/** Codex itself is kept from running git; commands are not. */
const GIT_AGAIN = { [GIT_VARIABLE]: null };

async function runIn({ server }: RunningCodex, command: PlacedCommand, signal: AbortSignal): Promise<OneOffResult> {
  const { argv, cwd, timeoutMs, check, sandbox, env } = command;
  signal.throwIfAborted();
  check?.();
  const processId = randomUUID();
  const params = { processId, command: argv, cwd, timeoutMs, outputBytesCap: OUTPUT_BYTES, env, ...sandbox };
  const running = server.request("command/exec", params, { timeoutMs: timeoutMs + MARGIN_MS + 2 * TERMINATION_MS });
  using overdue = new Deadline(timeoutMs + MARGIN_MS, () => new Error("The command has not ended in time."));
  const stop = AbortSignal.any([signal, overdue.signal]);
  let stopping: Promise<void> | undefined;
  const end = () => {
    stopping = endCommand(server, processId, running);
  };
  stop.addEventListener("abort", end, { once: true });
  try {
    const since = performance.now();
    const result = resultOf(await running, argv);
    if (overdue.signal.aborted) return { ...result, exitCode: TIMED_OUT, timedOut: true };
    // Codex ends a command that takes too long with the same code that a command may have chosen.
    return result.exitCode === TIMED_OUT && performance.now() - since >= timeoutMs ? { ...result, timedOut: true } : result;
  } catch (error) {
    throw whyNotRun(error, argv);
  } finally {
    stop.removeEventListener("abort", end);
    await stopping;
    signal.throwIfAborted();
  }
}

/** Codex is killed when it does not comply, which ends the command too. Never rejects. */
async function endCommand(server: AppServer, processId: string, running: Promise<unknown>): Promise<void> {
  const over = running.then(
    () => true,
    () => true,
  );
  const telling = server.request("command/exec/terminate", { processId }, { timeoutMs: TERMINATION_MS }).catch(() => undefined);
  const [isOver] = await Promise.all([valueWithin(TERMINATION_MS, over, false), telling]);
  if (!isOver) await server.kill("The Codex process was ended because it did not end a command when asked to.");
}

/** For a single command, Codex does not count the working folder as its workspace. */
function policyOf({ cwd, sandboxPolicy: policy }: OneOffCommand): Fields {
  return { sandboxPolicy: sandboxPolicyParams(policy.type === "workspace-write" ? withRoot(policy, cwd) : policy) };
}

function withRoot(policy: Extract<SandboxPolicy, { type: "workspace-write" }>, cwd: string): SandboxPolicy {
  return { ...policy, writable_roots: [...(policy.writable_roots ?? []), cwd].map((root) => path.resolve(cwd, root)) };
}

/** The table in TOML, whose strings are written like JSON's. */
function inlineTable(table: Fields): string {
  const entries = Object.entries(table).map(
    ([key, value]) => `${JSON.stringify(key)}=${isFields(value) ? inlineTable(value) : JSON.stringify(value)}`,
  );
  return `{${entries.join(",")}}`;
}

const NOT_EXECUTED = /^Failed to execvp .*: ([^:]+)$/;
const SPAWN_FAILED = /^failed to spawn command: (.+)$/;
const LONGEST_PANIC = 4_000;
const ERROR_NUMBER = / \(os error \d+\)$/;

function resultOf(answer: unknown, argv: readonly string[]): OneOffResult {
  const { exitCode, stdout, stderr } = asFields(answer);
  const reason = exitCode === 101 ? whyNotExecuted(asText(stderr)) : undefined;
  if (reason !== undefined) throw notStarted(argv, reason);
  const output = { stdout: asText(stdout), stderr: asText(stderr) };
  const isCut = Object.values(output).some((text) => Buffer.byteLength(text) >= OUTPUT_BYTES);
  return { exitCode: asNumber(exitCode) ?? UNKNOWN, ...output, ...(isCut && { isCut }) };
}

/**
 * The error of Codex's sandbox when the program is missing or not executable: two lines. The command itself may have written the text, so only
 * short lines are examined.
 */
function whyNotExecuted(stderr: string): string | undefined {
  const [panic = "", failed = ""] = stderr.trimStart().slice(0, LONGEST_PANIC).split("\n", 2);
  const isPanic = ["thread 'main' ", "panicked at ", "linux-sandbox"].every((words) => panic.includes(words));
  return isPanic ? NOT_EXECUTED.exec(failed)?.[1] : undefined;
}

function whyNotRun(error: unknown, argv: readonly string[]): unknown {
  const [, reason] = error instanceof RpcError ? (SPAWN_FAILED.exec(error.message) ?? []) : [];
  return reason === undefined ? codexRefusal(error, "run the command") : notStarted(argv, reason);
}

function notStarted([program = ""]: readonly string[], reason: string): ProgramNotStarted {
  return new ProgramNotStarted(program, reason.replace(ERROR_NUMBER, ""));
}
