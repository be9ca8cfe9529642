import { ThreadAccess } from "../agent/access.js";
import { Agent } from "../agent/agent.js";
import { Attendance } from "../agent/attendance.js";
import { callersInside, type Objection, type SessionId } from "../agent/caller.js";
import { type CeilingFlags, openCeilings } from "../agent/ceilings.js";
import { Feed } from "../agent/feed.js";
import { GrantedSettings, WorkingFolders } from "../agent/grantedSettings.js";
import { NamedSessions } from "../agent/namedSessions.js";
import type { OwnAddress } from "../agent/ownEntries.js";
import { Patience } from "../agent/patience.js";
import type { TurnLimiter } from "../agent/turnLimiter.js";
import type { DiskLook, LookedAtPlace } from "../agent/turnReceipts.js";
import { MemoryApprovalDesk } from "../approvals/desk.js";
import type { ApprovalFallback } from "../approvals/fallback.js";
import type { SettingsResolver } from "../config/resolve.js";
import { UserConfig } from "../config/userConfig.js";
import type { HostEnvironment } from "../engines/native/tools/hostEnvironment.js";
import type { WritablePlaces } from "../exec/outside/outsidePrograms.js";
import { writableFolders } from "../exec/sandbox/policy.js";
import { lazily } from "../lib/promises.js";
import { VERSION } from "../lib/version.js";
import { NO_TELEMETRY, type Telemetry } from "../observability/telemetry.js";
import { userHome } from "../platform/userAccount.js";
import { tuneForLongAnswers } from "../platform/v8.js";
import { NamedSessionFiles } from "../stores/files/namedSessions.js";
import type { OfferedModels } from "../stores/files/offeredModels.js";
import { OwnerFiles } from "../stores/files/owners.js";
import { sharedSecret } from "../stores/files/sharedSecret.js";
import { RolloutStore } from "../stores/files/threads/rolloutStore.js";
import type { ThreadSettings } from "../threads/settings.js";
import type { StoredSettings } from "../threads/store.js";
import { ThreadRegistry } from "../threads/threadRegistry.js";
import { type EngineOptions, openEngine, openHost } from "./chooseEngine.js";
import { writablePlaces } from "./writablePlaces.js";

export interface AgentOptions extends Omit<EngineOptions, "writable"> {
  readonly approvalFallback: ApprovalFallback;
  readonly settings: SettingsResolver;
  /** The profile from the command line. */
  readonly profile?: string | undefined;
  /** The default working folder, if the operator chose it. */
  readonly cwd?: string | undefined;
  /** For callers over the network and inside a turn. Absent ceilings have strict defaults. */
  readonly ceilings?: CeilingFlags | undefined;
  /** Why nothing may be started for a caller. Absent on a server that was not started inside a turn. */
  readonly objection?: Objection;
  /** The address on which the server listens, if any. */
  readonly ownAddress?: () => OwnAddress | undefined;
  readonly telemetry?: Telemetry;
  /** Whether a session's client is connected. Absent where there are no sessions. */
  readonly isAttended?: ((session: SessionId) => boolean) | undefined;
  /** The default waiting time of calls from the command line; `Infinity` is unlimited. */
  readonly waitMs?: number | undefined;
  /** Limits the number of concurrent turns. Absent where turns are not limited. */
  readonly limiter?: TurnLimiter;
  /** Remembers which models were offered. */
  readonly offered?: OfferedModels;
}

/** The agent with its engine, store and threads. Loaded on first use. */
export interface OpenAgent {
  readonly agent: Agent;
  /** Named sessions. */
  readonly sessions: NamedSessions;
  readonly access: ThreadAccess;
  readonly telemetry: Telemetry;
  /** The number of threads in memory. */
  readonly threadsLoaded: number;
  /** `why` is for the callers of these turns. */
  interruptAll(why?: string): void;
  /** Resolves when no turn runs and all writes are on disk. */
  settle(): Promise<void>;
  /** Ends processes that turns left running. */
  close(): Promise<void>;
}

export function openAgent(options: AgentOptions): OpenAgent {
  tuneForLongAnswers();
  const { codexHome, env, settings, report, telemetry = NO_TELEMETRY, objection = callersInside } = options;
  const { allowRoots = [], givenRoots } = options.ceilings ?? {};
  const writable = writablePlaces({ ...options, allowRoots: [...allowRoots, ...(givenRoots?.() ?? [])] });
  const { idleThreadMs, approvalTimeoutMs, containFullAccess, commandLimits, prices, unattendedTurnMs, waitMs, namedSessions } =
    settings.serverSettings();
  const engineOptions = { ...options, writable, containFullAccess, commandLimits };
  const host = openHost(engineOptions);
  const engine = openEngine({ ...engineOptions, host });
  const { serverCwd, ownAddress } = options;
  const granted = new GrantedSettings({ resolver: settings, engineName: engine.name, env, serverCwd, ownAddress, report });
  const inForce = (thread: ThreadSettings) => openFolders(writable, thread, env);
  const store = new RolloutStore({ codexHome, version: VERSION, env, warn: report });
  const desk = new MemoryApprovalDesk(approvalTimeoutMs);
  const feed = new Feed();
  const settingsOf = (stored: StoredSettings) => granted.forStoredThread(stored);
  const threads = new ThreadRegistry({ engine, store, desk, settingsOf, inForce, idleMs: idleThreadMs, observer: feed, report });
  const access = new ThreadAccess({
    owners: new OwnerFiles(codexHome),
    isAttended: options.isAttended ?? (() => true),
    sharesUnowned: () => settings.serverSettings().shareUnownedThreads,
    report,
  });
  const cursorKey = lazily(() => sharedSecret(codexHome, "cursor-key"));
  const attendance = new Attendance({ unattendedMs: unattendedTurnMs, report });
  const agent = new Agent({
    engine,
    threads,
    desk,
    access,
    cursorKey: () => cursorKey.get(),
    feed,
    attendance,
    patience: new Patience({ setMs: options.waitMs ?? waitMs }),
    limiter: options.limiter,
    ceilings: onFirstUse(() => openCeilings(options.ceilings ?? {}, options)),
    approvalFallback: options.approvalFallback,
    folders: new WorkingFolders({ home: userHome(env), isChosen: options.cwd !== undefined }),
    objection,
    prices,
    lookAt: (place) => lookAt(host, place),
    async readImage(file, forThread) {
      const { readImage } = await import("../engines/native/tools/images.js");
      return readImage(file, { ...forThread, host });
    },
    async readExcerpt(lines, forThread) {
      const { readExcerpt } = await import("../engines/native/tools/excerpts.js");
      return readExcerpt(lines, { ...forThread, host });
    },
    async checkCommand(argv, { features }) {
      if (features["exec_policy"] === false) return;
      const { checkForbidden } = await import("../exec/safety/judge/assess.js");
      await checkForbidden(argv, { codexHome });
    },
    settings: granted,
    inForce,
    onModelsRead: (models) => options.offered?.keep(models),
    userConfig: new UserConfig({ codexHome, profile: options.profile }),
  });
  const sessions = new NamedSessions({ agent, store: new NamedSessionFiles(codexHome), ...namedSessions, report });
  return {
    agent,
    sessions,
    access,
    telemetry,
    get threadsLoaded() {
      return threads.loadedCount;
    },
    interruptAll: (why) => threads.interruptAll(why),
    async settle() {
      await threads.settle();
      await sessions.settle();
      await options.offered?.settle();
      await store.settle();
    },
    async close() {
      feed.close();
      attendance.close();
      await threads.close();
      await engine.close?.();
      await host.close();
    },
  };
}

/**
 * Excludes the folders that a thread's commands may write: no program in them runs outside the sandbox. Only settings in force count.
 * Otherwise a refused request of one caller would make the programs in a folder unusable for all callers.
 */
function openFolders(writable: WritablePlaces, { sandboxPolicy: policy, cwd: workspace }: ThreadSettings, env: NodeJS.ProcessEnv): void {
  if (policy.type === "read-only") return;
  for (const folder of writableFolders(policy, { workspace, env })) writable.open(folder);
}

/** The code is loaded with the first turn that may change something. */
async function lookAt(host: HostEnvironment, { cwd, sinceMs, reach }: LookedAtPlace): Promise<DiskLook> {
  const { WorkspaceChanges } = await import("../exec/changes/workspaceChanges.js");
  const lookingFor = reach?.folders && { folders: reach.folders, foreign: reach.foreign ?? [] };
  return new WorkspaceChanges(host, { cwd, sinceMs, lookingFor });
}

/** On stdio there are no ceilings, so they are never created. */
function onFirstUse<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
