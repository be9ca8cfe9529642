import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { isMissing } from "../sandbox/available.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";

const WRITES = { sandbox: "workspace-write", "approval-policy": "never" };

function git(server: McpServer, ...args: readonly string[]): void {
  const me = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };
  execFileSync("git", args, { cwd: server.stage.workspace, env: { ...process.env, ...me }, stdio: "pipe" });
}

/** A server in a repository with one file that has uncommitted changes. */
async function startInRepository(args: readonly string[] = []): Promise<McpServer> {
  const server = await startServer({ args: ["--engine", "scripted", ...args] });
  git(server, "init", "-q");
  writeFileSync(path.join(server.stage.workspace, "a.txt"), "1\n2\n");
  writeFileSync(path.join(server.stage.workspace, "mine.txt"), "1\n");
  git(server, "add", "-A");
  git(server, "commit", "-q", "-m", "first");
  writeFileSync(path.join(server.stage.workspace, "mine.txt"), "1\nnot the turn's\n");
  return server;
}

async function resultOf(server: McpServer, args: Readonly<Record<string, unknown>>): Promise<unknown> {
  return server.call("codex", args).result();
}

function textsOf(result: unknown): string[] {
  return (valueAt(result, "content") as readonly { readonly text: string }[]).map(({ text }) => text);
}

describe.skipIf(isMissing)("a turn in a repository", () => {
  it("reports what commands and patches changed, and nothing that was changed before", async () => {
    await using server = await startInRepository();
    const prompt = "!shell echo 3 >> a.txt; echo x > shell.txt\n!patch patch.txt one\\ntwo\n!say done";
    const result = await resultOf(server, { prompt, ...WRITES });
    expect(valueAt(result, "structuredContent")).toMatchObject({
      status: "completed",
      filesFrom: "git",
      files: expect.toSatisfy((files: readonly object[]) => {
        expect(files).toHaveLength(3);
        expect(files).toEqual(
          expect.arrayContaining([
            { path: "a.txt", kind: "update", added: 1, removed: 0 },
            { path: "shell.txt", kind: "add", added: 1, removed: 0 },
            { path: "patch.txt", kind: "add", added: 2, removed: 0 },
          ]),
        );
        return true;
      }),
    });
    expect(textsOf(result)[1]?.split("\n").length).toBeLessThanOrEqual(13);
    expect(textsOf(result)[1]).toContain("\nfiles changed: 3\n");
  });

  it("that was stopped still reports what it changed, and how to continue", async () => {
    await using server = await startInRepository();
    const call = server.call("codex", { prompt: "!shell echo 3 >> a.txt\n!hang", ...WRITES });
    await call.event("exec_command_end");
    server.process.kill("SIGTERM");
    const result = await call.result();
    const threadId = await call.threadId();
    expect(result).toMatchObject({ isError: true, structuredContent: { status: "interrupted", threadId } });
    expect(textsOf(result)[0]).toBe(
      `The turn was interrupted before it ended: the server is shutting down.\n\nThread ${threadId} keeps what it has done. Go on with codex-reply with threadId "${threadId}".`,
    );
    // A server that is shutting down takes little time for it: the lines may not be counted.
    const changed = { path: "a.txt", kind: "update" };
    expect(valueAt(result, "structuredContent.files")).toBeOneOf([[{ ...changed, added: 1, removed: 0 }], [changed], "unknown"]);
  });

  it("reports what a command of an earlier turn changed after this turn gave it input, and commands that still run", async () => {
    await using server = await startInRepository(["--enable", "unified_exec"]);
    const shell = '!call exec_command {"cmd":"sh","tty":true,"yield_time_ms":250}';
    const begun = await resultOf(server, { prompt: `${shell}\n!say begun`, ...WRITES });
    expect(valueAt(begun, "structuredContent")).toMatchObject({ files: [], commands: { run: 0, failed: 0, stillRunning: 1 } });
    const threadId = valueAt(begun, "structuredContent.threadId");
    const [transcript = ""] = textsOf(await server.call("codex-threads", { threadId }).result());
    const session = /session ID (\d+)/.exec(transcript)?.[1];
    const types = `!call write_stdin {"session_id":${session},"chars":"echo x > typed.txt; exit\\n","yield_time_ms":5000}`;
    const typed = await server.call("codex-reply", { threadId, prompt: `${types}\n!say typed` }).result();
    expect(valueAt(typed, "structuredContent")).toMatchObject({
      files: [{ path: "typed.txt", kind: "add", added: 1, removed: 0 }],
      commands: { run: 1, failed: 0 },
    });
  });

  it("distinguishes a refused command from one that ran, and files that nothing could change from files that were not examined", async () => {
    await using server = await startInRepository();
    const [, refused] = textsOf(await resultOf(server, { prompt: "!shell rm -rf a.txt\n!say no", ...WRITES }));
    expect(refused).toMatch(/\ncommands: 0 run, 0 failed, 1 refused \(last: rm -rf a\.txt, .*rejected.*\)\n/);
    const [, looked] = textsOf(await resultOf(server, { prompt: "!shell cat a.txt\n!say seen", ...WRITES }));
    expect(looked).toContain("\nfiles changed: none\ncommands: 1 run, 0 failed\n");
  });

  it("in a read-only sandbox says that nothing was written for that reason", async () => {
    await using server = await startInRepository();
    const says = /^Nothing was written: the sandbox is read-only\. .*sandbox "workspace-write"\.$/;
    for (const prompt of ["!shell touch new.txt\n!say done", "!patch new.txt x\n!say done"]) {
      const result = await resultOf(server, { prompt, sandbox: "read-only", "approval-policy": "never" });
      expect(valueAt(result, "structuredContent")).toMatchObject({ status: "completed", files: [], next: expect.stringMatching(says) });
    }
    const question = await resultOf(server, { prompt: "!shell cat a.txt\n!say done", sandbox: "read-only", "approval-policy": "never" });
    expect(valueAt(question, "structuredContent")).not.toHaveProperty("next");
  });
});

it("an answer beyond the budget of the call keeps its beginning and its end, in both parts", async () => {
  await using server = await startServer({ args: ["--engine", "scripted"] });
  const answer = `begin ${"x".repeat(200_000)} end`;
  const result = await resultOf(server, { prompt: `!say ${answer}`, "result-tokens": 1_000 });
  const content = String(valueAt(result, "structuredContent.content"));
  expect([content.startsWith("begin xx"), content.endsWith("xx end"), textsOf(result)[0] === content]).toEqual([true, true, true]);
  expect(JSON.stringify(valueAt(result, "structuredContent")).length).toBeLessThanOrEqual(4_000 + 200);
  const whole = await resultOf(server, { prompt: `!say ${answer}`, "result-tokens": 100_000 });
  expect(valueAt(whole, "structuredContent.content") === answer).toBe(true);
  const least = await resultOf(server, { prompt: `!say ${answer}`, "result-tokens": 0 });
  expect(valueAt(least, "structuredContent.content")).toMatch(/^\[… \d+ of \d+ characters are left out here\. codex-threads .*\]$/);
});

it("the cost of a turn is reported if the model has a price", async () => {
  const config = "[mcp_server.prices.mine]\ninput = 1000000\noutput = 0\n";
  await using server = await startServer({ args: ["--engine", "scripted", "-m", "mine"], config });
  const fields = valueAt(await resultOf(server, { prompt: "!say hi" }), "structuredContent");
  expect(valueAt(fields, "cost.usd")).toBe(valueAt(fields, "usage.turn.input"));
  expect(valueAt(fields, "cost.usd")).toBeGreaterThan(0);
});
