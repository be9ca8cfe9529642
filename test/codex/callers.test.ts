import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { ApprovalSubject } from "../../src/approvals/model.js";
import { asFields, asList } from "../../src/engines/codex/appServer/read.js";
import { type CodexEngineOptions, createCodexEngine } from "../../src/engines/codex/engine.js";
import type { SandboxPolicy } from "../../src/exec/policies.js";
import { newThreadId } from "../../src/lib/ids.js";
import type { Engine } from "../../src/threads/engine.js";
import type { ThreadEvent } from "../../src/threads/events.js";
import type { Reach } from "../../src/threads/limits.js";
import type { ThreadSettings } from "../../src/threads/settings.js";
import { publishedCases, publishedCodex, TRIED_VERSIONS } from "../support/codex/codexPeers.js";
import { type CodexStage, setCodexStage } from "../support/codex/codexStage.js";
import { playTurn, turnContext } from "../support/threads/turns.js";

const CASES = await publishedCases(TRIED_VERSIONS.filter((version) => version !== "0.152.1"));
const OLD = (await publishedCodex("0.152.1")) ?? "";

const PATIENCE = { timeout: 180_000 };
const EVERYTHING: Reach = { folders: undefined };
const READ_ONLY: SandboxPolicy = { type: "read-only" };
const WORKSPACE: SandboxPolicy = {
  type: "workspace-write",
  network_access: false,
  exclude_tmpdir_env_var: false,
  exclude_slash_tmp: false,
};

const DONE = { type: "turnCompleted", lastMessage: "done" };

/** Files that no caller may read, at their usual places in the server's home, and links in the workspace that lead to them. */
function hideSecrets({ codexHome, workspace }: CodexStage) {
  const root = path.dirname(codexHome);
  const files = {
    login: path.join(codexHome, "auth.json"),
    thread: path.join(codexHome, "sessions/2026/01/02/rollout-of-somebody.jsonl"),
    ours: path.join(codexHome, "mcp-server/owners/somebody"),
    tokens: path.join(root, "tokens/tokens.txt"),
    tokensInWorkspace: path.join(workspace, "deploy/tokens.txt"),
  };
  for (const [name, file] of Object.entries(files)) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `secret ${name}\n`);
    symlinkSync(file, path.join(workspace, `link-to-${name}`));
  }
  mkdirSync(path.join(workspace, "sub"));
  symlinkSync(files.login, path.join(workspace, "sub/AGENTS.md"));
  return { files, secretFiles: [files.tokens, files.tokensInWorkspace] };
}

function openEngine({ env, codexHome }: CodexStage, program: string, more: Partial<CodexEngineOptions>): Engine {
  return createCodexEngine({ codexBin: program, env, cwd: path.dirname(codexHome), report: () => {}, listens: true, ...more });
}

interface Played {
  readonly events: readonly ThreadEvent[];
  readonly asked: readonly ApprovalSubject[];
}

async function play(engine: Engine, settings: ThreadSettings, prompt: string, reach: Reach = EVERYTHING): Promise<Played> {
  const thread = await engine.openThread({ id: newThreadId(), settings, reach });
  const events: ThreadEvent[] = [];
  const asked: ApprovalSubject[] = [];
  const ask = async (subject: ApprovalSubject) => {
    asked.push(subject);
    return { kind: "denied" } as const;
  };
  for await (const batch of thread.run({ text: prompt }, { ...turnContext(), reach, ask })) events.push(...batch);
  await thread.close?.();
  return { events, asked };
}

/** The secrets in every place that they could have reached. */
function leaks({ model, workspace }: CodexStage, played: unknown): string[] {
  const copies = readdirSync(workspace, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("copy"));
  const texts = [JSON.stringify(played), ...model.requests.map(({ body }) => JSON.stringify(body)), ...copies];
  return [...new Set(texts.flatMap((text) => [...text.matchAll(/secret (login|thread|ours|tokens\w*)/g)].map(([found]) => found)))];
}

/**
 * The number of commands whose result the model received. Codex does not report every command that another agent runs while the first one
 * is ending.
 */
function commandsAnswered({ model }: CodexStage): number {
  const items = model.requests.flatMap(({ body }) => asList(asFields(body)["input"]).map(asFields));
  const spawned = items.filter(({ name }) => name === "spawn_agent").map((call) => call["call_id"]);
  const answered = items.filter(({ type }) => String(type).endsWith("_call_output")).map((output) => output["call_id"]);
  return new Set(answered.filter((id) => !spawned.includes(id))).size;
}

describe.each(CASES)("commands of a caller, with Codex $version and $family", PATIENCE, ({ program, model }) => {
  it("see no more if a sub-agent runs them", async () => {
    await using stage = await setCodexStage({ model });
    const { files, secretFiles } = hideSecrets(stage);
    const engine = openEngine(stage, program, { secretFiles });
    const names = Object.values(files).map((file) => `'${file}'`);
    const commands = [`cat ${names.join(" ")} link-to-*`, `find '${stage.codexHome}' -type f -exec cat {} +`, "git status; env"];
    const script = `!spawn helper ${commands.map((command) => `!shell ${command}`).join(" ;; ")} ;; !say helped\n!say done`;
    const settings = { ...stage.settings, approvalPolicy: "never", sandboxPolicy: WORKSPACE } as const;
    const played = await play(engine, settings, script);
    await engine.close?.();
    expect(played.events.at(-1)).toEqual(DONE);
    expect(commandsAnswered(stage)).toBe(commands.length);
    expect(leaks(stage, played)).toEqual([]);
  });

  it.each([
    ["read-only", READ_ONLY],
    ["workspace-write", WORKSPACE],
  ])("see no login, tokens or threads of others under %s, with any tool and through any link", async (_, sandboxPolicy) => {
    await using stage = await setCodexStage({ model });
    const { files, secretFiles } = hideSecrets(stage);
    const engine = openEngine(stage, program, { secretFiles });
    const names = Object.values(files).map((file) => `'${file}'`);
    const commands = [
      `cat ${names.join(" ")} link-to-* sub/AGENTS.md`,
      `find '${stage.codexHome}' -type f -exec cat {} +`,
      `cp link-to-* copy/; mkdir copy; cp ${names.join(" ")} copy/`,
      "cat /proc/*/environ /proc/1/root/etc/hostname; grep -rs secret /proc/[0-9]*/cwd/",
    ];
    const patches = Object.values(files).flatMap((file, at) => [
      `!rawpatch *** Begin Patch\\n*** Delete File: ${file}\\n*** End Patch`,
      `!rawpatch *** Begin Patch\\n*** Update File: ${file}\\n*** Move to: copy-${at}.txt\\n@@\\n-nothing\\n+x\\n*** End Patch`,
    ]);
    const prompt = [...commands.map((command) => `!shell ${command}`), ...patches, "!say done"].join("\n");
    const settings = { ...stage.settings, approvalPolicy: "never", sandboxPolicy } as const;
    const first = await play(engine, settings, prompt);
    const linked = await play(engine, { ...settings, cwd: path.join(stage.workspace, "sub") }, "!say done");
    const asking = await play(engine, { ...settings, approvalPolicy: "on-request" }, `!escalate cat ${names.join(" ")}\n!say done`);
    await engine.close?.();
    expect([first, linked, asking].map(({ events }) => events.at(-1))).toEqual([DONE, DONE, DONE]);
    expect(leaks(stage, [first, linked])).toEqual([]);
    expect(readFileSync(files.login, "utf8")).toBe("secret login\n");
  });

  it("can read all of it without the protection", async () => {
    await using stage = await setCodexStage({ model });
    const { files } = hideSecrets(stage);
    const engine = openEngine(stage, program, { listens: false });
    const thread = await engine.openThread({ id: newThreadId(), settings: { ...stage.settings, approvalPolicy: "never" } });
    const events = await playTurn(thread, `!shell cat ${Object.values(files).join(" ")}\n!say done`);
    await engine.close?.();
    expect(leaks(stage, events)).toEqual(Object.keys(files).map((name) => `secret ${name}`));
  });

  it.each([
    ["read-only", READ_ONLY, false],
    ["workspace-write", WORKSPACE, true],
  ])("outside threads see none of it under %s, and can work", async (_, sandboxPolicy, writes) => {
    await using stage = await setCodexStage({ model });
    const { files, secretFiles } = hideSecrets(stage);
    const engine = openEngine(stage, program, { secretFiles });
    const script = `cat ${Object.values(files).join(" ")} link-to-*; find ${stage.codexHome} -type f; echo GIT_DIR=$GIT_DIR; touch made.txt; ls`;
    const command = { argv: ["sh", "-c", script], cwd: stage.workspace, sandboxPolicy, timeoutMs: 60_000, reach: EVERYTHING };
    const result = await (await engine.services?.())?.runOnce(command, new AbortController().signal);
    await engine.close?.();
    expect(leaks(stage, result)).toEqual([]);
    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/GIT_DIR=\n(.|\n)*sub\n/) });
    expect(existsSync(path.join(stage.workspace, "made.txt"))).toBe(writes);
  });

  it("of a caller on a shared server see no home, no temporary files of others and no other caller's folder", async () => {
    await using stage = await setCodexStage({ model });
    const root = path.dirname(stage.codexHome);
    const home = path.join(root, "home");
    const [mine, theirs] = [path.join(home, "mine"), path.join(root, "theirs")];
    for (const folder of [mine, theirs]) mkdirSync(folder);
    for (const file of [path.join(home, "key"), path.join(theirs, "key")]) writeFileSync(file, "secret thread\n");
    const reach: Reach = { folders: [mine], foreign: [theirs] };
    const engine = openEngine(stage, program, {});
    const script = `cat ../key ${theirs}/key; ls ${home} > home.txt; ls /tmp /var/tmp; mktemp && touch made.txt && git --version > git.txt`;
    const settings = { ...stage.settings, cwd: mine, approvalPolicy: "never", sandboxPolicy: WORKSPACE } as const;
    const played = await play(engine, settings, `!shell ${script}\n!say done`, reach);
    await engine.close?.();
    expect(leaks(stage, played)).toEqual([]);
    expect([
      readFileSync(path.join(mine, "home.txt"), "utf8"),
      readdirSync(mine)
        .filter((name) => !name.startsWith("."))
        .sort(),
    ]).toEqual(["mine\n", ["git.txt", "home.txt", "made.txt"]]);
    expect(readdirSync(path.join(stage.codexHome, "mcp-server/tmp"))).toEqual([]);
  });

  it("read only what their own caller may read, although the thread was loaded for another caller", async () => {
    await using stage = await setCodexStage({ model });
    const other = path.join(path.dirname(stage.codexHome), "other");
    mkdirSync(other);
    writeFileSync(path.join(other, "file"), "secret thread\n");
    const engine = openEngine(stage, program, {});
    const settings = { ...stage.settings, approvalPolicy: "never", sandboxPolicy: READ_ONLY } as const;
    const narrow: Reach = { folders: [stage.workspace], foreign: [other] };
    const thread = await engine.openThread({ id: newThreadId(), settings, reach: EVERYTHING });
    const outputs: string[] = [];
    for (const reach of [EVERYTHING, narrow, EVERYTHING]) {
      const events: ThreadEvent[] = [];
      for await (const batch of thread.run({ text: `!shell cat ${other}/file\n!say done` }, { ...turnContext(), reach }))
        events.push(...batch);
      outputs.push(JSON.stringify(events.filter(({ type }) => type === "commandEnded")).includes("secret thread") ? "read" : "nothing");
    }
    await thread.close?.();
    await engine.close?.();
    expect(outputs).toEqual(["read", "nothing", "read"]);
  });
});

describe.skipIf(OLD === "")("a Codex that cannot hide anything", PATIENCE, () => {
  it("serves a single caller, and none where several may call", async () => {
    await using stage = await setCodexStage();
    const single = openEngine(stage, OLD, {});
    expect((await play(single, stage.settings, "!say done")).events.at(-1)).toEqual(DONE);
    await single.close?.();
    const shared = openEngine(stage, OLD, { severalCallers: true });
    const complaint = /version 0\.152\.1, cannot hide tokens, .* more than one principal may call this server\. Update it/;
    await expect(play(shared, stage.settings, "!say done")).rejects.toThrow(complaint);
    const command = { argv: ["true"], cwd: stage.workspace, sandboxPolicy: READ_ONLY, timeoutMs: 30_000, reach: EVERYTHING };
    await expect((await shared.services?.())?.runOnce(command, new AbortController().signal)).rejects.toThrow(complaint);
    await shared.close?.();
  });
});
