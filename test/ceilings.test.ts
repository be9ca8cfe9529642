import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { isMissing } from "./sandbox/available.js";
import { completed, refused, refusedOn } from "./support/callResults.js";
import { endSession, type NetworkSession, sessionOf } from "./support/http/callers.js";
import { MemoryAgent } from "./support/memory/memoryAgent.js";
import { MemorySession, threadOf } from "./support/memory/memorySession.js";
import { valueAt } from "./support/scenarios/scenario.js";

const ABOVE =
  /^The sandbox danger-full-access is above the ceiling of this server, workspace-write\. .*--max-sandbox danger-full-access\.$/;
const NOT_TAKEN = /^This server does not take .* from the `config` of a call\./;
const ELSEWHERE = /this server allows only .* and below\. .*--allow-root/;

function configure(agent: MemoryAgent, toml: string): void {
  writeFileSync(path.join(agent.codexHome, "config.toml"), toml);
}

/** A network client that supports elicitation. */
async function askable(agent: MemoryAgent): Promise<NetworkSession> {
  const client = sessionOf("alice", agent);
  const capabilities = { elicitation: {} };
  await client.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "t", version: "1" } });
  return client;
}

describe("the sandbox of every turn is limited by the ceiling, wherever it comes from:", () => {
  const DANGER = "danger-full-access";

  it.for<[string, Record<string, unknown>, string]>([
    ["an argument", { sandbox: DANGER }, ""],
    ["config in the call", { config: { sandbox_mode: DANGER } }, ""],
    ["a quoted key", { config: { '"sandbox_mode"': DANGER } }, ""],
    ["a profile of the call", { profile: "p" }, `[profiles.p]\nsandbox_mode = "${DANGER}"\n`],
    ["a profile named in config", { config: { profile: "p" } }, `[profiles.p]\nsandbox_mode = "${DANGER}"\n`],
    ["config.toml", {}, `sandbox_mode = "${DANGER}"\n`],
  ])("%s", async ([, args, toml]) => {
    await using agent = new MemoryAgent();
    configure(agent, toml);
    await using alice = sessionOf("alice", agent);
    expect(await alice.call("codex", { prompt: "!say one", ...args })).toEqual(refused(expect.stringMatching(ABOVE)));
    expect(alice.notified("codex/event")).toEqual([]);
  });

  it("a thread that is continued", async () => {
    await using agent = new MemoryAgent();
    configure(agent, "[mcp_server]\nshare_unowned_threads = true\n");
    await using stdio = new MemorySession({ agent });
    await using alice = sessionOf("alice", agent);
    const threadId = threadOf(await stdio.call("codex", { prompt: "!say one", sandbox: DANGER }));
    const ask = () => alice.call("codex-reply", { threadId, prompt: "!say two" });
    expect(await ask()).toEqual(refusedOn(threadId, expect.stringMatching(ABOVE)));
  });

  it("a thread that is loaded from disk", async () => {
    await using before = new MemoryAgent({ ceilings: { maxSandbox: DANGER } });
    await using first = sessionOf("alice", before);
    const threadId = threadOf(await first.call("codex", { prompt: "!say one", sandbox: DANGER }));
    await endSession(first);
    await using after = new MemoryAgent({ codexHome: before.codexHome, ceilings: { allowRoots: [before.folder] } });
    await using alice = sessionOf("alice", after);
    expect(await alice.call("codex-reply", { threadId, prompt: "!say two" })).toEqual(refusedOn(threadId, expect.stringMatching(ABOVE)));
  });

  it("a sandbox within the ceiling is used as requested", async () => {
    await using agent = new MemoryAgent({ ceilings: { maxSandbox: DANGER } });
    await using alice = sessionOf("alice", agent);
    await alice.call("codex", { prompt: "!say one", sandbox: DANGER }, 1);
    expect(valueAt(alice.eventsOf(1)[0], "sandbox_policy")).toEqual({ type: DANGER });
  });

  it("network access that only a thread's record has", async () => {
    await using agent = new MemoryAgent();
    configure(agent, "[mcp_server]\nshare_unowned_threads = true\n");
    await using stdio = new MemorySession({ agent });
    await using alice = sessionOf("alice", agent);
    const config = { "sandbox_workspace_write.network_access": true };
    const threadId = threadOf(await stdio.call("codex", { prompt: "!say one", sandbox: "workspace-write", config }));
    const why = expect.stringMatching(/^Network access for commands is above the ceiling/);
    expect(await alice.call("codex-reply", { threadId, prompt: "!say two" })).toEqual(refusedOn(threadId, why));
  });
});

it("on stdio there are no ceilings", async () => {
  await using client = new MemorySession();
  const args = { sandbox: "danger-full-access", cwd: "/", config: { "mcp_server.idle_thread_minutes": 5, notify: ["true"] } };
  const result = await client.call("codex", { prompt: "!say one", ...args });
  expect(result).toEqual(completed(threadOf(result), "one"));
});

describe("the working directory", () => {
  it.for(["..", "/", "../x", "sub/../..", "link", "link/deeper"])("%s is refused", async (cwd) => {
    await using agent = new MemoryAgent();
    symlinkSync("/", path.join(agent.folder, "link"));
    await using alice = sessionOf("alice", agent);
    expect(await alice.call("codex", { prompt: "!say one", cwd })).toEqual(refused(expect.stringMatching(ELSEWHERE)));
  });

  it.for([".", "sub", "sub/../other"])("%s is below the server's own", async (cwd) => {
    await using agent = new MemoryAgent();
    for (const name of ["sub", "other"]) mkdirSync(path.join(agent.folder, name));
    await using alice = sessionOf("alice", agent);
    const result = await alice.call("codex", { prompt: "!say one", cwd });
    expect(result).toEqual(completed(threadOf(result), "one"));
  });

  it("outside the allowed folders is refused in the same way, whether it exists or not", async () => {
    await using agent = new MemoryAgent();
    await using alice = sessionOf("alice", agent);
    for (const cwd of ["/etc", "/etc/passwd", "/no/such/place"])
      expect(await alice.call("codex", { prompt: "!say one", cwd })).toEqual(refused(expect.stringMatching(ELSEWHERE)));
  });

  it("may be below any allowed folder, but not in a folder whose name only starts with the same text", async () => {
    await using agent = new MemoryAgent();
    await using elsewhere = new MemoryAgent();
    const allowed = path.join(elsewhere.folder, "a");
    for (const folder of [allowed, path.join(allowed, "sub"), `${allowed}b`]) mkdirSync(folder);
    await using confined = new MemoryAgent({ codexHome: agent.codexHome, ceilings: { allowRoots: [allowed] } });
    await using alice = sessionOf("alice", confined);
    const run = async (cwd: string) => valueAt(await alice.call("codex", { prompt: "!say one", cwd }), "isError") === undefined;
    expect([await run(allowed), await run(path.join(allowed, "sub")), await run(`${allowed}b`), await run(confined.folder)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it("that became a link since the thread began is refused at the next turn", async () => {
    await using agent = new MemoryAgent();
    const cwd = path.join(agent.folder, "swapped");
    mkdirSync(cwd);
    await using alice = sessionOf("alice", agent);
    const threadId = threadOf(await alice.call("codex", { prompt: "!say one", cwd }));
    rmSync(cwd, { recursive: true });
    symlinkSync("/", cwd);
    expect(await alice.call("codex-reply", { threadId, prompt: "!say two" })).toEqual(
      refusedOn(threadId, expect.stringMatching(ELSEWHERE)),
    );
  });
});

it("the server's own files are no place to work in", async () => {
  await using agent = new MemoryAgent();
  await using alice = sessionOf("alice", agent);
  const why = expect.stringContaining(`keeps its own files in ${agent.codexHome}`);
  expect(await alice.call("codex", { prompt: "!say one", cwd: agent.codexHome })).toEqual(refused(why));
});

describe("config in a call", () => {
  it.for<Record<string, unknown>>([
    { mcp_servers: { evil: { command: "sh" } } },
    { "mcp_servers.evil.url": "http://127.0.0.1:9/" },
    { notify: ["sh", "-c", "id"] },
    { "model_providers.evil.base_url": "http://127.0.0.1:9/" },
    { shell_environment_policy: { set: { LD_PRELOAD: "x.so" } } },
    { model_instructions_file: "/etc/passwd" },
    { "'sandbox_workspace_write'.writable_roots": ["/"] },
    { profile: "p", "profiles.p.sandbox_mode": "read-only" },
    { features: { exec_policy: false } },
  ])("%j is refused before anything runs", async (config) => {
    await using agent = new MemoryAgent();
    await using alice = sessionOf("alice", agent);
    expect(await alice.call("codex", { prompt: "!say one", config })).toEqual(refused(expect.stringMatching(NOT_TAKEN)));
    expect(alice.notified("codex/event")).toEqual([]);
  });

  it("may contain options of the model, and keys that --allow-config adds", async () => {
    await using agent = new MemoryAgent({ ceilings: { allowConfig: ["web_search"] } });
    await using alice = sessionOf("alice", agent);
    const config = { model: "mock-other", model_reasoning_effort: "high", web_search: "live" };
    await alice.call("codex", { prompt: "!say one", config }, 1);
    expect(alice.eventsOf(1)[0]).toMatchObject({ model: "mock-other", reasoning_effort: "high" });
  });
});

describe.skipIf(isMissing)("an approval by the calling principal never reaches beyond the ceiling", () => {
  const REFUSED = "no approval reaches beyond the ceiling of this server (--max-sandbox workspace-write)";
  /** The output of the agent's last tool call that the model received. */
  const toldModel = (client: MemorySession, id: number) =>
    client
      .eventsOf(id)
      .filter(({ type }) => type === "raw_response_item")
      .map((msg) => valueAt(msg, "item.output"))
      .filter((output) => output !== undefined)
      .map(String)
      .join("\n");

  it.for([
    ["an escalation", "on-request", "!escalate touch OUT"],
    ["a retry after a failure", "on-failure", "!shell touch OUT"],
    ["a patch outside the roots", "on-request", "!patch OUT hello"],
    ["a patch outside the roots, tried first", "on-failure", "!patch OUT hello"],
  ] as const)("%s is refused, and the model gets the reason", async ([, policy, line]) => {
    await using agent = new MemoryAgent();
    // Not in a temporary folder: the caller's commands see a private one there.
    const out = `/opt/out-${randomUUID()}.txt`;
    await using alice = await askable(agent);
    const asked = alice.answerQuestions({ decision: "approved" });
    // Temporary folders are within the sandbox unless excluded, and this test's are temporary.
    configure(agent, "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n");
    const prompt = `${line.replace("OUT", out)}\n!say done`;
    await alice.call("codex", { prompt, sandbox: "workspace-write", "approval-policy": policy }, 1);
    expect([asked, existsSync(out)]).toEqual([[], false]);
    expect(toldModel(alice, 1)).toContain(REFUSED);
  });

  it("a refused escalation is reported as a command that did not run, with the reason", async () => {
    await using agent = new MemoryAgent();
    await using alice = await askable(agent);
    const result = await alice.call("codex", { prompt: "!escalate touch x\n!say done", sandbox: "workspace-write" });
    expect(valueAt(result, "structuredContent.commands")).toEqual({
      run: 0,
      failed: 0,
      refused: 1,
      failures: [{ command: "touch x", refusal: expect.stringContaining(REFUSED) }],
    });
    // This one ran in the sandbox before.
    const tried = await alice.call("codex", { prompt: "!shell touch x\n!say done", sandbox: "read-only", "approval-policy": "on-failure" });
    expect(valueAt(tried, "structuredContent.commands")).toMatchObject({ run: 1, failed: 1 });
  });

  it("an amendment is neither offered nor accepted", async () => {
    await using agent = new MemoryAgent();
    await using alice = await askable(agent);
    const asked = alice.answerQuestions({ decision: { approved_execpolicy_amendment: { proposed_execpolicy_amendment: ["touch"] } } });
    await alice.call("codex", { prompt: "!shell touch a\n!say done", sandbox: "workspace-write", "approval-policy": "untrusted" }, 1);
    expect([asked.length, existsSync(path.join(agent.folder, "a"))]).toEqual([1, false]);
    expect(toldModel(alice, 1)).toContain("--max-sandbox workspace-write");
  });

  it("actions within it are approved and done: a command inside the sandbox, a patch of the workspace", async () => {
    await using agent = new MemoryAgent();
    await using alice = await askable(agent);
    const asked = alice.answerQuestions({ decision: "approved" });
    await alice.call("codex", { prompt: "!shell touch a\n!say done", sandbox: "workspace-write", "approval-policy": "untrusted" });
    await alice.call("codex", { prompt: "!patch b.txt hello\n!say done", sandbox: "read-only", "approval-policy": "on-request" });
    expect(asked.length).toBe(2);
    expect([existsSync(path.join(agent.folder, "a")), readFileSync(path.join(agent.folder, "b.txt"), "utf8")]).toEqual([true, "hello\n"]);
  });

  it("under a ceiling of full access the principal may let commands out", async () => {
    await using agent = new MemoryAgent({ ceilings: { maxSandbox: "danger-full-access" } });
    await using elsewhere = new MemoryAgent();
    const out = path.join(elsewhere.folder, "out.txt");
    await using alice = await askable(agent);
    const asked = alice.answerQuestions({ decision: "approved" });
    await alice.call("codex", { prompt: `!escalate touch ${out}\n!say done`, sandbox: "read-only", "approval-policy": "on-request" });
    expect([asked.length, existsSync(out)]).toEqual([1, true]);
  });
});

it("where no sandbox works, no command of a network caller runs, whatever the caller answers", async () => {
  await using agent = new MemoryAgent({ sandboxBin: "/bin/false" });
  await using alice = await askable(agent);
  const asked = alice.answerQuestions({ decision: "approved" });
  for (const policy of ["never", "on-request", "on-failure", "untrusted"])
    await alice.call("codex", { prompt: "!shell touch a\n!say done", sandbox: "workspace-write", "approval-policy": policy });
  expect([asked, existsSync(path.join(agent.folder, "a"))]).toEqual([[], false]);
});
