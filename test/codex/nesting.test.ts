import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { publishedCodex } from "../support/codexPeers.js";
import { MAIN, startServer } from "../support/mcpServer.js";
import { mockProvider } from "../support/mockProvider.js";
import { type ResponsesServer, startResponsesServer } from "../support/responsesServer.js";
import { setStage } from "../support/stage.js";

const program = (await publishedCodex("0.166.0")) ?? "";
const PATIENCE = { timeout: 90_000 };
const ENGINE = ["--engine", "codex", "--codex-bin", program];
const SERVER = `'${process.execPath}' '${MAIN}' --engine scripted --tools codex,extras`;

/** The tools of MCP servers that Codex has offered to its model. */
function offered({ requests }: ResponsesServer): string[] {
  const names = requests.flatMap(({ body }) => JSON.stringify(body["tools"]).match(/"name":"[^"]*"/g) ?? []);
  return [...new Set(names.filter((name) => /codex|again/.test(name)))];
}

describe.skipIf(program === "")("this server among the MCP servers of the real Codex, which reads config.toml itself", PATIENCE, () => {
  it("is left out when it is named plainly, and config.toml stays as it was", async () => {
    await using model = await startResponsesServer();
    const config = `${mockProvider(model.url)}[mcp_servers."codex"]\ncommand = "${process.execPath}"\nargs = ["${MAIN}"]\n`;
    await using server = await startServer({ args: ENGINE, config });
    await server.initialize();
    const call = server.call("codex", { prompt: "!say hello" });
    expect(await call.result()).toMatchObject({ structuredContent: { content: "hello" } });
    const warnings = call.events.filter(({ type }) => type === "warning").map(({ message }) => message);
    expect(warnings).toContainEqual(expect.stringContaining("left out MCP server codex"));
    expect(offered(model)).toEqual([]);
    expect(server.started().filter(({ commandLine }) => commandLine.includes(MAIN))).toEqual([]);
    expect(await readFile(path.join(server.stage.codexHome, "config.toml"), "utf8")).toBe(config);
  });

  it.for([
    ["as it is", `exec ${SERVER}`],
    ["with a clean environment", `exec env -i PATH="$PATH" ${SERVER}`],
  ] as const)("behind a script, %s, has nothing that starts a turn or a command", async ([, script]) => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    const [file, seen] = [path.join(stage.root, "wrapped"), path.join(stage.root, "environment")];
    await writeFile(file, `#!/bin/sh\nenv > '${seen}'\n${script}\n`);
    await chmod(file, 0o755);
    await using server = await startServer({
      stage,
      args: ENGINE,
      config: `${mockProvider(model.url)}[mcp_servers.again]\ncommand = "${file}"\n`,
    });
    await server.initialize();
    expect(await server.call("codex", { prompt: "!say hello" }).result()).toMatchObject({ structuredContent: { content: "hello" } });
    // Codex hands on a few variables and no others, so that only the processes above tell.
    expect([existsSync(seen), (await readFile(seen, "utf8")).includes("CODEX_MCP_INSIDE")]).toEqual([true, false]);
    const tools = offered(model).join(" ");
    expect([tools.includes("models"), /codex-exec|codex_exec|codex-reply|"(mcp__again__)?codex"/.test(tools)]).toEqual([true, false]);
  });
});
