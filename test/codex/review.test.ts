import { expect, it } from "vitest";
import { publishedCases } from "../support/codex/codexPeers.js";
import { configNaming } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";

/** The output that Codex expects from its reviewer. */
const REVIEW = {
  findings: [
    {
      title: "[P1] Import the module",
      body: "It is used in `main`.",
      confidence_score: 0.8,
      priority: 1,
      code_location: { absolute_file_path: "/elsewhere/a b.py", line_range: { start: 3, end: 4 } },
    },
  ],
  overall_correctness: "patch is incorrect",
  overall_explanation: "Breaks the build.",
  overall_confidence_score: 0.9,
};

it.for(await publishedCases())(
  "the findings of a review by Codex $version with $family are data, its tokens are counted, and Codex does not warn about our own settings",
  { timeout: 90_000 },
  async ({ program, model: named }) => {
    await using model = await startResponsesServer();
    await using server = await startServer({
      args: ["--engine", "codex", "--codex-bin", program, "--wait", "600"],
      config: configNaming(named, model.url),
    });
    await server.initialize();
    const result = await server.call("codex-review", { target: "custom", instructions: `!say ${JSON.stringify(REVIEW)}` }).result();
    expect(valueAt(result, "structuredContent.findings")).toEqual([
      {
        priority: 1,
        title: "Import the module",
        file: "/elsewhere/a b.py",
        lines: [3, 4],
        body: "It is used in `main`.",
        confidence: null,
      },
    ]);
    expect(valueAt(result, "content.0.text")).toMatch(/^Breaks the build\.\n/);
    expect(valueAt(result, "structuredContent.usage.turn.total")).toBe(15);
    expect(JSON.stringify(result)).not.toContain("mcp_server");
  },
);
