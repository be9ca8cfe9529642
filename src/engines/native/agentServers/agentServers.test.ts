import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/support/eventually.js";
import {
  callNamed,
  httpServer,
  newMark,
  openServers,
  programServer,
  startupOf,
  structuredAnswer,
} from "../../../../test/support/processes/agentMcpServers.js";
import { processesMarked, stragglers } from "../../../../test/support/processes/markedProcesses.js";
import { OutsidePrograms, WritablePlaces } from "../../../exec/outside/outsidePrograms.js";
import { type McpStartupNews, namePrefix, ToolNames } from "./agentServers.js";

const NEVER = new AbortController().signal;
const OFFICIAL = ["mcpServerOfficial"];

function unruly(...behaviour: string[]): string[] {
  return ["mcpServerUnruly", ...behaviour];
}

function tempFolder(): { readonly path: string } & Disposable {
  const folder = mkdtempSync(path.join(tmpdir(), "mcp-servers-"));
  return { path: folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

describe("the start of the agent's own MCP servers", () => {
  it("is reported as it happens: starting, then ready or failed, then a summary; each once", async () => {
    const missing = { ...programServer("broken", []), transport: { ...program(), command: "no-such-command-anywhere" } };
    await using servers = openServers([programServer("echo", unruly("named", "hello")), missing]);
    expect(servers.takeStartupEvents()).toEqual([
      { type: "mcpStartupUpdated", server: "echo", status: { state: "starting" } },
      { type: "mcpStartupUpdated", server: "broken", status: { state: "starting" } },
    ]);
    const words = "No such file or directory (os error 2)";
    expect(await startupOf(servers)).toEqual([
      {
        type: "mcpStartupUpdated",
        server: "broken",
        status: { state: "failed", error: `MCP client for \`broken\` failed to start: MCP startup failed: ${words}` },
      },
      { type: "mcpStartupUpdated", server: "echo", status: { state: "ready" } },
      { type: "mcpStartupCompleted", ready: ["echo"], failed: [{ server: "broken", error: words }], cancelled: [] },
    ]);
    expect(servers.takeStartupEvents()).toEqual([]);
  });

  it("fails with the program's last words, but without its secrets", async () => {
    const settings = programServer("licensed", unruly("exit"), { env: { LICENCE_KEY: "very-secret-key" } });
    await using servers = openServers([settings]);
    const words = "handshaking with MCP server failed: connection closed: it exited with code 3: no licence for ****";
    expect((await startupOf(servers)).at(-1)).toEqual({
      type: "mcpStartupCompleted",
      ready: [],
      failed: [{ server: "licensed", error: words }],
      cancelled: [],
    });
  });

  it("fails when the server does not answer in time, and ends it", async () => {
    const { mark, env } = newMark();
    await using servers = openServers([programServer("mute", unruly("silent"), { env, startupTimeoutMs: 1000 })]);
    expect((await startupOf(servers)).slice(1)).toEqual([
      {
        type: "mcpStartupUpdated",
        server: "mute",
        status: {
          state: "failed",
          error:
            "MCP client for `mute` timed out after 1 seconds. Add or adjust `startup_timeout_sec` in your config.toml:\n[mcp_servers.mute]\nstartup_timeout_sec = XX",
        },
      },
      {
        type: "mcpStartupCompleted",
        ready: [],
        failed: [{ server: "mute", error: "timed out handshaking with MCP server after 1s" }],
        cancelled: [],
      },
    ]);
    expect(processesMarked(mark)).toEqual([]);
  });

  it.for([
    ["a name the model's functions cannot have", "my server", "Invalid MCP server name 'my server': must match pattern ^[a-zA-Z0-9_-]+$"],
  ] as const)("fails for %s", async ([, name, error]) => {
    await using servers = openServers([programServer(name, OFFICIAL)]);
    expect((await startupOf(servers)).at(-1)).toEqual({
      type: "mcpStartupCompleted",
      ready: [],
      failed: [{ server: name, error }],
      cancelled: [],
    });
  });

  it("is not disturbed by what a program prints beside its messages", async () => {
    await using servers = openServers([programServer("noisy", unruly("noisy"))]);
    const { result } = await callNamed(servers, "mcp__noisy__pid");
    expect(JSON.parse(result.output)).toEqual([{ text: expect.stringMatching(/^\d+$/), type: "text" }]);
  });

  it("cancelled by closing, leaves nothing behind", async () => {
    const { mark, env } = newMark();
    const servers = openServers([programServer("mute", unruly("silent"), { env })]);
    await eventually("the program", () => processesMarked(mark)[0]);
    await servers.close();
    expect(servers.takeStartupEvents().slice(1)).toEqual([
      { type: "mcpStartupUpdated", server: "mute", status: { state: "cancelled" } },
      { type: "mcpStartupCompleted", ready: [], failed: [], cancelled: ["mute"] },
    ]);
    expect(processesMarked(mark)).toEqual([]);
  });
});

function program() {
  return { kind: "program", command: "", args: [], env: {}, envVars: [] } as const;
}

describe("the tools on offer", () => {
  it("are those of all servers, by name, with the server's descriptions and a schema that the provider accepts", async () => {
    await using servers = openServers([
      programServer("z", unruly("named", "b", "a")),
      programServer("y", OFFICIAL, { enabledTools: ["greet"] }),
    ]);
    const declarations = (await servers.tools({ signal: NEVER })).map(({ declaration }) => declaration);
    const parameters = { type: "object", properties: {} };
    expect(declarations).toEqual([
      { type: "function", name: "mcp__y__greet", description: "can greet", strict: false, parameters },
      { type: "function", name: "mcp__z__a", description: "", strict: false, parameters },
      { type: "function", name: "mcp__z__b", description: "", strict: false, parameters },
    ]);
  });

  it("leave out tools that are not enabled, and disabled ones in any case", async () => {
    const settings = programServer("s", unruly("named", "a", "b", "c"), { enabledTools: ["a", "b"], disabledTools: ["b"] });
    await using servers = openServers([settings]);
    expect((await servers.tools({ signal: NEVER })).map(({ name }) => name)).toEqual(["mcp__s__a"]);
    expect(await servers.find("mcp__s__b", { signal: NEVER })).toBeUndefined();
  });

  it("do not wait for a slow server beyond the patience, and include it once it is up", async () => {
    using folder = tempFolder();
    const go = path.join(folder.path, "go");
    const slow = programServer("slow", unruly("late", go));
    await using servers = openServers([slow, programServer("quick", unruly())], { patienceMs: 0 });
    expect(await servers.tools({ signal: NEVER })).toEqual([]);
    const quick = await eventually("the quick server", () => servers.takeStartupEvents().find(isReady));
    expect(quick).toMatchObject({ server: "quick" });
    const first = await servers.tools({ signal: NEVER });
    expect(first.map(({ name }) => name)).toEqual(["mcp__quick__pid"]);
    expect(await servers.tools({ signal: NEVER })).toBe(first);
    writeFileSync(go, "");
    await startupOf(servers);
    expect((await servers.tools({ signal: NEVER })).map(({ name }) => name)).toEqual(["mcp__quick__pid", "mcp__slow__pid"]);
  });

  it("are waited for when the model calls one of a server that is still starting", async () => {
    using folder = tempFolder();
    const go = path.join(folder.path, "go");
    await using servers = openServers([programServer("slow", unruly("late", go))], { patienceMs: 0 });
    const call = callNamed(servers, "mcp__slow__pid");
    writeFileSync(go, "");
    expect((await call).result.output).toMatch(/^\[\{"text":"\d+","type":"text"\}\]$/);
  });

  it("are not waited for by a turn that was interrupted", async () => {
    await using servers = openServers([programServer("mute", unruly("silent"))]);
    const interrupted = AbortSignal.abort(new Error("interrupted"));
    await expect(servers.tools({ signal: interrupted })).rejects.toThrow("interrupted");
    await expect(servers.find("mcp__mute__pid", { signal: interrupted })).rejects.toThrow("interrupted");
    expect(await servers.find("mcp__other__pid", { signal: NEVER })).toBeUndefined();
  });
});

function isReady(news: { readonly type: string; readonly status?: { readonly state: string } }): boolean {
  return news.status?.state === "ready";
}

describe("a server program", () => {
  it("gets a small environment, the named variables, and those set for it", async () => {
    const settings = programServer("s", OFFICIAL, { envVars: ["WANTED", "UNSET"], env: { WRITTEN: "$HOME", TZ: "Asia/Tokyo" } });
    const env = { HOME: "/home/me", PATH: process.env["PATH"], TZ: "UTC", WANTED: "yes", OPENAI_API_KEY: "sk-ours", CODEX_HOME: "/codex" };
    await using servers = openServers([settings], { env, mark: { depth: 1, sandbox: "read-only" } });
    // `CODEX_MCPD_EXEC_ID` is set only without a PID namespace, and `PWD` only with one.
    const { CODEX_MCPD_EXEC_ID: _mark, PWD: _folder, ...seen } = await structuredAnswer(servers, "mcp__s__environment");
    const inside = { CODEX_MCP_INSIDE: "1;read-only", PATH: expect.stringContaining("/bin") };
    expect(seen).toEqual({ HOME: "/home/me", TZ: "Asia/Tokyo", WANTED: "yes", WRITTEN: "$HOME", ...inside });
  });

  it("gets no other mark of the turn through its entry, and the strictest mark if the turn's is unknown", async () => {
    const other = { CODEX_MCP_INSIDE: "1;danger-full-access" };
    const settings = programServer("s", OFFICIAL, { envVars: ["CODEX_MCP_INSIDE"], env: other });
    await using servers = openServers([settings], { env: { ...process.env, ...other } });
    expect(await structuredAnswer(servers, "mcp__s__environment")).toMatchObject({ CODEX_MCP_INSIDE: "sealed" });
  });

  it("runs in its configured folder, or else in ours, where package runners end their search", async () => {
    using home = tempFolder();
    using own = tempFolder();
    await using servers = openServers([programServer("a", OFFICIAL), programServer("b", OFFICIAL, { cwd: own.path })], {
      codexHome: home.path,
    });
    const ours = path.join(home.path, "mcp-server/start-folder");
    expect(await structuredAnswer(servers, "mcp__a__place")).toMatchObject({ cwd: ours });
    expect(await structuredAnswer(servers, "mcp__b__place")).toMatchObject({ cwd: own.path });
    expect(readdirSync(ours)).toEqual(["package.json"]);
  });
});

describe("the program of a server", () => {
  /** Two programs with the name of a server. The first one in PATH is in a folder that commands may write. */
  function planted(folder: string) {
    const [workspace, tools] = ["work/node_modules/.bin", "tools"].map((each) => path.join(folder, each)) as [string, string];
    for (const place of [workspace, tools]) mkdirSync(place, { recursive: true });
    writeFileSync(path.join(workspace, "server"), "#!/bin/sh\nexit 66\n", { mode: 0o755 });
    writeFileSync(path.join(workspace, "runtime"), "#!/bin/sh\nexit 67\n", { mode: 0o755 });
    symlinkSync(process.execPath, path.join(tools, "runtime"));
    const [file] = "args" in OFFICIAL_PROGRAM ? OFFICIAL_PROGRAM.args : [];
    writeFileSync(path.join(tools, "server"), `#!/usr/bin/env -S runtime ${file}\n`, { mode: 0o755 });
    const env = { PATH: `${workspace}:${tools}:${process.env["PATH"]}` };
    const outside = new OutsidePrograms({ env, writable: new WritablePlaces([path.join(folder, "work")]) });
    return { workspace, tools, options: { env, outside, codexHome: folder } };
  }
  const OFFICIAL_PROGRAM = programServer("", OFFICIAL).transport;

  function named(command: string, more: Partial<{ cwd: string; env: Record<string, string>; args: string[] }> = {}) {
    return { ...programServer("s", []), transport: { ...program(), command, ...more } };
  }

  it.for([
    ["by its name is never one that a command can have planted, nor is what that one starts", "server", undefined],
    ["by a path counts from CODEX_HOME", "tools/server", undefined],
    ["by a path counts from the folder that is configured", "./server", "tools"],
  ] as const)("%s", async ([, command, cwd]) => {
    using folder = tempFolder();
    const { options } = planted(folder.path);
    await using servers = openServers([named(command, cwd && { cwd: path.join(folder.path, cwd) })], options);
    expect((await startupOf(servers)).at(-1)).toMatchObject({ ready: ["s"] });
  });

  it("that is found nowhere else is not started, and the error names the remedy", async () => {
    using folder = tempFolder();
    const { workspace, tools, options } = planted(folder.path);
    rmSync(path.join(tools, "server"));
    await using servers = openServers([named("server")], options);
    const error = `\`server\` is found only as ${workspace}/server, which commands can write; install it elsewhere, or give its whole path as \`command\` in config.toml`;
    expect((await startupOf(servers)).at(-1)).toMatchObject({ failed: [{ server: "s", error }] });
  });

  it.for([
    ["whole path", (workspace: string) => named(path.join(workspace, "server"))],
    ["search path", (workspace: string) => named("server", { env: { PATH: workspace } })],
  ] as const)("that is configured with its %s stands", async ([, configured]) => {
    using folder = tempFolder();
    const { workspace, options } = planted(folder.path);
    await using servers = openServers([configured(workspace)], options);
    const [{ error } = { error: "" }] = summaryOf(await startupOf(servers)).failed;
    expect(error).toContain("it exited with code 66");
  });
});

function summaryOf(news: readonly McpStartupNews[]): Extract<McpStartupNews, { type: "mcpStartupCompleted" }> {
  const summary = news.find((each) => each.type === "mcpStartupCompleted");
  if (summary?.type !== "mcpStartupCompleted") throw new Error("There is no summary.");
  return summary;
}

it("what a server nests in 100,000 levels is left out, and so are such arguments; everything else works", async () => {
  await using servers = openServers([programServer("s", unruly("deep"))]);
  const [, warning, ...news] = await startupOf(servers);
  expect([warning, news.at(-1)]).toEqual([
    {
      type: "warning",
      message: "Of the MCP server s these tools are left out, because their input schemas are nested in more than 100 levels: nested.",
    },
    { type: "mcpStartupCompleted", ready: ["s"], failed: [], cancelled: [] },
  ]);
  const tools = await servers.tools({ signal: NEVER });
  expect(tools.map(({ name }) => name)).toEqual(["mcp__s__plain"]);
  const { events, result } = await callNamed(servers, "mcp__s__plain");
  expect(result).toEqual({ output: expect.stringContaining("tools/call failed: the response is nested in more than 100 levels") });
  expect(JSON.stringify(events)).toContain("is nested in more than 100 levels");
  const refused = await callNamed(servers, "mcp__s__plain", `{"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
  expect(refused).toEqual({ events: [], result: { output: "err: the arguments are nested in more than 100 levels" } });
});

describe("closing", () => {
  it.for(["stubborn", "breeder", "noisy"])("ends a %s server and all it started", async (behaviour) => {
    const { mark, env } = newMark();
    const servers = openServers([programServer("s", unruly(behaviour), { env })]);
    await startupOf(servers);
    expect(processesMarked(mark).length).toBeGreaterThan(0);
    await servers.close();
    expect(processesMarked(mark)).toEqual([]);
  });

  it("follows the signal, and closing again has no effect", async () => {
    const { mark, env } = newMark();
    const ending = new AbortController();
    const servers = openServers([programServer("s", unruly(), { env })], { signal: ending.signal });
    await startupOf(servers);
    ending.abort();
    expect(await stragglers(mark, { graceMs: 5000 })).toEqual([]);
    await servers.close();
    await servers.close();
  });

  it("refuses later calls", async () => {
    const servers = openServers([programServer("s", unruly())]);
    await startupOf(servers);
    await servers.close();
    expect((await callNamed(servers, "mcp__s__pid")).result).toEqual({ output: expect.stringContaining("MCP startup cancelled") });
  });
});

it("a server that cannot be reached does not keep the others from starting", async () => {
  await using servers = openServers([httpServer("web", "http://127.0.0.1:9/mcp"), programServer("s", unruly())]);
  expect((await startupOf(servers)).at(-1)).toEqual({
    type: "mcpStartupCompleted",
    ready: ["s"],
    failed: [{ server: "web", error: "handshaking with MCP server failed: connect ECONNREFUSED 127.0.0.1:9" }],
    cancelled: [],
  });
});

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}

it.for([
  ["docs", "search", "mcp__docs__search"],
  ["docs", "find-it_2", "mcp__docs__find-it_2"],
  ["docs", "a.b/c d", "mcp__docs__a_b_c_d"],
  ["docs", "grüße 🙂", "mcp__docs__gr__e__"],
  ["docs", "x".repeat(53), `mcp__docs__${"x".repeat(53)}`],
  ["docs", "x".repeat(54), `mcp__docs__${"x".repeat(13)}${sha1(`mcp__docs__${"x".repeat(54)}`)}`],
] as const)("the tool %s of %s is called %s", ([server, tool, name]) => {
  expect(new ToolNames().assign(server, tool)).toBe(name);
  expect(name.length).toBeLessThanOrEqual(64);
});

it("tools with equal names get different ones, and no tool is listed twice", () => {
  const names = new ToolNames();
  expect(["a.b", "a_b", "a_b", "a.b"].map((tool) => names.assign("s", tool))).toEqual([
    "mcp__s__a_b",
    `mcp__s__a_b${sha1("mcp__s__a_b")}`,
    undefined,
    undefined,
  ]);
});

it("a server's tools are known by how their names begin", () => {
  expect(namePrefix("my.docs")).toBe("mcp__my_docs__");
});
