import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { expect } from "vitest";
import { MAIN } from "../support/processes/mcpServer.js";
import { type Attack, control, describeAttacks } from "./attack.js";
import { Ground } from "./ground.js";
import { runPlainly } from "./standIn.js";
import { answerIn, Victim } from "./victim.js";

const NODE = process.execPath;
const quoted = (text: string) => JSON.stringify(text);

function entry(command: string, args: readonly string[], more = ""): string {
  return `[mcp_servers.codex]\ncommand = ${quoted(command)}\nargs = ${JSON.stringify(args)}\nenv_vars = ["CODEX_HOME", "HOME"]\n${more}`;
}

/** This server as one of its own MCP servers, configured in ways that are increasingly hard to recognize. */
const ENTRIES: Readonly<Record<string, (ground: Ground) => string>> = {
  "by its own name": () => entry(NODE, [MAIN, "--engine", "native"]),
  "through a shell": () => entry("/bin/sh", ["-c", `exec ${NODE} ${MAIN} --engine native`]),
  "through a script": (ground) =>
    entry(ground.write(`${ground.root}/start.sh`, `#!/bin/sh\nexec ${NODE} ${MAIN} --engine native\n`, 0o755), []),
  "with an empty environment": (ground) =>
    entry("/usr/bin/env", [
      "-i",
      `CODEX_HOME=${ground.codexHome}`,
      `HOME=${ground.home}`,
      "PATH=/usr/bin:/bin",
      NODE,
      MAIN,
      "--engine",
      "native",
    ]),
  "as a daemon with an empty environment": (ground) =>
    entry("/usr/bin/setsid", [
      "--wait",
      "/usr/bin/env",
      "-i",
      `CODEX_HOME=${ground.codexHome}`,
      `HOME=${ground.home}`,
      "PATH=/usr/bin:/bin",
      NODE,
      MAIN,
      "--engine",
      "native",
    ]),
  "by a copy of it": (ground) =>
    entry("/bin/sh", [
      "-c",
      `cp -r '${MAIN.replace(/\/main\.js$/, "")}' '${ground.tmp}/copy' && exec ${NODE} '${ground.tmp}/copy/main.js' --engine native`,
    ]),
};

function inner(ground: Ground): string {
  const script = `grep Seccomp: /proc/self/status > '${ground.mark("inner-command")}'`;
  return JSON.stringify({ prompt: `!shell ${script}\n!say inner`, sandbox: "danger-full-access", "approval-policy": "never" });
}

function throughItself(ground: Ground): string {
  const exec = JSON.stringify({
    command: ["bash", "-c", `grep Seccomp: /proc/self/status > '${ground.mark("inner-exec")}'`],
    sandbox: "danger-full-access",
  });
  return `!call mcp__codex__codex ${inner(ground)}\n!call mcp__codex__codex-exec ${exec}\n!call mcp__codex__codex_exec ${exec}\n!say outer`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

describeAttacks("a read-only thread", [
  ...Object.entries(ENTRIES).map(([how, config], at): Attack => {
    return {
      name: `get out through the server as its own MCP server, started ${how}`,
      ...(at === 0 && { quick: true }),
      victim: (ground) => ({ config: config(ground) }),
      attempt: (ground, victim) => victim.turn(throughItself(ground), { sandbox: "read-only" }),
      standIn: (ground) => runPlainly(ground, `grep Seccomp: /proc/self/status > '${ground.mark("inner-command")}'`),
    };
  }),
  {
    name: "get out through the port of the server that runs it",
    attempt: async (ground) => {
      const port = await freePort();
      const config = `[mcp_servers.codex]\nurl = "http://127.0.0.1:${port}/mcp"\n`;
      await using victim = await Victim.listening(ground, {
        config,
        args: ["--port", String(port), "--max-sandbox", "danger-full-access"],
      });
      using local = await victim.session();
      await local.turn(throughItself(ground), { sandbox: "read-only" });
    },
    standIn: (ground) => runPlainly(ground, `grep Seccomp: /proc/self/status > '${ground.mark("inner-command")}'`),
  },
  {
    name: "get out through a server of ours that a listening server has among its MCP servers",
    attempt: async (ground) => {
      await using victim = await Victim.listening(ground, {
        config: ENTRIES["by its own name"]?.(ground) ?? "",
        args: ["--max-sandbox", "read-only"],
      });
      using local = await victim.session();
      await local.turn(throughItself(ground), { sandbox: "read-only" });
    },
    standIn: (ground) => runPlainly(ground, `grep Seccomp: /proc/self/status > '${ground.mark("inner-command")}'`),
  },
  {
    name: "get out by starting the server in a command",
    attempt: async (ground, victim) => {
      const call = JSON.stringify({
        jsonrpc: "2.0",
        id: 2,
        method: "tools/call",
        params: {
          name: "codex-exec",
          arguments: JSON.parse(`{"command":["touch","${ground.mark("inner-exec")}"],"sandbox":"danger-full-access"}`),
        },
      });
      const hello = JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
      });
      await victim.runs(`(echo '${hello}'; echo '${call}'; sleep 2) | CODEX_HOME=/tmp ${NODE} ${MAIN} --engine scripted`, {
        sandbox: "read-only",
      });
    },
    standIn: (ground) => runPlainly(ground, `touch '${ground.mark("inner-exec")}'`),
  },
]);

control("the outermost server is not mistaken for one inside a turn", async () => {
  await using ground = await Ground.open();
  await using victim = await Victim.onStdio(ground, { config: ENTRIES["by its own name"]?.(ground) ?? "" });
  const made = ground.mark("made");
  expect(answerIn(await victim.turn(`!shell touch '${made}'\n!say done`, { sandbox: "danger-full-access" }))).toBe("done");
  expect(existsSync(made)).toBe(true);
});
