import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { mockProvider } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";

const KEY = "sk-key-in-the-environment";
const SAVED_KEY = "sk-key-in-auth-json";

/** The contents of all files that a run left, except the one with the secret. */
function leftIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "auth.json")
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), "utf8"))
    .join("\n");
}

/** A repository whose AGENTS.md is a link, with harmless instructions above it and a saved key. */
async function hostileStage(target: (stage: Stage) => string): Promise<Stage> {
  const stage = await setStage();
  writeFileSync(path.join(stage.codexHome, "auth.json"), JSON.stringify({ OPENAI_API_KEY: SAVED_KEY }));
  mkdirSync(path.join(stage.workspace, ".git"));
  writeFileSync(path.join(stage.workspace, ".git/HEAD"), "ref: refs/heads/main\n");
  writeFileSync(path.join(stage.workspace, "CLAUDE.md"), "Honest instructions.");
  symlinkSync(target(stage), path.join(stage.workspace, "AGENTS.md"));
  symlinkSync(path.join(stage.codexHome, "auth.json"), path.join(stage.workspace, "link"));
  return stage;
}

/** Patches in one line, as the script needs them. */
const PATCH = "*** Begin Patch\\n*** Update File: link\\n*** Move to: copy.txt\\n@@\\n+x\\n*** End Patch";

describe.runIf(process.platform === "linux")(
  "in a repository full of links nothing secret reaches model, client, rollout or workspace",
  () => {
    it.for([
      ["the server's environment", () => "/proc/self/environ"],
      ["the saved key", ({ codexHome }: Stage) => path.join(codexHome, "auth.json")],
      ["a file without an end", () => "/proc/self/pagemap"],
    ] as [string, (stage: Stage) => string][])("AGENTS.md is %s", async ([, target]) => {
      await using stage = await hostileStage(target);
      await using model = await startResponsesServer();
      await using server = await startServer({
        stage,
        args: ["--engine", "native"],
        config: `project_doc_fallback_filenames = ["CLAUDE.md"]\n${mockProvider(model.url)}`,
        env: { OPENAI_API_KEY: KEY },
      });
      const call = server.call("codex", {
        prompt: `!rawpatch ${PATCH}\n!say done`,
        "approval-policy": "never",
        sandbox: "workspace-write",
      });
      expect(valueAt(await call.result(), "structuredContent.content")).toBe("done");
      await server.closeAndWait();
      const told = JSON.stringify([call.events, model.requests.map(({ body }) => body)]) + leftIn(stage.root);
      expect(told).toContain("Honest instructions.");
      expect(told).toContain("it is kept from this thread and from its commands");
      for (const secret of [KEY, SAVED_KEY]) expect(told).not.toContain(secret);
    });
  },
);
