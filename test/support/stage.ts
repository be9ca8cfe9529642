import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fillString, type Variables } from "./processes/placeholders.js";
import type { Scenario } from "./scenarios/scenario.js";

/** The folders of a scenario: empty except for the scenario's files, and removed afterwards. */
export interface Stage extends AsyncDisposable {
  readonly root: string;
  readonly workspace: string;
  readonly codexHome: string;
  readonly home: string;
}

/**
 * Commands may always write to the usual temporary folder, whatever the scenario's sandbox, and a folder of this project
 * lies in a git repository. This folder is neither.
 */
const FOLDER_FOR_STAGES = "/var/tmp";

export async function setStage(): Promise<Stage> {
  const root = await realpath(await mkdtemp(path.join(FOLDER_FOR_STAGES, "scenario-")));
  const stage = { root, workspace: path.join(root, "ws"), codexHome: path.join(root, "codex-home"), home: path.join(root, "home") };
  for (const folder of [stage.workspace, stage.codexHome, stage.home]) await mkdir(folder);
  return { ...stage, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true, maxRetries: 3 }) };
}

/** Writes config.toml and the workspace's files as the scenario wants them. */
export async function furnish(stage: Stage, scenario: Scenario, variables: Variables): Promise<void> {
  await writeFile(path.join(stage.codexHome, "config.toml"), fillString(configToml(scenario, variables), variables));
  for (const [name, content] of Object.entries(scenario.files ?? {})) {
    const file = path.join(stage.workspace, fillString(name, variables));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, fillString(content, variables));
  }
}

function configToml(scenario: Scenario, variables: Variables): string {
  const lines = [
    'model = "mock-model"',
    'model_provider = "mock"',
    scenario.config,
    "[model_providers.mock]",
    'name = "mock"',
    `base_url = "${String(variables["MOCK"])}"`,
    'wire_api = "responses"',
    scenario.provider ?? "request_max_retries = 0\nstream_max_retries = 0",
    scenario.tables,
  ];
  return `${lines.filter((line) => line !== undefined).join("\n")}\n`;
}

/** The environment of the played server: without our own variables, and without access to other machines. */
export function stageEnvironment(stage: Stage, scenario: Scenario, variables: Variables): Record<string, string> {
  const own = Object.entries(scenario.env ?? {}).map(([name, value]) => [name, fillString(value, variables)]);
  return {
    PATH: [path.dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
    HOME: stage.home,
    CODEX_HOME: stage.codexHome,
    LANG: "C.UTF-8",
    TZ: "UTC",
    TERM: "xterm",
    USER: "user",
    SHELL: "/bin/bash",
    HTTPS_PROXY: "http://127.0.0.1:9",
    ...Object.fromEntries(own),
  };
}

/** The workspace's files by their path, the beginning of each. */
export async function workspaceFiles(stage: Stage): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(stage.workspace, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    files[path.relative(stage.workspace, file)] = (await readFile(file, "utf8")).slice(0, 500);
  }
  return files;
}
