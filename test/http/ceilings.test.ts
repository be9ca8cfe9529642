import { mkdir, readdir, symlink } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refused } from "../support/callResults.js";
import { handshake, rpc, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { openSocket, unnumbered } from "../support/http/httpSocketClient.js";
import { valueAt } from "../support/scenarios/scenario.js";

let server: HttpServer;
beforeAll(async () => {
  server = await startHttpServer({ config: '[profiles.free]\nsandbox_mode = "danger-full-access"\n' });
  const { workspace, root } = server.running.stage;
  await mkdir(path.join(root, "outside"));
  await symlink(path.join(root, "outside"), path.join(workspace, "way-out"));
});
afterAll(() => server?.[Symbol.asyncDispose]());

async function call(args: Readonly<Record<string, unknown>>): Promise<unknown> {
  return valueAt((await server.ask({ message: toolCall(1, { prompt: "!say done", ...args }) })).body, "result");
}

const naming = (...words: readonly string[]) =>
  refused(expect.stringMatching(new RegExp(words.map((word) => `(?=.*${word})`).join(""), "s")));

describe.concurrent("a call over the network", () => {
  it.each([
    ["an argument", { sandbox: "danger-full-access" }],
    ["a profile", { profile: "free" }],
    ["its `config`", { config: { sandbox_mode: "danger-full-access" } }],
  ])("that requests full access by %s is refused, and the error names the setting that would allow it", async (_, args) => {
    expect(await call(args)).toEqual(naming("danger-full-access", "--max-sandbox"));
  });

  it.each([
    { "profiles.x.sandbox_mode": "danger-full-access" },
    { profiles: { x: { sandbox_mode: "danger-full-access" } } },
    { "mcp_servers.x.command": "sh" },
    { mcp_servers: { x: { command: "sh" } } },
    { "model_providers.x": { base_url: "http://127.0.0.1:1" } },
    { notify: ["sh"] },
    { '"notify"': ["sh"] },
    { "shell_environment_policy.set": { A: "1" } },
    { "sandbox_workspace_write.writable_roots": ["/"] },
    { experimental_instructions_file: "/etc/passwd" },
  ])("with %j in its `config` is refused", async (config) => {
    expect(await call({ config })).toEqual(refused(expect.stringContaining("from the `config` of a call")));
  });

  it("with a harmless key in its `config` is served", async () => {
    expect(await call({ config: { model_reasoning_effort: "low" } })).toMatchObject({ structuredContent: { content: "done" } });
  });

  it.each(["..", "/", "way-out", "../outside", "/etc"])("that wants to work in %s is refused", async (cwd) => {
    expect(await call({ cwd })).toEqual(naming("--allow-root"));
  });

  it("cannot exceed the ceiling by its own approval", async () => {
    const { session = "" } = await server.ask({ message: handshake(0, { capabilities: { elicitation: {} } }) });
    using stream = await server.stream({ headers: { "mcp-session-id": session } });
    const outside = path.join(server.running.stage.root, "outside");
    const { body } = await server.ask({
      headers: { "mcp-session-id": session },
      message: toolCall(1, { prompt: `!escalate touch ${outside}/made.txt`, "approval-policy": "on-request", sandbox: "workspace-write" }),
    });
    expect(valueAt(body, "result.structuredContent.content")).toBe("done");
    await stream.answerTo(1);
    expect(stream.messages.filter(({ method }) => method === "elicitation/create")).toEqual([]);
    expect(await readdir(outside)).toEqual([]);
  });

  it("on a WebSocket has the same ceilings", async () => {
    using socket = await openSocket(server.origin);
    socket.send(rpc(1, "tools/call", { name: "codex", arguments: { prompt: "!say x", sandbox: "danger-full-access" } }));
    expect(unnumbered(await socket.answerTo(1))["result"]).toEqual(naming("danger-full-access", "--max-sandbox"));
  });
});
