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

describe("a start waits for no code that it does not need", () => {
  it("an answer without tools needs the agent, the engine that was asked for, and the log that says so", async () => {
    expect(await turn("!say hi")).toBe("loaded: agent log-file main scripted server");
  });

  it("with the first command come the tools and the sandbox, with the first that is not plain the reader of bash", async () => {
    expect(await turn("!shell true\n!say hi")).toBe("loaded: agent log-file main programs rules sandbox scripted server tools");
    expect(await turn("!shell true && [ -n x ]\n!say hi")).toBe(
      "loaded: agent log-file main programs rules sandbox scripted server tools web-tree-sitter",
    );
  });

  it("what the server does besides turns comes with the first call of it", async () => {
    expect(await filesNeeded("codex-steer", {})).toBe("loaded: agent further-tools log-file main server");
    expect(await filesNeeded("codex-review", { target: "uncommitted" })).toBe(
      "loaded: agent further-tools log-file main native-services programs sandbox scripted server",
    );
  });
});
