// Long because how the commands of a thread start, and which of them outlive their call, is decided with the same state.
import { afterLogin, type CommandEnvironment, commandEnvironment } from "../../../exec/environment.js";
import { CommandStarter, type Launch, type Permitted } from "../../../exec/launch.js";
import { isLoginShell, profileWarning } from "../../../exec/loginEnvironment.js";
import { MARK_VARIABLE, markText } from "../../../exec/nesting/turnMark.js";
import type { TruncationPolicy } from "../../../exec/output.js";
import { leadsToTrusted } from "../../../exec/outside/outsidePrograms.js";
import { TurnDiff } from "../../../exec/patch/changes.js";
import type { PatchPlan } from "../../../exec/patch/plan.js";
import { RecordedTurnDiff } from "../../../exec/patch/recordedTurnDiff.js";
import type { BashReader } from "../../../exec/safety/bash/reader.js";
import { isSystemProgram } from "../../../exec/safety/bash/words.js";
import { isKnownSafe } from "../../../exec/safety/judge/effects.js";
import { loadRules, ThreadRules } from "../../../exec/safety/rules/rules.js";
import type { Sandbox } from "../../../exec/sandbox/backend.js";
import { allowsNetwork } from "../../../exec/sandbox/policy.js";
import { ExecSessions } from "../../../exec/session.js";
import type { TurnId } from "../../../lib/ids.js";
import type { TurnContext } from "../../../threads/engine.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { truncationOf } from "../model/modelTraits.js";
import { secretVariables } from "../model/provider.js";
import type { HostEnvironment } from "./hostEnvironment.js";
import type { LateEvents } from "./lateEvents.js";
import { OWN_TMP, ThreadFiles } from "./threadFiles.js";

/** The purpose of a turn, as far as its tools need it. */
export interface TurnPurpose {
  /** False for a review, which changes nothing. */
  readonly changesFiles: boolean;
}

/** The turn that runs now, for parts that outlive turns. */
export interface CurrentTurn {
  /** The real path of the thread's folder at the time the thread was opened. */
  readonly workspace: string;
  running: (Pick<TurnContext, "ask" | "confined" | "reach" | "turnId"> & TurnPurpose) | undefined;
  readonly lateEvents: LateEvents;
}

/** What was allowed for the rest of a thread. */
interface Allowances {
  readonly rules: ThreadRules;
  /** Commands and files. */
  readonly approved: Set<string>;
}

/** The state of one thread's tools: its settings, what was allowed on it, and what its turn has changed so far. */
export class ToolRuntime {
  readonly #turns: CurrentTurn;

  readonly files: ThreadFiles;
  readonly #allowances: Readonly<Record<"confined" | "free", Allowances>>;
  #profile: "untold" | { readonly warning: string } | "told" = "untold";
  /** The environments of commands, by sandbox and kind of output. Apart from these, all commands of a thread have the same one. */
  readonly #environments = new Map<string, CommandEnvironment>();
  #sessions: ExecSessions | undefined;
  /** The sandbox that has placeholders to remove. */
  #untidied: Sandbox | undefined;
  /** Undefined before the first patch of a turn. */
  #turnDiff: TurnDiff | RecordedTurnDiff | undefined;

  constructor(
    readonly settings: ThreadSettings,
    readonly host: HostEnvironment,
    turns: CurrentTurn,
  ) {
    this.#turns = turns;
    this.files = new ThreadFiles(settings, host, turns);
    const userRules = () => (settings.features["exec_policy"] === false ? [] : loadRules(host.codexHome).rules);
    const nothingYet = (): Allowances => ({ rules: new ThreadRules(userRules), approved: new Set() });
    this.#allowances = { confined: nothingYet(), free: nothingYet() };
  }

  /** The running turn may not leave the sandbox. */
  get confined(): boolean {
    return this.#turns.running?.confined ?? false;
  }

  /** The running turn may apply patches. */
  get takesPatches(): boolean {
    return this.#turns.running?.changesFiles ?? true;
  }

  get rules(): ThreadRules {
    return this.#allowed.rules;
  }

  get approved(): Set<string> {
    return this.#allowed.approved;
  }

  /** Confined and unconfined turns do not share allowances. */
  get #allowed(): Allowances {
    return this.#allowances[this.confined ? "confined" : "free"];
  }

  /** From then on Codex 0.92.0 followed the files of a patch, whatever became of it. */
  noteInTurnDiff(plan: PatchPlan): void {
    const diff = this.#turnDiff instanceof RecordedTurnDiff ? this.#turnDiff : new RecordedTurnDiff();
    diff.note(plan);
    this.#turnDiff = diff;
  }

  /** Adds an applied patch to the diff of the running turn, and returns that diff. */
  addToTurnDiff(plan: PatchPlan): Promise<string | undefined> {
    this.#turnDiff ??= new TurnDiff();
    this.#turnDiff.add(plan);
    return this.turnDiff();
  }

  /** The diff of the files changed by the running turn's patches; undefined without changes. */
  async turnDiff(): Promise<string | undefined> {
    return this.#turnDiff?.text({ mayRead: this.files.mayRead });
  }

  /** Commands that may outlive the call that started them. */
  get sessions(): ExecSessions {
    this.#sessions ??= new ExecSessions();
    return this.#sessions;
  }

  /** Whether a command is running that has outlived its call. */
  get keepsRunning(): boolean {
    return (this.#sessions?.size ?? 0) > 0;
  }

  beginTurn(): void {
    this.#turnDiff = undefined;
    this.files.beginTurn();
  }

  toolBegins(): void {
    this.tidyUp();
    this.files.toolBegins();
  }

  /** All calls of one model response have run. Tidying up waits until the next request has been sent, because its response takes longer. */
  callsEnded(): void {
    // A command that still runs may create more files until the turn ends.
    if (!this.keepsRunning) this.files.toolsEnded();
    setImmediate(() => this.tidyUp());
  }

  /** Removes the placeholders that protected the folder while commands ran. */
  tidyUp(): void {
    this.#untidied?.tidyUp();
    this.#untidied = undefined;
  }

  /** Events of commands that continue to run after their call, as Codex 0.92.0 showed them. */
  get lateEvents(): LateEvents {
    return this.#turns.lateEvents;
  }

  get turnId(): TurnId | undefined {
    return this.#turns.running?.turnId;
  }

  /** The ends, so far unseen, of commands that outlived their call. The tools that start such commands replace this. */
  takeEnds: () => readonly ThreadEvent[] = () => [];

  /** Ends the commands that still run, as Codex 0.92.0 did at the end of their turn. `close` waits for their end. */
  endCommands(): void {
    void this.#sessions?.endAll();
  }

  async close(): Promise<void> {
    await this.#sessions?.endAll();
    this.files.close();
  }

  ruleWarnings(): readonly string[] {
    return loadRules(this.host.codexHome).warnings;
  }

  get truncation(): TruncationPolicy {
    return truncationOf(this.settings);
  }

  async isSandboxEnforced(): Promise<boolean> {
    return (await this.host.sandbox()).backend !== "none";
  }

  /** Starts a command inside the thread's sandbox or, if that was decided, outside of it. */
  starter(argv: readonly string[], options: Omit<LaunchOptions, "sandboxed">): CommandStarter {
    const launchOf = ({ wrap, words, env }: PreparedCommand) => wrap(words, env);
    return new CommandStarter({
      now: async (how) => launchOf(await this.#prepare(argv, { ...options, ...how })),
      ahead: async (how) => {
        const prepared = await this.#prepare(argv, { ...options, ...how, runsNothing: true });
        return prepared && launchOf(prepared);
      },
    });
  }

  /**
   * For threads whose read-only commands run without approval outside the sandbox: whether a name leads to a program that no command can
   * have planted.
   */
  async trustedPrograms(argv: readonly string[], cwd: string): Promise<((name: string) => boolean) | undefined> {
    const { approvalPolicy, sandboxPolicy, cwd: workspace } = this.settings;
    if (approvalPolicy !== "untrusted" || sandboxPolicy.type !== "danger-full-access") return undefined;
    const trustedIn = (env: CommandEnvironment) => this.#trustedBy(env, { cwd, workspace });
    const trusted = trustedIn(this.#environment("none", false));
    if (!isLoginShell(argv)) return trusted;
    // Only running the shell's profile would show its search path, but that has not been approved yet.
    const [shell] = argv;
    if (!isSystemProgram(shell) || !(shell.includes("/") || trusted(shell))) return () => false;
    const { words, env } = await this.#prepare(argv, { cwd, sandboxed: false });
    return words === argv ? () => false : trustedIn(env);
  }

  /** Whether a command is known to change nothing, so that its changes need not be examined. */
  onlyLooks({ argv, cwd }: { readonly argv: readonly string[]; readonly cwd: string }, parser: BashReader): boolean {
    const trusts = this.#trustedBy(this.#environment("none", false), { cwd, workspace: this.settings.cwd });
    return isKnownSafe(argv, parser, { trusts });
  }

  #trustedBy(env: CommandEnvironment, { cwd, workspace }: { readonly cwd: string; readonly workspace: string }): (name: string) => boolean {
    return (name) => leadsToTrusted(name, { searchPath: env["PATH"] ?? "", cwd, workspace }, this.host.outside);
  }

  async #prepare(argv: readonly string[], options: LaunchOptions): Promise<PreparedCommand>;
  async #prepare(argv: readonly string[], options: LaunchOptions & { readonly runsNothing: true }): Promise<PreparedCommand | undefined>;
  async #prepare(
    argv: readonly string[],
    { cwd, sandboxed, endsInCall = false, plainOutput = false, runsNothing }: LaunchOptions & { readonly runsNothing?: true },
  ): Promise<PreparedCommand | undefined> {
    const sandbox = await this.host.sandbox();
    await this.files.lookAround();
    const { sandboxPolicy } = this.settings;
    // The final check, whatever was decided before.
    const policy = sandboxed || this.confined ? sandboxPolicy : ({ type: "danger-full-access" } as const);
    const { workspace, workRoots, opensElsewhere, guarded, caller } = this.files.confinement(policy);
    const env = { ...this.#environment(sandbox.backend, plainOutput), ...(caller ? OWN_TMP : {}) };
    const mark = { [MARK_VARIABLE]: markText(this.host.mark(this.settings)) };
    const wrap = (words: readonly string[], environment: CommandEnvironment) => {
      if (endsInCall) this.#untidied = sandbox;
      return sandbox.wrap(words, {
        policy,
        workspace,
        cwd,
        env: { ...environment, ...mark },
        guarded,
        caller,
        workRoots,
        opensElsewhere,
        tidiedLater: endsInCall,
        ignoresBrokenPipes: this.settings.asRecorded,
      });
    };
    // A profile in a folder that one caller may write must not be used for others.
    const seenBy = caller ? JSON.stringify(caller.shown) : "the user";
    if (!isLoginShell(argv)) return { wrap, words: argv, env };
    const [shell, , script] = argv;
    const logins = await this.host.logins();
    const login = await (runsNothing ? logins.known({ shell, env, seenBy, wrap }) : logins.of({ shell, env, seenBy, wrap }));
    if (!login) return undefined;
    const { shellEnvironment, provider } = this.settings;
    const plainly = [shell, "-c", script];
    switch (login.kind) {
      case "known":
        return { wrap, words: plainly, env: afterLogin(shellEnvironment, login.env, secretVariables(provider)) };
      case "failed":
        if (this.#profile === "untold") this.#profile = { warning: profileWarning(shell, login.why) };
        return { wrap, words: plainly, env };
      case "unknown":
        // A profile that cannot be examined may export anything, and other callers would see it.
        return { wrap, words: shellEnvironment.hidesLikelySecrets ? plainly : argv, env };
    }
  }

  /** The warning that commands run without the profile of the user's shell; returned once. */
  takeProfileWarning(): readonly string[] {
    if (typeof this.#profile === "string") return [];
    const { warning } = this.#profile;
    this.#profile = "told";
    return [warning];
  }

  #environment(sandbox: "bubblewrap" | "seatbelt" | "none", plainOutput: boolean): CommandEnvironment {
    const { shellEnvironment, sandboxPolicy, provider } = this.settings;
    const key = `${sandbox} ${plainOutput}`;
    const known = this.#environments.get(key);
    if (known) return known;
    const made = commandEnvironment(shellEnvironment, this.host.env, {
      secrets: secretVariables(provider),
      network: allowsNetwork(sandboxPolicy),
      sandbox,
      plainOutput,
    });
    this.#environments.set(key, made);
    return made;
  }
}

interface PreparedCommand {
  readonly words: readonly string[];
  readonly env: CommandEnvironment;
  readonly wrap: (words: readonly string[], env: CommandEnvironment) => Launch;
}

interface LaunchOptions extends Permitted {
  readonly cwd: string;
  readonly plainOutput?: boolean;
  /** The command does not outlive the call that starts it. */
  readonly endsInCall?: boolean;
}
