import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/support/eventually.js";
import { tempHome } from "../../../../test/support/threads/rollouts.js";
import { Redactor } from "../../../observability/redact.js";
import { livingProcess } from "../../../platform/processes.js";
import { appServerEnvironment, StderrReader, startAppServerProcess } from "./appServerProcess.js";
import { AppServerGone } from "./errors.js";

const NEEDED = {
  HOME: "/home/u",
  OPENAI_API_KEY: "sk-1",
  CODEX_HOME: "/home/u/.codex",
  CODEX_MCP_CALLBACK_URI: "http://127.0.0.1/",
  CODEX_MCP_INSIDE: "1",
  OTEL_SERVICE_NAME: "s",
};
const OURS = {
  PATH: "/ws/node_modules/.bin:/usr/bin",
  CODEX_MCP_TOKEN: "t",
  CODEX_MCP_TOOLS: "codex",
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=x",
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: "authorization=x",
};

it("Codex gets what it needs, without our own secrets and without folders that commands can write", () => {
  const env = appServerEnvironment({ ...NEEDED, ...OURS }, { withoutGit: false, programs: { searchPath: "/usr/bin" } });
  expect(env).toEqual({ ...NEEDED, PATH: "/usr/bin" });
});

it("Codex's own calls of git fail in untrusted repositories", () => {
  expect(appServerEnvironment({ PATH: "/usr/bin", GIT_DIR: "/x" }, { withoutGit: true })).toEqual({
    PATH: "/usr/bin",
    GIT_DIR: "/dev/null",
  });
});

async function read(...chunks: string[]) {
  const stream = new PassThrough();
  const lines: string[] = [];
  const redactor = new Redactor();
  const reader = new StderrReader(stream, { report: (line) => lines.push(line), mask: (line) => redactor.mask(line) });
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  await once(stream, "end");
  return { lines, lastLine: reader.lastLine };
}

it("lines are passed on without colours, however they were split; the last one is kept", async () => {
  expect(await read("\u001B[31mER", "ROR\u001B[0m first\n\n", "  second.")).toEqual({
    lines: ["codex: ERROR first", "codex: second."],
    lastLine: ": second",
  });
});

it("secrets are neither in the lines that are passed on nor in the last one", async () => {
  expect(await read("refused: Authorization: Bearer abc.def.ghi\n")).toEqual({
    lines: [expect.not.stringContaining("abc.def")],
    lastLine: expect.not.stringContaining("abc.def"),
  });
});

it("the last line of a launcher that Node ends is the error that nobody caught", async () => {
  const trace = ["file:///opt/codex.js:108", "throw new Error(", "^", "", "Error: a program is missing", "    at codex.js:108:9", ""];
  const { lastLine } = await read(`${[...trace, "Node.js v20.20.2"].join("\n")}\n`);
  expect(lastLine).toBe(": Error: a program is missing");
});

it("a program without output has no last line", async () => {
  expect(await read("\n")).toEqual({ lines: [], lastLine: "" });
});

it("endless stderr is logged for a while, and its last lines are still kept", async () => {
  const { lines, lastLine } = await read(...Array.from({ length: 1_000 }, (_, at) => `line ${at}\n`));
  expect([lines.length, lines.at(-1), lastLine]).toEqual([201, "codex: further lines of this process are not shown", ": line 999"]);
});

it("an endless line is not kept", async () => {
  const { lines } = await read("x".repeat(100_000), "\nafter\n");
  expect(lines).toEqual(["codex: a line of 100000 characters", "codex: after"]);
});

describe.skipIf(process.platform === "win32")("the reason of an end", () => {
  /** A program that writes a warning, then ends by itself as told. */
  async function reasonAfter(ending: string): Promise<string> {
    using home = tempHome();
    const program = path.join(home.path, "codex");
    writeFileSync(program, `#!/bin/sh\necho 'warning: something else.' >&2\n${ending}\n`, { mode: 0o755 });
    const env = { PATH: process.env["PATH"] };
    const child = await startAppServerProcess({ program, env, cwd: home.path, settings: [], report: () => {} });
    const { message } = await child.gone;
    await child.close(new AppServerGone("closed"));
    return message;
  }

  it.each([
    ["kill -KILL $$", "The Codex process was ended by SIGKILL."],
    ["kill -ABRT $$", "The Codex process was ended by SIGABRT: warning: something else."],
    ["exit 3", "The Codex process exited with code 3: warning: something else."],
  ])("after %s", async (ending, reason) => {
    expect(await reasonAfter(ending)).toBe(reason);
  });
});

it.skipIf(process.platform !== "linux")(
  "a process that Codex starts in a session of its own, with a clean environment, ends with Codex",
  async () => {
    using home = tempHome();
    const program = path.join(home.path, "codex");
    const child = 'setsid env -i PATH="$PATH" sh -c "echo \\$\\$ > child; exec sleep 1000"';
    writeFileSync(program, `#!/bin/sh\n${child} &\nexec sleep 1000\n`, { mode: 0o755 });
    const env = { PATH: process.env["PATH"] };
    const codex = await startAppServerProcess({ program, env, cwd: home.path, settings: [], report: () => {} });
    const pid = await eventually("the child", () => Number(readFileSync(path.join(home.path, "child"), "utf8")) || undefined);
    await codex.kill(new AppServerGone("killed"));
    expect(livingProcess(pid)).toBeUndefined();
  },
);
