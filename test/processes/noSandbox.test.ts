import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { isMissing } from "../sandbox/available.js";
import { eventually } from "../support/eventually.js";
import { toolCall } from "../support/http/httpClient.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";

const WITHOUT = ["--engine", "scripted", "--sandbox-bin", "/bin/false"];
const TOUCH = { prompt: "!shell touch x\n!say done", sandbox: "workspace-write", "approval-policy": "on-request" };
/** Cause and remedy. They belong in every text about a command that did not run, or that needs approval. */
const CAUSE = /no sandbox works on this machine.*install bubblewrap \(`apt install bubblewrap`\).*`codex-mcp-server doctor`/s;
const MISLEADING = /leave the sandbox|way inside/;

async function startWithout(...args: readonly string[]): Promise<McpServer> {
  return startServer({ args: [...WITHOUT, ...args] });
}

/** The output of the command that the agent's model received. */
function toldAgent(events: readonly Readonly<Record<string, unknown>>[]): unknown {
  return events.find(({ type }) => type === "exec_command_end")?.["aggregated_output"];
}

describe.skipIf(process.platform !== "linux")("on a machine where no sandbox works", () => {
  it("a client that cannot be asked learns the cause and the remedy, and so does the agent", async () => {
    await using server = await startWithout();
    await server.initialize();
    const call = server.call("codex", TOUCH);
    const result = await call.result();
    expect(valueAt(result, "structuredContent")).toMatchObject({
      status: "completed",
      next: expect.stringMatching(CAUSE),
      commands: { run: 0, failed: 0 },
    });
    expect(JSON.stringify(result)).not.toMatch(MISLEADING);
    expect(toldAgent(call.events)).toMatch(CAUSE);
    expect(toldAgent(call.events)).not.toMatch(MISLEADING);
    expect(existsSync(path.join(server.stage.workspace, "x"))).toBe(false);
  });

  it("nobody is asked under `never`, and the result says why nothing ran", async () => {
    await using server = await startWithout();
    await server.initialize();
    const call = server.call("codex", { ...TOUCH, "approval-policy": "never" });
    expect(valueAt(await call.result(), "structuredContent")).toMatchObject({
      next: expect.stringMatching(CAUSE),
      commands: { run: 0, failed: 0, refused: 1, failures: [{ command: "touch x", refusal: expect.stringContaining("no sandbox works") }] },
    });
    expect(toldAgent(call.events)).toMatch(CAUSE);
  });

  it("a person is asked about a command without a sandbox, and may allow it", async () => {
    await using server = await startWithout();
    await server.initialize("2025-11-25", { elicitation: {} });
    const call = server.call("codex", TOUCH);
    const question = await server.question();
    const asked = String(valueAt(question, "params.requestedSchema.properties.decision.description"));
    expect(asked).toMatch(CAUSE);
    expect(asked).toContain("It runs without a sandbox.");
    server.decide(question, { action: "accept", content: { decision: "approved" } });
    const structured = valueAt(await call.result(), "structuredContent");
    expect(structured).toMatchObject({ commands: { run: 1, failed: 0 } });
    expect(structured).not.toHaveProperty("next");
    expect(existsSync(path.join(server.stage.workspace, "x"))).toBe(true);
  });

  it("a user's denial is reported as one, and not as a missing sandbox", async () => {
    await using server = await startWithout();
    await server.initialize("2025-11-25", { elicitation: {} });
    const call = server.call("codex", TOUCH);
    server.decide(await server.question(), { action: "accept", content: { decision: "denied" } });
    const structured = valueAt(await call.result(), "structuredContent");
    expect(structured).not.toHaveProperty("next");
    expect(toldAgent(call.events)).toBe("exec command rejected by user");
  });

  it("a result with a held question reports it too", async () => {
    await using server = await startWithout("--approval-fallback", "hold");
    await server.initialize();
    expect(JSON.stringify(await server.call("codex", { ...TOUCH, wait: 5 }).result())).toMatch(CAUSE);
  });

  it("the server says so once on stderr, before any thread", async () => {
    await using server = await startWithout();
    await server.initialize();
    const lines = () => server.errorLines.filter((line) => CAUSE.test(line));
    await eventually("the notice on stderr", () => lines()[0]);
    await server.call("codex", TOUCH).result();
    expect(lines()).toHaveLength(1);
  });

  it("a server that listens says so at its start, and to its callers", async () => {
    await using server = await startHttpServer({ args: ["--sandbox-bin", "/bin/false"] });
    await eventually("the notice on stderr", () => server.running.errorLines.find((line) => CAUSE.test(line)));
    const { body } = await server.ask({ message: toolCall(1, TOUCH) });
    expect(valueAt(body, "result.structuredContent")).toMatchObject({ next: expect.stringMatching(CAUSE), commands: { run: 0 } });
    expect(JSON.stringify(body)).not.toMatch(MISLEADING);
  });
});

it.skipIf(isMissing)("a server that was given a working sandbox says nothing of it", async () => {
  await using server = await startServer();
  await server.initialize();
  await server.call("codex", { prompt: "!say done" }).result();
  expect(server.errorLines.filter((line) => line.includes("no sandbox works"))).toEqual([]);
});
