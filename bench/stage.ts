import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { cacheFolder } from "./peers.js";

/** Programs that servers must not find: Codex runs `lsb_release` on every turn if it exists, and our server could use a `codex`. */
const HIDDEN_PROGRAMS = ["lsb_release", "codex"];
const NOBODY_LISTENS = "http://127.0.0.1:9";
/** The provider that every server is configured with, and its model. */
export const SCRIPTED_MODEL = "scripted";
const LOOPBACK = "127.0.0.1,localhost";

interface BenchHome {
  readonly codexHome: string;
  readonly workspace: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The folders and the environment of servers, the same for all of them. */
export class Stage {
  readonly #folder = path.join(cacheFolder(), `bench-${process.pid}`);
  readonly #searchPath: string;

  constructor() {
    this.#searchPath = searchPathWithoutHidden(path.join(this.#folder, "bin"));
  }

  /** The home of this name: created on first use, then as the last server left it. */
  home(name: string, modelUrl: string): BenchHome {
    const home = path.join(this.#folder, name);
    const codexHome = path.join(home, ".codex");
    const workspace = path.join(home, "workspace");
    mkdirSync(codexHome, { recursive: true });
    mkdirSync(workspace, { recursive: true });
    writeFileSync(path.join(codexHome, "config.toml"), configFor(modelUrl));
    mkdirSync(path.join(home, ".config/opencode"), { recursive: true });
    writeFileSync(path.join(home, ".config/opencode/opencode.json"), opencodeConfigFor(modelUrl));
    return { codexHome, workspace, env: { ...this.#environment(home, codexHome), ...modelEnvironment(modelUrl) } };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  // Network look-ups are refused at once instead of timing out, so that no server waits for them.
  #environment(home: string, codexHome: string): NodeJS.ProcessEnv {
    return {
      PATH: this.#searchPath,
      HOME: home,
      CODEX_HOME: codexHome,
      LANG: "C.UTF-8",
      TERM: "xterm",
      USER: "bench",
      SHELL: "/bin/bash",
      HTTPS_PROXY: NOBODY_LISTENS,
      HTTP_PROXY: NOBODY_LISTENS,
      NO_PROXY: LOOPBACK,
      no_proxy: LOOPBACK,
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    };
  }
}

// Whatever provider is configured, Codex asks OpenAI for its list of models when a thread starts, and retries for three
// seconds when it cannot: the scripted model answers that, too.
function modelEnvironment(modelUrl: string): NodeJS.ProcessEnv {
  return { BENCH_MODEL_URL: modelUrl, OPENAI_BASE_URL: modelUrl, OPENAI_API_KEY: "none" };
}

function configFor(modelUrl: string): string {
  return `model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "${modelUrl}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`;
}

function opencodeConfigFor(baseURL: string): string {
  const model = `${SCRIPTED_MODEL}/${SCRIPTED_MODEL}`;
  const models = { [SCRIPTED_MODEL]: { name: SCRIPTED_MODEL, tool_call: true, limit: { context: 10_000_000, output: 32_000 } } };
  const provider = { npm: "@ai-sdk/openai", name: SCRIPTED_MODEL, options: { baseURL, apiKey: "none" }, models };
  return JSON.stringify({
    autoupdate: false,
    share: "disabled",
    snapshot: false,
    permission: "allow",
    model,
    small_model: model,
    provider: { [SCRIPTED_MODEL]: provider },
  });
}

/** Our own PATH; each folder with a hidden program is replaced by a folder of links to its other programs. */
function searchPathWithoutHidden(linksFolder: string): string {
  const inherited = (process.env.PATH ?? "").split(path.delimiter).filter((folder) => folder !== "" && existsSync(folder));
  const folders = [...new Set(inherited.map((folder) => realpathSync(folder)))];
  return folders.map((folder, index) => withoutHidden(folder, path.join(linksFolder, String(index)))).join(path.delimiter);
}

function withoutHidden(folder: string, links: string): string {
  const programs = readdirSync(folder);
  if (!programs.some((program) => HIDDEN_PROGRAMS.includes(program))) return folder;
  mkdirSync(links, { recursive: true });
  for (const program of programs.filter((name) => !HIDDEN_PROGRAMS.includes(name))) {
    symlinkSync(path.join(folder, program), path.join(links, program));
  }
  return links;
}
