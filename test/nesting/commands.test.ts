import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { sandbox } from "../sandbox/available.js";
import { eventually } from "../support/eventually.js";
import { MAIN, startServer } from "../support/processes/mcpServer.js";
import { type Stage, setStage } from "../support/stage.js";

const INNER = `printf '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\\n' | ${process.execPath} ${MAIN} --engine scripted --tools codex,extras > listed`;
const CLEAN = 'env -i PATH="$PATH" HOME="$HOME"';
/** The process has lost its parent when it starts the server. */
const ORPHAN = `while kill -0 $1 2>/dev/null; do sleep 0.01; done\n${INNER}\n`;

/** Runs the command, which starts a server, until that server has answered. Commands have ten seconds by default: too little on a busy machine. */
function untilListed(command: string): string {
  const script = `${command}; until test -s listed; do sleep 0.05; done`;
  return `!call shell_command ${JSON.stringify({ command: script, timeout_ms: 600_000 })}`;
}

/** The PATH of the tests instead of the stage's, because it decides which sandbox is used. */
const ENVIRONMENT = { PATH: process.env["PATH"] ?? "" };

it.for([
  ["as it is", "sh inner.sh"],
  ["with a clean environment", `${CLEAN} sh inner.sh`],
  ["after its parent process has ended", `${CLEAN} sh -c 'setsid sh orphan.sh $$ & exit 0'`],
] as const)("a server that a command with full access starts %s knows that it is inside a turn", async ([, command]) => {
  await using server = await startServer({ env: ENVIRONMENT });
  const { workspace } = server.stage;
  await writeFile(path.join(workspace, "inner.sh"), `${INNER}\n`);
  await writeFile(path.join(workspace, "orphan.sh"), ORPHAN);
  await server.initialize();
  server.call("codex", { prompt: untilListed(command), sandbox: "danger-full-access", "approval-policy": "never" });
  const listed = await eventually("the list of the server inside", () =>
    /.*\n/.exec(readFileSync(path.join(workspace, "listed"), "utf8"))?.at(0),
  );
  expect(listed.match(/"name":"[^"]*"/g)).toEqual(['"name":"codex-models"']);
});

/** A longer chain than the number of processes that are examined one by one. */
const CHAIN = "n=$1; if [ $n = 0 ]; then sh inner.sh; else sh chain.sh $((n - 1)); fi; exit 0\n";

describe.skipIf(sandbox.backend !== "bubblewrap")("a server that a command in the sandbox starts", () => {
  it.for([
    ["as it is", "sh inner.sh"],
    ["with a clean environment", `${CLEAN} sh inner.sh`],
    ["after its parent process has ended", `${CLEAN} sh -c 'setsid sh orphan.sh $$ & exit 0'`],
    ["below a hundred other processes", "sh chain.sh 100"],
  ] as const)("%s knows that it is inside a turn", async ([, command]) => {
    await using server = await startServer({ env: ENVIRONMENT });
    const { workspace } = server.stage;
    await writeFile(path.join(workspace, "inner.sh"), `${INNER}\n`);
    await writeFile(path.join(workspace, "orphan.sh"), ORPHAN);
    await writeFile(path.join(workspace, "chain.sh"), CHAIN);
    await server.initialize();
    const prompt = `${untilListed(`HOME=$PWD CODEX_HOME=$PWD ${command}`)}\n!shell env | grep -c INSIDE\n!say over`;
    const call = server.call("codex", { prompt, sandbox: "workspace-write", "approval-policy": "never" });
    const listed = await eventually("the list of the server inside", () =>
      /.*\n/.exec(readFileSync(path.join(workspace, "listed"), "utf8"))?.at(0),
    );
    expect(listed.match(/"name":"[^"]*"/g)).toEqual(['"name":"codex-models"']);
    await call.result();
    expect(call.events.findLast(({ type }) => type === "exec_command_end")).toMatchObject({ stdout: "0\n" });
  });
});

describe.skipIf(sandbox.backend === "none")("a command of a turn inside a turn", () => {
  const start = (stage: Stage, mark: string) =>
    startServer({ stage, config: "[mcp_server]\nmax_depth = 2\n", env: { ...ENVIRONMENT, CODEX_MCP_INSIDE: mark } });

  it.for([
    ["1;read-only", "read-only", []],
    ["1;workspace-write;WORKSPACE", "workspace-write", ["made"]],
  ] as const)("within %s runs in %s, and no approval extends that", async ([mark, sandboxMode, made]) => {
    await using stage = await setStage();
    await using server = await start(stage, mark.replace("WORKSPACE", stage.workspace));
    await server.initialize("2025-11-25", { elicitation: {} });
    const prompt = `!shell echo read; touch made ${stage.home}/made\n!escalate touch ${stage.home}/escalated\n!say over`;
    const call = server.call("codex", { prompt, sandbox: sandboxMode, "approval-policy": "on-request" });
    expect(await call.result()).toMatchObject({ structuredContent: { content: "over" } });
    expect(await call.event("exec_command_end")).toMatchObject({ stdout: "read\n" });
    expect([readdirSync(stage.workspace), readdirSync(stage.home), server.questions]).toEqual([made, [], []]);
  });
});
