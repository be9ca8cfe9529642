import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { createCodexEngine } from "../src/engines/codex/engine.js";
import { newThreadId, turnIdOf } from "../src/lib/ids.js";
import type { EngineThread } from "../src/threads/engine.js";
import type { TurnInput } from "../src/threads/events.js";
import type { Reach, TurnLimits } from "../src/threads/limits.js";
import type { ThreadSettings } from "../src/threads/settings.js";
import { buildAppServerDouble, type Faults, withFaults } from "./support/codex/appServerDouble.js";
import { REQUESTS_FILE } from "./support/codex/appServerDoubleServices.js";
import { type CodexStage, openCodexThreads, setCodexStage } from "./support/codex/codexStage.js";
import { turnContext } from "./support/threads/turns.js";

const double = await buildAppServerDouble();
afterAll(() => double[Symbol.dispose]());

type Fields = Readonly<Record<string, unknown>>;

const EVERYTHING: Reach = { folders: undefined };
const WRITABLE = { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false } as const;
const LOADING = new Set(["thread/start", "thread/resume"]);
const WORKING = new Set(["turn/start", "thread/settings/update"]);

function requestsOf({ codexHome }: CodexStage): { readonly method: string; readonly params: Fields }[] {
  const lines = readFileSync(path.join(codexHome, REQUESTS_FILE), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

async function play(thread: EngineThread, input: TurnInput, reach?: Reach): Promise<void> {
  for await (const _ of thread.run(input, { ...turnContext(), reach }));
}

function repeated<T>(times: number, value: T): T[] {
  return Array.from({ length: times }, () => value);
}

/** The requests that the app-server received for a thread that works, is reviewed and compacted, and is continued by a later server. */
async function requestsFor(stage: CodexStage, faults: Faults, { reach, settings }: { reach?: Reach; settings: ThreadSettings }) {
  const open = () => {
    const env = { ...withFaults(stage.env, faults), OTEL_EXPORTER_OTLP_HEADERS: "authorization=x" };
    return createCodexEngine({ codexBin: double.program, env, cwd: "/", report: () => {}, listens: reach !== undefined });
  };
  const first = open();
  const thread = await first.openThread({ id: newThreadId(), settings, reach });
  const review: TurnInput = { text: "", work: { kind: "review", target: { type: "baseBranch", branch: "main" } } };
  for (const input of [{ text: "!say one" }, { text: "!say two" }, review, { text: "", work: { kind: "compact" } } as const])
    await play(thread, input, reach);
  await thread.close?.();
  await first.close?.();
  const second = open();
  const history = { items: [], usage: null, settings: { cwd: settings.cwd } };
  const again = await second.openThread({ id: thread.kept?.id ?? newThreadId(), settings, history, reach });
  await play(again, { text: "!say three" }, reach);
  await again.close?.();
  await second.close?.();
  return requestsOf(stage);
}

it("a thread is loaded without permissions, and every turn states its confinement", async () => {
  await using stage = await setCodexStage();
  const settings = { ...stage.settings, approvalPolicy: "never", sandboxPolicy: WRITABLE } as const;
  const requests = await requestsFor(stage, {}, { settings });
  const loaded = requests
    .filter(({ method }) => LOADING.has(method))
    .map(({ params }) => [params["cwd"], params["sandbox"], params["approvalPolicy"]]);
  const worked = requests.filter(({ method }) => WORKING.has(method));
  const policy = { type: "workspaceWrite", writableRoots: [], networkAccess: false, excludeTmpdirEnvVar: false, excludeSlashTmp: false };
  expect(loaded).toEqual(repeated(2, [stage.workspace, "read-only", "never"]));
  expect(worked.map(({ params }) => [params["cwd"], params["sandboxPolicy"], params["approvalPolicy"]])).toEqual(
    repeated(5, [stage.workspace, policy, "never"]),
  );
});

it("a caller's thread is loaded with profiles that confine it, outside all trusted folders", async () => {
  await using stage = await setCodexStage();
  const config = {
    projects: { "/some/where": { trust_level: "trusted" } },
    shell_environment_policy: { exclude: ["MINE"] },
    mcp_servers: { here: { command: "npx" }, there: { command: "npx", cwd: "/srv" }, remote: { url: "http://x" } },
  };
  const settings = { ...stage.settings, approvalPolicy: "never", sandboxPolicy: WRITABLE } as const;
  const requests = await requestsFor(stage, { config }, { settings, reach: EVERYTHING });
  const loaded = requests.filter(({ method }) => LOADING.has(method)).map(({ params }) => params);
  const filesystem = expect.not.objectContaining({ [stage.codexHome]: "read" });
  expect(loaded).toEqual(
    repeated(
      2,
      expect.objectContaining({
        cwd: "/",
        permissions: "codex_mcpd_reading",
        config: expect.objectContaining({
          default_permissions: "codex_mcpd_reading",
          permissions: {
            codex_mcpd_reading: { filesystem, network: { enabled: false } },
            codex_mcpd_working: { filesystem: expect.objectContaining({ [stage.workspace]: "write" }), network: { enabled: false } },
          },
          shell_environment_policy: { exclude: ["MINE", "OTEL_EXPORTER_OTLP_HEADERS", "GIT_DIR"], set: {} },
          mcp_servers: { here: { cwd: stage.codexHome } },
        }),
      }),
    ),
  );
  expect(loaded.some((params) => "sandbox" in params)).toBe(false);
  const worked = requests
    .filter(({ method }) => WORKING.has(method))
    .map(({ params }) => [params["cwd"], params["permissions"], params["sandboxPolicy"]]);
  expect(worked).toEqual(repeated(5, [stage.workspace, "codex_mcpd_working", undefined]));
  const reviews = requests.filter(({ method }) => method === "review/start").map(({ params }) => params["target"]);
  expect(reviews).toEqual([{ type: "custom", instructions: expect.stringContaining('"main"') }]);
});

it.each<[string, TurnLimits | undefined, unknown]>([
  ["and the user grants them", undefined, { permissions: { network: { enabled: true } }, scope: "turn" }],
  [
    "and gets none under a ceiling, whatever the caller answers",
    { check: () => {}, confinement: { sandbox: "workspace-write", reason: "no" }, reach: EVERYTHING },
    { permissions: {}, scope: "turn" },
  ],
])("an agent asks for wider permissions, %s", async (_, limits, granted) => {
  await using stage = await setCodexStage();
  const wants = { network: { enabled: true } };
  await using codex = openCodexThreads({ ...stage, env: withFaults(stage.env, { wants }) }, double.program);
  const turn = await codex.threads.start(stage.settings, { text: "!say done", ...(limits ? { limits } : {}) }, turnIdOf("1"));
  let answer: string | undefined;
  for await (const batch of turn.log.read())
    for (const { value } of batch) {
      if (value.type === "approvalRequested") await codex.desk.answer(value.request.id, { kind: "approved" });
      if (value.type === "messageDelta" && value.itemId === "granted") answer = value.delta;
    }
  expect(JSON.parse(answer ?? "null")).toEqual(granted);
});
