import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { publishedCodex, TRIED_VERSIONS } from "../support/codex/codexPeers.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { type ResponsesServer, startResponsesServer } from "../support/model/responsesServer.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";

const PATIENCE = { timeout: 90_000 };

/** A call's settings have the same effect with Codex as with our own engine, although Codex reads the configuration files itself. */
describe.for(TRIED_VERSIONS)("what calls and profiles ask for, with Codex %s", PATIENCE, async (version) => {
  const program = (await publishedCodex(version)) ?? "";

  async function start(stage: Stage, model: ResponsesServer): Promise<McpServer> {
    const args = ["--engine", "codex", "--codex-bin", program];
    const server = await startServer({ stage, args, config: mockProvider(model.url) });
    await server.initialize();
    return server;
  }

  it.skipIf(program === "")("the file of a profile reaches the model", async () => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    writeFileSync(path.join(stage.codexHome, "deep.config.toml"), 'model = "gpt-6-sol"\nmodel_reasoning_effort = "high"\n');
    await using server = await start(stage, model);
    await server.call("codex", { prompt: "!say deep", profile: "deep" }).result();
    const { body } = model.requests.at(-1) ?? { body: {} };
    expect([valueAt(body, "model"), valueAt(body, "reasoning.effort")]).toEqual(["gpt-6-sol", "high"]);
  });

  it.skipIf(program === "")("missing files and folders are refused before a request to Codex", async () => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    await using server = await start(stage, model);
    execFileSync("git", ["init", "-q", "-b", "main"], { cwd: stage.workspace });
    const refusals = [
      await server.call("codex", { prompt: "!say no", profile: "nobody" }).result(),
      await server.call("codex", { prompt: "!say no", cwd: "/nonexistent/dir" }).result(),
      await server.call("codex", { prompt: "!say no", timeout: 5 }).result(),
      await server.call("codex-review", { target: "branch", branch: "mian" }).result(),
    ];
    expect(refusals.map((result) => [valueAt(result, "isError"), valueAt(result, "content.0.text")])).toEqual([
      [true, expect.stringContaining("config profile `nobody` not found")],
      [true, expect.stringContaining("/nonexistent/dir does not exist")],
      [true, expect.stringContaining("unknown field `timeout`")],
      [true, expect.stringContaining("There is no branch `mian` in this repository.")],
    ]);
    expect(model.requests).toEqual([]);
  });

  it.skipIf(program === "")("the shown policy is the one in force", async () => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    await using server = await start(stage, model);
    const call = server.call("codex", { prompt: "!say ok", "approval-policy": "on-failure" });
    expect(await call.event("session_configured")).toMatchObject({ approval_policy: "on-request" });
    await call.result();
  });
});
