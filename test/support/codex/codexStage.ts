import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { MemoryApprovalDesk } from "../../../src/approvals/desk.js";
import { createCodexEngine } from "../../../src/engines/codex/engine.js";
import type { ThreadSettings } from "../../../src/threads/settings.js";
import { ThreadRegistry } from "../../../src/threads/threadRegistry.js";
import { type ResponsesServer, startResponsesServer } from "../model/responsesServer.js";
import { killMarked, type MarkedProcess, processesMarked, RUN_MARK, stragglers } from "../processes/markedProcesses.js";
import { settingsIn, storeIn } from "../threads/rollouts.js";

/** A home and a workspace for a Codex whose model is the scripted one. */
export interface CodexStage extends AsyncDisposable {
  readonly codexHome: string;
  readonly workspace: string;
  readonly model: ResponsesServer;
  readonly env: Readonly<Record<string, string>>;
  readonly settings: ThreadSettings;
  /** All processes that run here. */
  processes(): MarkedProcess[];
  /** The Codex processes that run here. */
  appServers(): MarkedProcess[];
  /** The processes that still run here after a grace period, commands included. */
  leftovers(): Promise<MarkedProcess[]>;
}

/** Not the usual folder for temporary files: Codex refuses that as its home, and lets commands write there. */
const FOLDER = "/var/tmp";

interface StageOptions {
  /** The model of config.toml; undefined leaves it to Codex. */
  readonly model?: string | undefined;
  /** The address of another model than the stage's own. */
  readonly url?: string;
  /** How often a broken stream is retried. */
  readonly retries?: number;
}

const UNKNOWN_MODEL = "mock-model";

/** By default with a model that Codex does not know, so that every version offers the same tools. */
export async function setCodexStage(options: StageOptions = { model: UNKNOWN_MODEL }): Promise<CodexStage> {
  const root = realpathSync(mkdtempSync(path.join(FOLDER, "codex-stage-")));
  const [codexHome, workspace, home] = [path.join(root, "codex-home"), path.join(root, "ws"), path.join(root, "home")];
  for (const folder of [codexHome, workspace, home]) mkdirSync(folder);
  const model = await startResponsesServer();
  writeFileSync(path.join(codexHome, "config.toml"), configToml({ ...options, url: options.url ?? model.url }));
  const named = options.model === undefined ? { modelIsDefault: true } : { model: options.model };
  const { provider, ...settings } = settingsIn(workspace, named);
  return {
    codexHome,
    workspace,
    model,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      CODEX_HOME: codexHome,
      SHELL: "/bin/bash",
      LANG: "C.UTF-8",
      HTTPS_PROXY: "http://127.0.0.1:9",
      NO_PROXY: "127.0.0.1",
      [RUN_MARK]: root,
    },
    settings: { ...settings, provider: { ...provider, id: "mock", baseUrl: model.url, streamIdleTimeoutMs: 60_000 } },
    processes: () => processesMarked(root),
    appServers: () => processesMarked(root).filter(({ commandLine }) => commandLine.includes("app-server")),
    leftovers: () => stragglers(root, { graceMs: 3_000 }),
    async [Symbol.asyncDispose]() {
      killMarked(root);
      await model.close();
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A thread registry as in the server, whose threads are run by the Codex at `codexBin`. */
export function openCodexThreads({ codexHome, workspace, env, settings }: CodexStage, codexBin: string) {
  const reported: string[] = [];
  const report = (line: string) => reported.push(line);
  const desk = new MemoryApprovalDesk();
  const engine = createCodexEngine({ codexBin, env, cwd: workspace, report, defaults: () => settings });
  const settingsOf = () => settings;
  const threads = new ThreadRegistry({ engine, store: storeIn(codexHome), desk, settingsOf, idleMs: 60_000, report });
  return {
    engine,
    threads,
    desk,
    reported,
    async [Symbol.asyncDispose]() {
      threads.interruptAll();
      await threads.settle();
      await threads.close();
      await engine.close?.();
    },
  };
}

function configToml({ url, model, retries = 0 }: StageOptions): string {
  return `${model === undefined ? "" : `model = ${JSON.stringify(model)}`}
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "${url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = ${retries}
`;
}
