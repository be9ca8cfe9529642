import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { NEWEST_TRIED, publishedCases } from "../support/codex/codexPeers.js";
import { configNaming } from "../support/model/mockProvider.js";
import { type ResponsesServer, startResponsesServer } from "../support/model/responsesServer.js";
import { MAIN, startServer } from "../support/processes/mcpServer.js";
import { setStage } from "../support/stage.js";

const CASES = await publishedCases([NEWEST_TRIED]);
const PATIENCE = { timeout: 90_000 };
const SERVER = `'${process.execPath}' '${MAIN}' --engine scripted --tools codex,extras`;

/** The tools of MCP servers that Codex offered to its model. */
function offered({ requests }: ResponsesServer): string[] {
  // Codex describes tools inside the conversation to models that it knows.
  const names = requests.flatMap(({ body }) => JSON.stringify(body).match(/"name":"[^"]*"|mcp__(codex|again)__\w+/g) ?? []);
  return [...new Set(names.filter((name) => /codex|again/.test(name)))];
}

describe.each(CASES)(
  "this server among the MCP servers of Codex $version with $family, which reads config.toml itself",
  PATIENCE,
  (codex) => {
    const { program, model: named } = codex;
    const ENGINE = ["--engine", "codex", "--codex-bin", program];

    it("is left out when it is named plainly, and config.toml stays as it was", async () => {
      await using model = await startResponsesServer();
      const config = `${configNaming(named, model.url)}[mcp_servers."codex"]\ncommand = "${process.execPath}"\nargs = ["${MAIN}"]\n`;
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
    ] as const)("behind a script, %s, offers nothing that starts a turn or a command", async ([, script]) => {
      await using model = await startResponsesServer();
      await using stage = await setStage();
      const [file, seen] = [path.join(stage.root, "wrapped"), path.join(stage.root, "environment")];
      await writeFile(file, `#!/bin/sh\nenv > '${seen}'\n${script}\n`);
      await chmod(file, 0o755);
      await using server = await startServer({
        stage,
        args: ENGINE,
        config: `${configNaming(named, model.url)}[mcp_servers.again]\ncommand = "${file}"\n`,
      });
      await server.initialize();
      expect(await server.call("codex", { prompt: "!say hello" }).result()).toMatchObject({ structuredContent: { content: "hello" } });
      // Codex passes on only a few variables, so only the parent processes show that the server runs inside Codex.
      expect([existsSync(seen), (await readFile(seen, "utf8")).includes("CODEX_MCP_INSIDE")]).toEqual([true, false]);
      const tools = offered(model).join(" ");
      // Models that Codex knows see the tools of MCP servers only after they search for them.
      expect([tools.includes("models"), /codex-exec|codex_exec|codex-reply|"(mcp__again__)?codex"/.test(tools)]).toEqual([
        named !== undefined,
        false,
      ]);
    });
  },
);
