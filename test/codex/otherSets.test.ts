import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type CodexCase, NEWEST_TRIED, publishedCases } from "../support/codex/codexPeers.js";
import { configNaming } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";

const PATIENCE = { timeout: 120_000 };
const CASES = await publishedCases([NEWEST_TRIED]);

type Json = Readonly<Record<string, unknown>>;

async function startSet({ program, model }: CodexCase, stage: Stage, url: string, set: string): Promise<McpServer> {
  const args = ["--engine", "codex", "--codex-bin", program, "--tools", set];
  const server = await startServer({ stage, args, config: configNaming(model, url) });
  await server.initialize();
  return server;
}

describe.each(CASES)("the sets of other servers with Codex $version and $family", PATIENCE, (codex) => {
  const start = (stage: Stage, url: string, set: string) => startSet(codex, stage, url, set);

  it("codex-cli: a session keeps its sandbox, an argument changes it, and the session continues after a restart", async () => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    const made = (name: string) => existsSync(path.join(stage.workspace, name));
    const attempt = async (server: McpServer, name: string, more: Json = {}) => {
      const args = { prompt: `!shell touch ${name}\n!say done`, sessionId: "s", workingDirectory: stage.workspace, ...more };
      const result = await server.call("codex", args).result();
      expect(result).not.toHaveProperty("isError");
      return valueAt(result, "structuredContent.threadId");
    };
    const first = await (async () => {
      await using server = await start(stage, model.url, "codex-cli");
      const id = await attempt(server, "one", { sandbox: "read-only" });
      expect(await attempt(server, "two")).toBe(id);
      expect([made("one"), made("two")]).toEqual([false, false]);
      expect(await attempt(server, "three", { fullAuto: true })).toBe(id);
      expect(made("three")).toBe(true);
      const environment = {
        prompt: '!shell test "$CODEX_MCP_CALLBACK_URI" = cb:1 && touch called\n!say done',
        sessionId: "s",
        callbackUri: "cb:1",
      };
      await server.call("codex", environment).result();
      expect(made("called")).toBe(true);
      expect(String(valueAt(await server.call("help", {}).result(), "content.0.text"))).toContain("Usage: codex");
      await server.closeAndWait();
      return id;
    })();
    await using later = await start(stage, model.url, "codex-cli");
    expect(await attempt(later, "four")).toBe(first);
    expect(made("four")).toBe(true);
  });

  it("openoxide: a question about a thread that may write changes nothing", async () => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    await using server = await start(stage, model.url, "openoxide");
    const writing = { prompt: "!say known", sandbox: "workspace-write", approval_policy: "never", cwd: stage.workspace };
    const id = valueAt(await server.call("openoxide", writing).result(), "structuredContent.thread_id");
    const asked = await server.call("openoxide-query", { query: "!shell touch bad\n!say looked", thread_id: id }).result();
    expect(valueAt(asked, "structuredContent.content")).toBe("looked");
    expect(valueAt(asked, "structuredContent.thread_id")).not.toBe(id);
    expect(existsSync(path.join(stage.workspace, "bad"))).toBe(false);
    await server.call("openoxide-reply", { thread_id: id, prompt: "!shell touch good\n!say wrote" }).result();
    expect(existsSync(path.join(stage.workspace, "good"))).toBe(true);
  });
});
