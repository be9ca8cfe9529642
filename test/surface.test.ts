import os from "node:os";
import { describe, expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { RPC } from "../src/jsonrpc/errors.js";
import { INSTRUCTIONS } from "../src/mcp/wording/instructions.js";
import { MemorySession } from "./support/memory/memorySession.js";
import { MAIN } from "./support/processes/mcpServer.js";
import { runToEnd } from "./support/processes/runToEnd.js";
import { isRecord, valueAt } from "./support/scenarios/scenario.js";
import { type Stage, setStage } from "./support/stage.js";
import pins from "./support/toolPins.generated.json" with { type: "json" };
import { CODEX_TOOLS } from "./support/toolPins.js";

// The names that clients and scripts rely on. A change here is a change for users and belongs in the changelog.

function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).filter(([key, entry]) => !(key === "description" && typeof entry === "string"));
  return Object.fromEntries(kept.map(([key, entry]) => [key, withoutDescriptions(entry)]));
}

describe("the wire", () => {
  it("tools of the set codex-original: names, order, schemas, as Codex 0.92.0 showed them", async () => {
    await using client = new MemorySession({ sets: ["codex-original"] });
    const { result } = await client.request("tools/list");
    expect(JSON.stringify(withoutDescriptions(result))).toBe(JSON.stringify({ tools: CODEX_TOOLS }));
  });

  it("tools of the set codex: what a change of any tool shows in the generated pins", async () => {
    await using client = new MemorySession();
    const { result } = await client.request("tools/list");
    const pinned = pins.tools.filter(({ sets }) => sets.includes("codex"));
    expect(withoutDescriptions(result)).toEqual({ tools: pinned.map(({ sets: _sets, ...tool }) => tool) });
  });

  it.each(["codex-cli", "openoxide", "extras"] as const)("tools of the set %s are those of the generated pins", async (set) => {
    await using client = new MemorySession({ sets: [set] });
    const { result } = await client.request("tools/list");
    const pinned = pins.tools.filter(({ sets }) => sets.includes(set));
    expect(withoutDescriptions(result)).toEqual({ tools: pinned.map(({ sets: _sets, ...tool }) => tool) });
  });

  it("the answer to initialize", async () => {
    await using client = new MemorySession();
    expect(await client.initialize("2025-06-18")).toEqual({
      id: 101,
      jsonrpc: "2.0",
      result: {
        capabilities: { logging: {}, tools: { listChanged: true } },
        protocolVersion: "2025-06-18",
        serverInfo: {
          name: "codex-mcp-server",
          title: "Codex",
          version: manifest.version,
          user_agent: `codex_mcpd/${manifest.version} (${os.type()} ${os.release()}; ${os.machine()}) xterm (test; 1.0.0)`,
        },
        instructions: INSTRUCTIONS,
        _meta: { "codex-mcpd/engine": "scripted" },
      },
    });
  });

  it("the methods that are answered", async () => {
    await using client = new MemorySession();
    const known = ["initialize", "ping", "tools/list", "tools/call", "logging/setLevel"];
    const resources = ["resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe"];
    const others = ["prompts/list", "prompts/get", "completion/complete", "tasks/list", "tasks/get", "server/discover"];
    const asked = [...known, ...resources, ...others];
    const answers = await Promise.all(asked.map(async (method) => [method, valueAt(await client.request(method, {}), "error.code")]));
    expect(answers.filter(([, code]) => code !== -32601).map(([method]) => method)).toEqual(known);
  });

  it("the error codes", () => {
    expect(RPC).toEqual({
      parseError: -32700,
      invalidRequest: -32600,
      methodNotFound: -32601,
      invalidParams: -32602,
      internalError: -32603,
      busy: -32000,
    });
  });

  it("the server's own messages during a call", async () => {
    await using client = new MemorySession();
    await client.request("logging/setLevel", { level: "debug" });
    await client.request("tools/call", { name: "codex", arguments: { prompt: "!say ok" }, _meta: { progressToken: 1 } });
    expect(new Set(client.received.flatMap(({ method }) => (method === undefined ? [] : [method])))).toEqual(
      new Set(["codex/event", "notifications/progress", "notifications/message"]),
    );
  });
});

describe("the command line", () => {
  async function run(stage: Stage, ...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const env = { PATH: process.env["PATH"], CODEX_HOME: stage.codexHome, HOME: stage.home };
    return runToEnd([process.execPath, MAIN, ...args], { cwd: stage.workspace, env });
  }

  function usage(complaint: string): unknown {
    const stderr = `error: ${complaint}\n\nUsage: codex-mcp-server [mcp-server|serve|open|doctor|token] [OPTIONS]\n\nFor more information, try '--help'.\n`;
    return { code: 2, stdout: "", stderr };
  }

  it.concurrent.for([
    [["--bogus"], "unexpected argument '--bogus' found"],
    [["nonsense"], "unrecognized subcommand 'nonsense'"],
    [["--sandbox", "full"], "invalid value 'full' for --sandbox: expected read-only, workspace-write, danger-full-access"],
    [["--port", "http"], "invalid value 'http' for --port: expected a number from 0 to 65535"],
    [["--allow-root", "."], "--allow-root is for a server that listens: add --port, or use 'serve'"],
    [["serve", "--tls-cert", "c.pem"], "--tls-cert and --tls-key go together"],
    [["serve", "--oauth-scope", "x"], "--oauth-scope needs --oauth-issuer"],
    [["--engine", "magic"], "invalid value 'magic' for --engine: expected auto, codex, native, scripted"],
    [["--approval-fallback", "guess"], "invalid value 'guess' for --approval-fallback: expected auto-within-policy, deny, hold, ask"],
  ] as const)("wrong usage, %j, is exit code 2 and says so on stderr only", async ([args, complaint], { expect: expectHere }) => {
    await using stage = await setStage();
    expectHere(await run(stage, ...args)).toEqual(usage(complaint));
  });

  it.concurrent.for([
    [["-c", "nonsense"], 'Error: -c needs key=value, for example -c model="gpt-6.1-sol"; got: nonsense\n'],
    [["-c", "sandbox_mode=5"], "Error: error loading config: -c: invalid type: integer `5`, expected a string in `sandbox_mode`\n"],
    [
      ["-p", "nobody"],
      "Error: error loading config: config profile `nobody` not found. A profile is a file NAME.config.toml in CODEX_HOME, or a table [profiles.NAME] in config.toml. There is none yet.\n",
    ],
  ] as const)("a bad setting, %j, is exit code 1 and one complaint on stderr", async ([args, stderr], { expect: expectHere }) => {
    await using stage = await setStage();
    expectHere(await run(stage, ...args)).toEqual({ code: 1, stdout: "", stderr });
  });

  it.concurrent.for(["--version", "-V"])("%s prints name and version", async (flag, { expect: expectHere }) => {
    await using stage = await setStage();
    expectHere(await run(stage, flag)).toEqual({ code: 0, stdout: `codex-mcp-server ${manifest.version}\n`, stderr: "" });
  });

  it.concurrent.for(["--help", "-h"])("%s names every flag that works, and no other", async (flag, { expect: expectHere }) => {
    await using stage = await setStage();
    const { code, stdout, stderr } = await run(stage, flag);
    const flags = [...stdout.matchAll(/^ {2}(?:(-\w), | {4})--([a-z-]+)/gm)].map(([, short, long]) => [short, long]);
    expectHere({ code, stderr, flags }).toEqual({
      code: 0,
      stderr: "",
      flags: [
        ["-c", "config"],
        ["-m", "model"],
        ["-p", "profile"],
        ["-C", "cd"],
        ["-s", "sandbox"],
        ["-a", "ask-for-approval"],
        [undefined, "full-auto"],
        [undefined, "dangerously-bypass-approvals-and-sandbox"],
        [undefined, "yolo"],
        [undefined, "search"],
        [undefined, "enable"],
        [undefined, "disable"],
        [undefined, "json"],
        [undefined, "strict-config"],
        [undefined, "engine"],
        [undefined, "codex-bin"],
        [undefined, "tools"],
        [undefined, "approval-fallback"],
        [undefined, "events"],
        [undefined, "sandbox-bin"],
        [undefined, "eof-grace"],
        [undefined, "wait"],
        ["-h", "help"],
        ["-V", "version"],
        [undefined, "host"],
        [undefined, "port"],
        [undefined, "token"],
        [undefined, "token-file"],
        [undefined, "allow-unauthenticated"],
        [undefined, "trusted-proxy"],
        [undefined, "allow-host"],
        [undefined, "cors-origin"],
        [undefined, "tls-cert"],
        [undefined, "tls-key"],
        [undefined, "oauth-issuer"],
        [undefined, "oauth-audience"],
        [undefined, "oauth-jwks"],
        [undefined, "oauth-scope"],
        [undefined, "oauth-manage-scope"],
        [undefined, "oauth-operator-scope"],
        [undefined, "oauth-resource"],
        [undefined, "allow-root"],
        [undefined, "read-root"],
        [undefined, "max-sandbox"],
        [undefined, "allow-config"],
      ],
    });
  });

  it("serving until stdin closes is exit code 0, with nothing on stdout", async () => {
    await using stage = await setStage();
    expect(await run(stage, "mcp-server")).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});
