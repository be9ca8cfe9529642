import { appendFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ProgramNotStarted } from "../../src/exec/errors.js";
import type { SandboxPolicy } from "../../src/exec/policies.js";
import { newThreadId, type ThreadId, turnIdOf } from "../../src/lib/ids.js";
import type { EngineServices } from "../../src/threads/engineServices.js";
import { ThreadBusyElsewhere, ThreadNotFound } from "../../src/threads/errors.js";
import type { ThreadSettings } from "../../src/threads/settings.js";
import type { ThreadRegistry } from "../../src/threads/threadRegistry.js";
import { publishedCases } from "../support/codex/codexPeers.js";
import { type CodexStage, openCodexThreads, setCodexStage } from "../support/codex/codexStage.js";
import { eventually } from "../support/eventually.js";

const CASES = await publishedCases();
const unending = new AbortController().signal;
const READ_ONLY: SandboxPolicy = { type: "read-only" };
const FULL_ACCESS: SandboxPolicy = { type: "danger-full-access" };

describe.each(CASES)("what Codex offers besides turns ($version, $family)", { timeout: 120_000 }, ({ program, model }) => {
  it("starts its process when none runs, and ends it afterwards", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    expect((await codex.services.models(unending)).length).toBeGreaterThan(0);
    expect(await stage.leftovers()).toEqual([]);
  });

  it("uses the process of the threads that are open", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    await played(codex.threads, stage.settings, "!say alpha");
    const before = stage.appServers();
    await codex.services.models(unending);
    expect(stage.appServers()).toEqual(before);
  });

  it("says what to do if no connection for a code is possible", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    await expect(codex.services.account.loginWithDeviceCode()).rejects.toThrow(
      /^Codex did not get a code for the login: .*auth\.openai\.com.*\. Check that the machine of this server reaches/,
    );
    expect(await stage.leftovers()).toEqual([]);
  });

  it("reports that a provider without login needs none", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    expect(await codex.services.account.state()).toEqual({ kind: "none", isNeeded: false });
  });
});

describe.each(CASES)("threads that Codex keeps ($version, $family)", { timeout: 120_000 }, ({ program, model }) => {
  it.each(["cli", "vscode", "exec", "mcp", "unknown"])("are listed if they were started by %s", async (source) => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    const id = writeThread(stage, { source, prompt: "look  around\nhere" });
    expect(await codex.threads.list({ limit: 10 })).toEqual({
      threads: [
        {
          id,
          path: expect.stringContaining(id),
          preview: "look around here",
          cwd: stage.workspace,
          startedAt: expect.stringMatching(/^2026-01-02T/),
          lastUsedAt: expect.stringMatching(/^\d{4}-/),
        },
      ],
    });
  });

  it("can be archived although they are loaded in the process of another provider", async () => {
    await using stage = await setCodexStage({ model });
    const provider = { name: "other", base_url: stage.model.url, wire_api: "responses" };
    const settings = {
      ...stage.settings,
      provider: { ...stage.settings.provider, id: "other" },
      stated: { model_providers: { other: provider } },
    };
    await using codex = await opened(stage, program);
    const [one, two] = [await played(codex.threads, settings, "!say alpha"), await played(codex.threads, settings, "!say beta")];
    await codex.threads.archive(one);
    const { threads } = await codex.threads.list({ limit: 10 });
    expect(threads.map(({ id }) => id)).toEqual([two]);
  });

  it("cannot be archived while another Codex has them", async () => {
    await using stage = await setCodexStage({ model });
    await using other = await opened(stage, program);
    const id = await played(other.threads, stage.settings, "!say alpha");
    await using codex = await opened(stage, program);
    await expect(codex.threads.archive(id)).rejects.toThrow(ThreadBusyElsewhere);
  });

  it("must be unarchived before they are used", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    const id = await played(codex.threads, stage.settings, "!say alpha");
    await codex.threads.archive(id);
    await expect(codex.threads.fork(id)).rejects.toThrow(`Thread ${id} is archived. Unarchive it first.`);
  });

  it("can get titles, which the list shows and the search finds, and can be removed, archived ones too", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    const [one, two] = [
      await played(codex.threads, stage.settings, "!say alpha"),
      await played(codex.threads, stage.settings, "!say beta"),
    ];
    await codex.threads.rename(one, "The Greek letter");
    expect((await codex.threads.list({ limit: 10, search: "greek" })).threads).toMatchObject([{ id: one, name: "The Greek letter" }]);
    await codex.threads.archive(two);
    await expect(codex.threads.rename(two, "Another")).rejects.toThrow(`Thread ${two} is archived. Unarchive it first.`);
    for (const id of [one, two]) await codex.threads.remove(id);
    expect([await codex.threads.list({ limit: 10 }), await codex.threads.list({ limit: 10, archived: true })]).toEqual([
      { threads: [] },
      { threads: [] },
    ]);
    for (const act of [() => codex.threads.remove(one), () => codex.threads.rename(one, "x")])
      await expect(act()).rejects.toEqual(new ThreadNotFound(one));
  });

  it("continue as forks after their origin is archived, while other threads stay open", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    await played(codex.threads, stage.settings, "!say stays open");
    const source = await played(codex.threads, stage.settings, "!say alpha");
    const fork = await codex.threads.fork(source);
    await codex.threads.archive(source);
    const turn = await codex.threads.reply(fork, { text: "go on" });
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "alpha" });
  });
});

describe.each(CASES)("a single command in Codex's sandbox ($version, $family)", { timeout: 120_000 }, ({ program, model }) => {
  it.each([READ_ONLY, FULL_ACCESS])("that is not a program is reported as not run: $type", async (sandboxPolicy) => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    const command = { argv: ["no-such-program"], cwd: stage.workspace, sandboxPolicy, timeoutMs: 10_000 };
    await expect(codex.services.runOnce(command, unending)).rejects.toEqual(
      new ProgramNotStarted("no-such-program", "No such file or directory"),
    );
  });

  it.each([READ_ONLY, FULL_ACCESS])("is killed when it is cancelled, although it ignores signals: $type", async (sandboxPolicy) => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    await played(codex.threads, stage.settings, "!say the process goes on");
    const abort = new AbortController();
    const argv = ["sh", "-c", "trap '' TERM INT HUP; sleep 300; sleep 300"];
    const running = codex.services.runOnce({ argv, cwd: stage.workspace, sandboxPolicy, timeoutMs: 60_000 }, abort.signal);
    const ended = expect(running).rejects.toThrow("not wanted");
    await eventually("the command", () => sleepers(stage).length > 0 || undefined);
    abort.abort(new Error("not wanted"));
    await ended;
    await eventually("its end", () => sleepers(stage).length === 0 || undefined);
    expect(stage.appServers()).toHaveLength(1);
  });

  it("ends with Codex, and reports it", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    const command = { argv: ["sleep", "300"], cwd: stage.workspace, sandboxPolicy: FULL_ACCESS, timeoutMs: 60_000 };
    const running = expect(codex.services.runOnce(command, unending)).rejects.toThrow("The Codex process was ended by SIGKILL");
    await eventually("the command", () => sleepers(stage).length > 0 || undefined);
    for (const { pid } of stage.appServers()) process.kill(pid, "SIGKILL");
    await running;
    expect(await stage.leftovers()).toEqual([]);
  });

  it("may write where its policy says, relative to its folder, and nowhere else", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = await opened(stage, program);
    const [cwd, beside] = [path.join(stage.workspace, "here"), path.join(stage.workspace, "beside")];
    for (const folder of [cwd, beside]) mkdirSync(folder);
    const argv = ["sh", "-c", "touch here.txt ../beside/too.txt; touch ../not.txt"];
    const sandboxPolicy = { type: "workspace-write", writable_roots: ["../beside"], ...NOTHING_ELSE } as const;
    const { exitCode } = await codex.services.runOnce({ argv, cwd, sandboxPolicy, timeoutMs: 10_000 }, unending);
    expect(exitCode).not.toBe(0);
    expect(["here/here.txt", "beside/too.txt", "not.txt"].map((file) => existsSync(path.join(stage.workspace, file)))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe.each(CASES)("the settings of Codex ($version, $family)", { timeout: 120_000 }, ({ program, model }) => {
  it("are those of config.toml, not those that its process is started with, and secrets are masked", async () => {
    await using stage = await setCodexStage({ model });
    const [key, header, variable] = ["bearer-nobody-may-see", "header-nobody-may-see", "value-nobody-may-see"];
    appendFileSync(
      path.join(stage.codexHome, "config.toml"),
      `experimental_bearer_token = "${key}"\nhttp_headers = { x-extra = "${header}" }
[mcp_servers.one]\ncommand = "true"\nenabled = false\nenv = { PLAIN = "${variable}" }
[features]\nplugins = true\n`,
    );
    await using codex = await opened(stage, program);
    const config = await codex.services.config(stage.workspace);
    expect(config["model"]).toBe(model);
    expect(config).toMatchObject({
      model_provider: "mock",
      features: { plugins: true },
      mcp_servers: { one: { command: "true", env: { PLAIN: "****" } } },
    });
    expect(Object.keys(config)).not.toContain("approval_policy");
    for (const secret of [key, header, variable]) expect(JSON.stringify(config)).not.toContain(secret);
    expect(JSON.stringify(config)).not.toContain("null");
  });
});

const NOTHING_ELSE = { network_access: false, exclude_tmpdir_env_var: true, exclude_slash_tmp: true } as const;

interface OpenedCodex extends AsyncDisposable {
  readonly threads: ThreadRegistry;
  readonly services: EngineServices;
}

async function opened(stage: CodexStage, program: string): Promise<OpenedCodex> {
  const codex = openCodexThreads(stage, program);
  const services = await codex.engine.services?.();
  if (!services) throw new Error("it has no services");
  return { ...codex, services };
}

/** A thread with one completed turn. */
async function played(threads: ThreadRegistry, settings: ThreadSettings, text: string): Promise<ThreadId> {
  const turn = await threads.start(settings, { text }, turnIdOf("1"));
  await turn.outcome;
  await threads.settle();
  return turn.threadId;
}

function sleepers(stage: CodexStage): string[] {
  return stage.processes().flatMap(({ commandLine }) => (/^sleep 300$/.test(commandLine) ? [commandLine] : []));
}

/** The smallest rollout that Codex lists. */
function writeThread({ codexHome, workspace }: CodexStage, { source, prompt }: { source: string; prompt: string }): ThreadId {
  const id = newThreadId();
  const timestamp = "2026-01-02T03:04:05.000Z";
  const meta = { id, timestamp, cwd: workspace, originator: "test", cli_version: "0.166.0", source, model_provider: "mock" };
  const message = { type: "message", role: "user", content: [{ type: "input_text", text: prompt }] };
  const lines = [
    { timestamp, type: "session_meta", payload: meta },
    { timestamp, type: "response_item", payload: message },
    { timestamp, type: "event_msg", payload: { type: "user_message", message: prompt, images: [] } },
  ];
  const folder = path.join(codexHome, "sessions/2026/01/02");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, `rollout-2026-01-02T03-04-05-${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return id;
}
