import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { VERSION } from "../../src/lib/version.js";
import { MAIN, startServer } from "../support/processes/mcpServer.js";
import { setStage } from "../support/stage.js";

/** Gives the program in this folder another version, as an upgrade does. */
function upgrade(program: string, version: string): void {
  for (const name of readdirSync(program).filter((file) => file.endsWith(".js"))) {
    const file = path.join(program, name);
    writeFileSync(
      file,
      readFileSync(file, "utf8").replace(/^if \(\(globalThis\.codexMcpdVersion.*$/m, (line) => line.replaceAll(VERSION, version)),
    );
  }
}

it("a call that needs files of another version says that the server must be restarted, and other calls go on", async () => {
  await using stage = await setStage();
  const program = path.join(stage.root, "program");
  cpSync(path.dirname(MAIN), program, { recursive: true });
  await using server = await startServer({ stage, command: [process.execPath, path.join(program, path.basename(MAIN))] });
  expect(await server.call("codex", { prompt: "!say before" }).result()).toMatchObject({ structuredContent: { content: "before" } });
  upgrade(program, "99.0.0");
  expect(await server.call("codex", { prompt: "!shell true" }).result()).toMatchObject({
    isError: true,
    content: [
      { text: expect.stringMatching(/^codex-mcpd was replaced by version 99\.0\.0 while this server runs\. Restart the server: /) },
      {},
    ],
  });
  expect(await server.call("codex", { prompt: "!say after" }).result()).toMatchObject({ structuredContent: { content: "after" } });
  expect(await server.closeAndWait()).toEqual({ code: 0, signal: null });
});
