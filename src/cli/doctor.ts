import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import path from "node:path";
import { WorkingFolders } from "../agent/grantedSettings.js";
import type { SettingsResolver } from "../config/resolve.js";
import { AppServers } from "../engines/codex/appServer/appServers.js";
import { configurationFault, homeInTemporaryFolder } from "../engines/codex/appServer/handshake.js";
import { findCodex, passedOver } from "../engines/codex/appServer/locate.js";
import type { RunningCodex } from "../engines/codex/appServer/supervisor.js";
import { retirementOf } from "../engines/native/model/modelTraits.js";
import { userShell } from "../engines/native/tools/hostEnvironment.js";
import { withoutSecrets } from "../exec/environment.js";
import { askLogin } from "../exec/loginEnvironment.js";
import type { WritablePlaces } from "../exec/outside/outsidePrograms.js";
import { openSandbox } from "../exec/sandbox/backend.js";
import { launchPlainly } from "../exec/sandbox/fullAccess.js";
import { describe } from "../lib/errors.js";
import { isFields } from "../lib/fields.js";
import { isKernelFileSystem } from "../lib/files/kernelFiles.js";
import { VERSION } from "../lib/version.js";
import { visibleLines } from "../lib/visibleText.js";
import { userHome } from "../platform/userAccount.js";
import { resolveSettings, type ServerContext } from "../server/context.js";
import { nativeUnlessUsable } from "../server/usableCodex.js";
import { writablePlaces } from "../server/writablePlaces.js";
import type { ThreadSettings } from "../threads/settings.js";
import { type DoctorFinding, nativeFindings } from "./doctorModels.js";

type DoctorContext = Pick<ServerContext, "options" | "env" | "serverCwd">;

/** Checks everything that a call needs, and reports what is wrong and how to fix it. */
export async function runDoctor(
  given: DoctorContext,
  { asJson }: { readonly asJson: boolean },
): Promise<{ report: string; healthy: boolean }> {
  const findings = await examineAll(given);
  const healthy = findings.every(({ verdict }) => verdict !== "fails");
  return { report: asJson ? reportForPrograms(findings, healthy) : reportForPeople(findings), healthy };
}

function reportForPrograms(findings: readonly DoctorFinding[], ready: boolean): string {
  return `${JSON.stringify({ version: VERSION, node: process.version, ready, findings }, undefined, 2)}\n`;
}

function reportForPeople(findings: readonly DoctorFinding[]): string {
  const problems = findings.filter(({ verdict }) => verdict === "fails").length;
  const lines = findings.map(({ verdict, subject, text }) => `${verdict.padEnd(6)} ${subject.padEnd(12)} ${visibleLines(text)}`);
  const result =
    problems === 0
      ? "Ready: a call can work."
      : `${problems === 1 ? "One problem" : `${problems} problems`}: calls will fail until this is fixed.`;
  return `codex-mcp-server ${VERSION}, Node ${process.version}\n\n${lines.join("\n")}\n\n${result}\n`;
}

/** The findings of the doctor, for programs. */
export async function examineAll(given: DoctorContext): Promise<readonly DoctorFinding[]> {
  return examine(await nativeUnlessUsable(given));
}

async function examine(context: DoctorContext): Promise<DoctorFinding[]> {
  let resolved: { codexHome: string; settings: SettingsResolver };
  let thread: ThreadSettings;
  let warnings: readonly string[];
  try {
    resolved = resolveSettings(context);
    warnings = resolved.settings.checkAtStart();
    thread = { ...resolved.settings.forNewThread({}), stated: resolved.settings.stated({}) };
  } catch (error) {
    return [{ verdict: "fails", subject: "config", text: describe(error) }];
  }
  const { codexHome } = resolved;
  const file = path.join(codexHome, "config.toml");
  return [
    { verdict: "ok", subject: "CODEX_HOME", text: codexHome },
    { verdict: "ok", subject: "config", text: existsSync(file) ? file : `${file} does not exist; built-in defaults are used` },
    ...warnings.map((text): DoctorFinding => ({ verdict: "note", subject: "config", text })),
    sessionsFinding(codexHome),
    defaultsFinding(context, thread),
    ...profileFindings(resolved.settings),
    await sandboxFinding(context),
    await loginFinding(context),
    ...(await engineFindings(context, thread, codexHome)),
  ];
}

/** Checks both engines. A problem of the engine that is not in use is only a note. */
async function engineFindings(
  { options, env, serverCwd }: DoctorContext,
  thread: ThreadSettings,
  codexHome: string,
): Promise<DoctorFinding[]> {
  if (options.engine === "scripted") return [SCRIPTED];
  const native = await nativeFindings(thread, { codexHome, env });
  const { codexBin } = options;
  const codex = await codexFinding({
    env,
    cwd: serverCwd,
    writable: writablePlaces({ serverCwd, env, cwd: options.cwd }),
    thread,
    codexHome,
    ...(codexBin === undefined ? {} : { codexBin }),
  });
  if (options.engine === "native") return [...native, ...noticeOf(options), notInUse(codex)];
  const engine: DoctorFinding = { verdict: "ok", subject: "engine", text: "codex" };
  return [engine, codex, ...native.map(underNative).map(notInUse)];
}

/** Why the engine is not the one that the user may expect. */
function noticeOf({ engineNotice }: DoctorContext["options"]): DoctorFinding[] {
  return engineNotice === undefined ? [] : [{ verdict: "note", subject: "engine", text: engineNotice }];
}

function underNative({ verdict, subject, text }: DoctorFinding): DoctorFinding {
  return { verdict, subject: "native", text: subject === "engine" ? text.replace("native, ", "") : `${subject}: ${text}` };
}

function notInUse(finding: DoctorFinding): DoctorFinding {
  return finding.verdict === "fails" ? { ...finding, verdict: "note" } : finding;
}

async function sandboxFinding({ options, env, serverCwd }: DoctorContext): Promise<DoctorFinding> {
  const sandbox = await openSandbox({
    env,
    writable: writablePlaces({ serverCwd, env, cwd: options.cwd }),
    ...(options.sandboxBin === undefined ? {} : { bin: options.sandboxBin }),
  });
  if (sandbox.backend !== "none")
    return { verdict: "ok", subject: "sandbox", text: `${sandbox.backend} was tested and works (${sandbox.detail})` };
  return { verdict: "note", subject: "sandbox", text: `none works here, so every command needs an approval: ${sandbox.detail}` };
}

function defaultsFinding({ options, env }: DoctorContext, thread: ThreadSettings): DoctorFinding {
  const text = `cwd ${thread.cwd}, approval ${thread.approvalPolicy}, sandbox ${thread.sandboxPolicy.type}`;
  const folders = new WorkingFolders({ home: userHome(env), isChosen: options.cwd !== undefined });
  try {
    folders.checkUsable(thread.cwd);
  } catch (error) {
    return { verdict: "fails", subject: "defaults", text: `${describe(error)} Or start the server with --cd DIR.` };
  }
  if (!folders.mustBeNamed(thread)) return { verdict: "ok", subject: "defaults", text };
  return { verdict: "note", subject: "defaults", text: `${text}: calls that name no \`cwd\` are refused; start the server with --cd DIR` };
}

/** Checks every profile, because a call may name any of them. */
function profileFindings(settings: SettingsResolver): DoctorFinding[] {
  return settings.profiles().flatMap(({ name, problem }): DoctorFinding[] => {
    if (problem === undefined) return [];
    const text = `calls with the profile ${name} fail: ${problem.replace("error loading config: ", "")}. Fix or remove the file.`;
    return [{ verdict: "fails", subject: "profile", text }];
  });
}

const QUICK_MS = 1_000;

/** How long the profile of the user's shell delays the first command. With the engine codex, Codex handles this itself. */
async function loginFinding({ env, serverCwd }: DoctorContext): Promise<DoctorFinding> {
  const shell = userShell(env);
  const wrap = (argv: readonly string[], given: Readonly<Record<string, string>>) => launchPlainly({ argv, cwd: serverCwd, env: given });
  const login = await askLogin({ shell, env: withoutSecrets(env, []), wrap });
  const found = (verdict: DoctorFinding["verdict"], text: string): DoctorFinding => ({
    verdict,
    subject: "shell",
    text: `${shell} ${text}`,
  });
  switch (login.kind) {
    case "known":
      return login.ms < QUICK_MS
        ? found("ok", "logs in within a second")
        : found("note", `takes ${(login.ms / 1_000).toFixed(1)} s to log in, once for each server: check its profile`);
    case "failed":
      return found(
        "note",
        `cannot be logged in to, so commands run without its profile: ${login.why}. Fix the profile, or make it faster.`,
      );
    case "unknown":
      return found("note", "is not a shell whose profile can be read in advance: it is read again for each command");
  }
}

const SCRIPTED: DoctorFinding = {
  verdict: "note",
  subject: "engine",
  text: "scripted: offline, plays the `!` lines of prompts; needs no key and is not a real model",
};

function sessionsFinding(codexHome: string): DoctorFinding {
  const folder = path.join(codexHome, "sessions");
  try {
    const existing = nearestExisting(folder);
    if (!statSync(existing).isDirectory()) throw new Error(`${existing} is not a folder`);
    accessSync(existing, constants.W_OK);
    if (isKernelFileSystem(statfsSync(existing).type)) throw new Error(`${existing} belongs to the kernel`);
    return { verdict: "ok", subject: "threads", text: `kept in ${folder}` };
  } catch (error) {
    return {
      verdict: "fails",
      subject: "threads",
      text: `${folder} cannot be written (${describe(error)}): set CODEX_HOME to a folder that can`,
    };
  }
}

/** A missing folder is created with the first thread, not by the check. */
function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(path.dirname(folder));
}

interface CodexPatient {
  readonly codexBin?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly writable: WritablePlaces;
  readonly codexHome: string;
  /** The settings of a new thread. */
  readonly thread: ThreadSettings;
}

const NONE = "none is on PATH (npm install -g @openai/codex, or --codex-bin PATH)";

/** Starts the installed Codex, if there is one, and checks its state. */
async function codexFinding(patient: CodexPatient): Promise<DoctorFinding> {
  const found = findCodex(patient);
  if (!found) return { verdict: "fails", subject: "codex", text: passedOver(patient) ?? NONE };
  const servers = new AppServers({ ...patient, report: () => {} });
  try {
    return await examineCodex(await servers.for(patient.thread).get(), patient);
  } catch (error) {
    return { verdict: "fails", subject: "codex", text: describe(error) };
  } finally {
    await servers.close();
  }
}

async function examineCodex({ server, program, version }: RunningCodex, patient: CodexPatient): Promise<DoctorFinding> {
  const { thread } = patient;
  const unconfined = homeInTemporaryFolder(patient);
  if (unconfined !== undefined) return { verdict: "fails", subject: "codex", text: unconfined };
  const fault = await configurationFault(server);
  if (fault !== undefined)
    return { verdict: "fails", subject: "codex", text: `${program}, version ${version}, can start no thread. ${fault}` };
  let kind: unknown;
  try {
    kind = asFields(asFields(await server.request("account/read", {}))["account"])["type"];
  } catch (error) {
    const text = `${program}, version ${version}, cannot check its login: ${describe(error).replace(/\.$/, "")}. Make sure that it reaches the network, or run \`codex login\` again`;
    return { verdict: "fails", subject: "codex", text };
  }
  if (thread.provider.requiresOpenaiAuth && typeof kind !== "string")
    return { verdict: "fails", subject: "codex", text: `${program}, version ${version}, is not logged in: run \`codex login\`` };
  const login = typeof kind === "string" ? `logged in (${kind})` : "no login needed";
  const unknown = await unknownModel(server, thread);
  if (unknown !== undefined) return { verdict: "fails", subject: "codex", text: `${program}, version ${version}: ${unknown}` };
  return { verdict: "ok", subject: "codex", text: `${program}, version ${version}, ${login}` };
}

/** Why OpenAI would refuse the model that config.toml or the command line names. Other providers have models that Codex does not know. */
async function unknownModel(server: RunningCodex["server"], { model, modelIsOurs, provider }: ThreadSettings): Promise<string | undefined> {
  if (modelIsOurs || !provider.requiresOpenaiAuth) return undefined;
  const { data } = asFields(await server.request("model/list", { limit: 100, includeHidden: true }).catch(() => undefined));
  const listed = (Array.isArray(data) ? data : []).map(asFields);
  if (listed.length === 0 || listed.some((entry) => entry["model"] === model || entry["id"] === model)) return undefined;
  const usual = listed.find((entry) => entry["isDefault"] === true)?.["model"];
  const instead = typeof usual === "string" ? `use ${usual}, or name none` : "name one that it lists";
  return `the model ${model} is not among its models (${retirementOf(model) ?? "retired, or not for this login"}): ${instead}`;
}

function asFields(value: unknown): Readonly<Record<string, unknown>> {
  return isFields(value) ? value : {};
}
