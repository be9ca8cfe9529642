import { existsSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { sandbox } from "../sandbox/available.js";
import { eventually } from "../support/eventually.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { newMark } from "../support/processes/agentMcpServers.js";
import { processesMarked, stragglers } from "../support/processes/markedProcesses.js";
import { startServer } from "../support/processes/mcpServer.js";
import { setStage } from "../support/stage.js";

const UNRULY = fileURLToPath(new URL("../programs/mcpServerUnruly.mjs", import.meta.url));

function configOf(settings: string, mark: string): string {
  return `[mcp_servers.own]\n${settings}\n[mcp_servers.own.env]\nSCENARIO_RUN = "${mark}"\n`;
}

describe("the agent's MCP servers", () => {
  it.for([
    ["is asked to end", "SIGTERM", "stubborn"],
    ["is killed", "SIGKILL", "stubborn"],
    ["is killed", "SIGKILL", "breeder"],
  ] as const)("end with a server that %s by %s, however %s they are", async ([, signal, behaviour], { skip }) => {
    skip(signal === "SIGKILL" && sandbox.fullAccess === "plain", "there are no namespaces here");
    const { mark } = newMark();
    const config = configOf(`command = "${process.execPath}"\nargs = ["${UNRULY}", "${behaviour}"]`, mark);
    await using server = await startServer({ config });
    await server.initialize();
    await server.call("codex", { prompt: "!say up", sandbox: "danger-full-access" }).result();
    expect(processesMarked(mark).length).toBeGreaterThan(0);
    server.process.kill(signal);
    await eventually("its end", () => server.process.end);
    expect(await stragglers(mark, { graceMs: signal === "SIGTERM" ? 0 : 5_000 })).toEqual([]);
  });

  it.for([
    ["of their own by default", true],
    ["shared with the server if the user configures that", false],
  ] as const)("run in a PID namespace %s", async ([, own], { skip }) => {
    skip(own && sandbox.fullAccess === "plain", "there are no namespaces here");
    await using stage = await setStage();
    const seen = path.join(stage.home, "namespace");
    const script = `readlink /proc/self/ns/pid > ${seen}; exec ${process.execPath} ${UNRULY}`;
    const setting = `[mcp_server]\ncontain_full_access = ${own}\n`;
    await using server = await startServer({
      stage,
      config: setting + configOf(`command = "sh"\nargs = ["-c", "${script}"]`, newMark().mark),
    });
    await server.initialize();
    await server.call("codex", { prompt: "!say up" }).result();
    expect(readFileSync(seen, "utf8").trim() === readlinkSync("/proc/self/ns/pid")).toBe(!own);
  });

  it("do not fail a thread's turns by a tool that cannot be written", async () => {
    await using model = await startResponsesServer();
    const own = configOf(`command = "${process.execPath}"\nargs = ["${UNRULY}", "deep"]`, newMark().mark);
    await using server = await startServer({ args: ["--engine", "native"], config: mockProvider(model.url) + own });
    await server.initialize();
    expect(await server.call("codex", { prompt: "!say up" }).result()).toMatchObject({
      structuredContent: { status: "completed", content: "up", notices: [expect.stringContaining("these tools are left out")] },
    });
  });

  it("neither run in the workspace nor come from it", async () => {
    await using stage = await setStage();
    const bin = path.join(stage.workspace, "node_modules/.bin");
    const place = path.join(stage.home, "place");
    mkdirSync(bin, { recursive: true });
    writeFileSync(path.join(bin, "sh"), `#!/bin/sh\ntouch ${stage.home}/planted\n`, { mode: 0o755 });
    const script = `pwd > ${place}; exec ${process.execPath} ${UNRULY}`;
    await using server = await startServer({
      stage,
      config: configOf(`command = "sh"\nargs = ["-c", "${script}"]`, newMark().mark),
      env: { PATH: `${bin}:node_modules/.bin:/usr/bin:/bin` },
    });
    await server.initialize();
    await server.call("codex", { prompt: "!say up" }).result();
    expect([readFileSync(place, "utf8").trim(), existsSync(path.join(stage.home, "planted"))]).toEqual([
      path.join(stage.codexHome, "mcp-server/start-folder"),
      false,
    ]);
  });
});
