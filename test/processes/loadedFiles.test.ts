import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { MAIN, startServer } from "../support/processes/mcpServer.js";

const TELL_LOADED_FILES = fileURLToPath(new URL("../programs/tellLoadedFiles.cjs", import.meta.url));

/** The files of the bundle that a server loaded to answer one call. */
async function filesNeeded(tool: string, args: Readonly<Record<string, unknown>>): Promise<string | undefined> {
  await using server = await startServer({ command: [process.execPath, "--require", TELL_LOADED_FILES, MAIN] });
  await server.initialize();
  await server.call(tool, args).result();
  await server.closeAndWait();
  return server.errorLines.find((line) => line.startsWith("loaded: "));
}

function turn(prompt: string): Promise<string | undefined> {
  return filesNeeded("codex", { prompt, sandbox: "danger-full-access", "approval-policy": "never" });
}

describe("a start loads only the code that it needs", () => {
  it("an answer without tools loads the agent, the chosen engine and the log", async () => {
    expect(await turn("!say hi")).toBe("loaded: agent main scripted server");
  });

  it("the first command loads the tools and the sandbox, the first complex one the bash parser", async () => {
    expect(await turn("!shell true\n!say hi")).toBe("loaded: agent main programs rules sandbox scripted server tools");
    expect(await turn("!shell true && [ -n x ]\n!say hi")).toBe(
      "loaded: agent main programs rules sandbox scripted server tools web-tree-sitter",
    );
  });

  it("services besides turns are loaded with their first call", async () => {
    expect(await filesNeeded("codex-steer", {})).toBe("loaded: agent further-tools main server");
    expect(await filesNeeded("codex-review", { target: "uncommitted" })).toBe(
      "loaded: agent further-tools main native-services programs sandbox scripted server",
    );
  });
});
