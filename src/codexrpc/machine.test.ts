import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { errorOf, frontEnd, MemoryAgent, principal, resultOf } from "../../test/support/clients/frontEndSession.js";

it("runs one command in the requested sandbox, returns the exit code of a failing one, and ends it at its time limit", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const run = { cwd: agent.folder, sandboxPolicy: { mode: "danger-full-access" } };
  expect(await resultOf(client, "execOneOffCommand", { command: ["echo", "hi"], timeoutMs: 45_000, ...run })).toEqual({
    exitCode: 0,
    stdout: "hi\n",
    stderr: "",
  });
  expect(await resultOf(client, "execOneOffCommand", { command: ["sh", "-c", "echo no >&2; exit 3"], ...run })).toEqual({
    exitCode: 3,
    stdout: "",
    stderr: "no\n",
  });
  expect(await errorOf(client, "execOneOffCommand", { command: [], ...run })).toEqual({
    code: -32600,
    message: "command must not be empty",
  });
  expect(await errorOf(client, "execOneOffCommand", { command: ["sleep", "60"], timeoutMs: 50, ...run })).toMatchObject({
    code: -32603,
    message: "exec failed: sandbox error: command timed out",
  });
  expect(await errorOf(client, "execOneOffCommand", { command: ["/no/such/program"], ...run })).toMatchObject({
    code: -32603,
    message: expect.stringMatching(/^exec failed: /),
  });
  const file = path.join(agent.folder, "made");
  const touched = await resultOf(client, "execOneOffCommand", {
    command: ["touch", file],
    cwd: agent.folder,
    sandboxPolicy: { type: "read-only" },
  });
  expect(touched["exitCode"]).not.toBe(0);
  expect(existsSync(file)).toBe(false);
});

it("limits a network caller's command to the ceilings, whatever its policy is", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent, principal("ann"));
  const command = ["true"];
  const beyond = [
    { command, sandboxPolicy: { mode: "danger-full-access" } },
    { command, sandboxPolicy: { mode: "workspace-write", network_access: true } },
    { command, sandboxPolicy: { mode: "workspace-write", writable_roots: ["/etc"] } },
    { command, cwd: "/" },
  ];
  for (const params of beyond)
    expect(await errorOf(client, "execOneOffCommand", params)).toMatchObject({ code: -32600, data: { code: "above_ceiling" } });
  expect(await resultOf(client, "execOneOffCommand", { command, sandboxPolicy: { mode: "read-only" } })).toMatchObject({ exitCode: 0 });
});

function git(cwd: string, ...args: readonly string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...identity, ...args], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

it("compares a working tree with what its remote has, new files included", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const [remote, repo] = [path.join(agent.folder, "remote.git"), path.join(agent.folder, "repo")];
  mkdirSync(repo);
  git(agent.folder, "init", "--bare", remote);
  git(repo, "init");
  writeFileSync(path.join(repo, "x"), "one\n");
  git(repo, "add", "x");
  git(repo, "commit", "-m", "first");
  const failure = { code: -32600, message: `failed to compute git diff to remote for cwd: ${JSON.stringify(repo)}` };
  // First without a remote, then with a branch that was never pushed.
  expect(await errorOf(client, "gitDiffToRemote", { cwd: repo })).toMatchObject({
    ...failure,
    data: { reason: "the repository has no remote" },
  });
  git(repo, "remote", "add", "origin", remote);
  expect(await errorOf(client, "gitDiffToRemote", { cwd: repo })).toMatchObject(failure);
  git(repo, "push", "origin", "HEAD");
  const pushed = git(repo, "rev-parse", "HEAD");
  git(repo, "checkout", "-b", "work");
  writeFileSync(path.join(repo, "x"), "two\n");
  git(repo, "commit", "-am", "second");
  writeFileSync(path.join(repo, "a new 'file'"), "new\n");
  const { sha, diff } = await resultOf(client, "gitDiffToRemote", { cwd: repo });
  expect(sha).toBe(pushed);
  expect(diff).toContain("-one\n+two\n");
  expect(diff).toContain("+new\n");
  for (const cwd of [remote, agent.folder])
    expect(await errorOf(client, "gitDiffToRemote", { cwd })).toMatchObject({ code: -32600, data: { code: "no_remote_diff" } });
});

it("runs none of the programs that a repository names for reading its files", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const [repo, remote, inner] = ["repo", "remote.git", "inner"].map((name) => path.join(agent.folder, name)) as [string, string, string];
  git(agent.folder, "init", "--bare", remote);
  for (const folder of [repo, inner]) {
    git(agent.folder, "init", folder);
    writeFileSync(path.join(folder, "x"), "one\n");
    git(folder, "add", "x");
    git(folder, "commit", "-m", "first");
  }
  git(repo, "-c", "protocol.file.allow=always", "submodule", "add", inner, "inner");
  git(repo, "commit", "-m", "second");
  git(repo, "remote", "add", "origin", remote);
  git(repo, "push", "origin", "HEAD");
  git(path.join(repo, "inner"), "rm", "x");
  git(path.join(repo, "inner"), "commit", "-m", "second");
  git(repo, "config", "diff.submodule", "diff");
  for (const folder of [repo, path.join(repo, "inner")]) {
    git(folder, "config", "filter.a=b.clean", "echo FILTERED; cat");
    git(folder, "config", "filter.a=b.required", "true");
    git(folder, "config", "core.fsmonitor", "echo FILTERED >&2; false");
    git(folder, "config", "diff.external", "echo FILTERED");
    writeFileSync(path.join(folder, ".gitattributes"), "* filter=a=b diff=a=b\n");
    for (const name of ["x", "untracked"]) writeFileSync(path.join(folder, name), "two\n");
  }
  const { diff } = await resultOf(client, "gitDiffToRemote", { cwd: repo });
  expect(diff).toContain("-one\n+two\n");
  expect(diff).toContain("b/untracked");
  expect(diff).not.toContain("FILTERED");
  expect(diff).not.toContain("-dirty");
  expect(diff).toContain("+Subproject commit ");
});

it("shows the user's own configuration, and nothing that is secret", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  expect(await resultOf(client, "getUserSavedConfig")).toEqual({ config: { profiles: {} } });
  const file = path.join(agent.codexHome, "config.toml");
  writeFileSync(
    file,
    `approval_policy = "on-request"
model = "gpt-5-codex"
profile = "fast"
[sandbox_workspace_write]
network_access = true
[profiles.fast]
model = "gpt-5"
model_reasoning_effort = "low"
[model_providers.x]
name = "x"
base_url = "https://example.org"
http_headers = { Authorization = "Bearer sk-secret" }
`,
  );
  const unset = { modelProvider: null, approvalPolicy: null, modelReasoningSummary: null, modelVerbosity: null, chatgptBaseUrl: null };
  expect(await resultOf(client, "getUserSavedConfig")).toEqual({
    config: {
      approvalPolicy: "on-request",
      model: "gpt-5-codex",
      profile: "fast",
      sandboxSettings: { writableRoots: [], networkAccess: true, excludeTmpdirEnvVar: false, excludeSlashTmp: false },
      profiles: { fast: { model: "gpt-5", modelReasoningEffort: "low", ...unset } },
    },
  });
  writeFileSync(file, "model = 7\n");
  expect(await errorOf(client, "getUserSavedConfig")).toMatchObject({
    code: -32603,
    message: "failed to parse config.toml: `model` must be a string",
  });
  writeFileSync(file, 'model = "sk-secret\n');
  const broken = JSON.stringify(await errorOf(client, "getUserSavedConfig"));
  expect(broken).toContain("failed to load config.toml: ");
  expect(broken).not.toContain("sk-secret");
});

it("sets the default model without losing a comment", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const file = path.join(agent.codexHome, "config.toml");
  writeFileSync(file, '# mine\nmodel = "old" # since spring\n');
  expect(await resultOf(client, "setDefaultModel", { model: "gpt-5", reasoningEffort: "high" })).toEqual({});
  expect(readFileSync(file, "utf8")).toBe('# mine\nmodel = "gpt-5" # since spring\nmodel_reasoning_effort = "high"\n');
  expect(await resultOf(client, "setDefaultModel", { model: null })).toEqual({});
  expect(readFileSync(file, "utf8")).toBe("# mine\n");
  writeFileSync(file, "= broken");
  expect(await errorOf(client, "setDefaultModel", { model: "m" })).toMatchObject({
    code: -32603,
    message: expect.stringMatching(/^failed to persist overrides: /),
  });
});

it("names the server and the client of the session", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  expect(await resultOf(client, "getUserAgent")).toEqual({ userAgent: expect.stringMatching(/^codex_mcpd\/\S+ \(.*\) xterm$/) });
  await client.initialize("2025-06-18", "probe");
  // A method without parameters takes any.
  for (const params of [undefined, null, {}, [], "x", { other: 1 }])
    expect(await resultOf(client, "getUserAgent", params)).toEqual({ userAgent: expect.stringMatching(/ xterm \(probe; 1\.0\.0\)$/) });
});

it("requires the scope manage for files and settings of the server", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent, principal("ann", ["call", "read"]));
  for (const [method, params] of [
    ["gitDiffToRemote", { cwd: agent.folder }],
    ["getUserSavedConfig", {}],
    ["setDefaultModel", { model: "m" }],
  ] as const)
    expect(await errorOf(client, method, params)).toMatchObject({
      code: -32600,
      message: expect.stringContaining("`manage`"),
      data: { code: "scope_missing" },
    });
  expect(existsSync(path.join(agent.codexHome, "config.toml"))).toBe(false);
});

it("returns the secret of the login to operators only, and the account to callers with the scope manage", async () => {
  await using agent = new MemoryAgent();
  await using manager = frontEnd(agent, principal("ann"));
  await using caller = frontEnd(agent, principal("ben", ["call", "read"]));
  await using operator = frontEnd(agent, principal("ops", ["call", "read", "manage", "operator"]));
  expect(await errorOf(manager, "getAuthStatus", { includeToken: true })).toMatchObject({
    code: -32600,
    message: expect.stringContaining("`operator`"),
  });
  expect(await resultOf(manager, "getAuthStatus", {})).toEqual({ requiresOpenaiAuth: false });
  expect(await resultOf(operator, "getAuthStatus", { includeToken: true })).toEqual({ requiresOpenaiAuth: false });
  for (const method of ["getAuthStatus", "userInfo", "loginApiKey", "loginChatGpt", "cancelLoginChatGpt", "logoutChatGpt"])
    expect(await errorOf(caller, method, { apiKey: "sk", loginId: "x" })).toMatchObject({ code: -32600, data: { code: "scope_missing" } });
});
