import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { MAIN, startServer } from "../support/mcpServer.js";

const TELL_LOADED_FILES = fileURLToPath(new URL("../programs/tellLoadedFiles.cjs", import.meta.url));

/** The files of the bundle that a server needed to answer one call. */
async function filesNeeded(prompt: string): Promise<string | undefined> {
  await using server = await startServer({ command: [process.execPath, "--require", TELL_LOADED_FILES, MAIN] });
  await server.initialize();
  await server.call("codex", { prompt, sandbox: "danger-full-access", "approval-policy": "never" }).result();
  await server.closeAndWait();
  return server.errorLines.find((line) => line.startsWith("loaded: "));
}

describe("a start waits for no code that it does not need", () => {
  it("an answer without tools needs the agent, the engine that was asked for, and the log that says so", async () => {
    expect(await filesNeeded("!say hi")).toBe("loaded: agent log-file main scripted");
  });

  it("with the first command come the tools, the sandbox and the reader of bash", async () => {
    expect(await filesNeeded("!shell true\n!say hi")).toBe("loaded: agent log-file main sandbox scripted tools web-tree-sitter");
  });
});
