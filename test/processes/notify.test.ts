import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { MAIN, startServer } from "../support/processes/mcpServer.js";
import { type Stage, setStage } from "../support/stage.js";

const ENGINE = ["--engine", "native"];

/** A script outside the workspace that handles the notification. */
function programIn({ root }: Stage, script: string): string {
  const file = path.join(root, "told.sh");
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

function lines(file: string): string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

describe.concurrent("the program of `notify`", () => {
  it("is run for each turn that completes, with one argument after its own, and for no other turn", async ({ expect }) => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    const heard = path.join(stage.root, "heard.txt");
    const program = programIn(stage, `echo "$# $1 $2 $SECRET_OF_USER" >> '${heard}'`);
    const config = `notify = ["${program}", "own"]\n${mockProvider(model.url)}`;
    await using server = await startServer({ stage, args: ENGINE, config, env: { SECRET_OF_USER: "kept" } });
    await server.initialize();
    const first = server.call("codex", { prompt: "!say one" });
    const threadId = await first.threadId();
    await first.result();
    await eventually("the first word", () => lines(heard).length === 1 || undefined);
    await server.call("codex-reply", { threadId, prompt: "!status 400" }).result();
    await server.call("codex-reply", { threadId, prompt: "!say two" }).result();
    await eventually("the second word", () => lines(heard).length === 2 || undefined);
    const told = lines(heard).map((line) => /^2 own (\{.*\}) kept$/.exec(line)?.[1] ?? line);
    const common = { type: "agent-turn-complete", "thread-id": threadId, "turn-id": expect.any(String), cwd: stage.workspace };
    expect(told.map((text): unknown => JSON.parse(text))).toEqual([
      { ...common, "input-messages": ["!say one"], "last-assistant-message": "one" },
      { ...common, "input-messages": ["!say one", "!status 400", "!say two"], "last-assistant-message": "two" },
    ]);
  });

  it("cannot start a server that considers itself the outermost", async ({ expect }) => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    const listed = path.join(stage.root, "listed.txt");
    const inner = `env -i PATH="$PATH" HOME="$HOME" '${process.execPath}' '${MAIN}' --engine scripted --tools codex,extras`;
    const program = programIn(stage, `printf '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\\n' | ${inner} > '${listed}'`);
    await using server = await startServer({ stage, args: ENGINE, config: `notify = ["${program}"]\n${mockProvider(model.url)}` });
    await server.initialize();
    await server.call("codex", { prompt: "!say one" }).result();
    const [list = ""] = await eventually("the list of the server inside", () => (lines(listed).length > 0 ? lines(listed) : undefined));
    expect(list.match(/"name":"[^"]*"/g)).toEqual(['"name":"codex-models"']);
  });

  it("delays no answer, and ends with the server", async ({ expect }) => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    const config = `notify = ["${programIn(stage, "trap '' TERM; sleep 300; sleep 300")}"]\n${mockProvider(model.url)}`;
    await using server = await startServer({ stage, args: ENGINE, config });
    await server.initialize();
    expect(await server.call("codex", { prompt: "!say one" }).result()).toMatchObject({ structuredContent: { content: "one" } });
    await eventually("the program", () => server.started().find(({ commandLine }) => commandLine === "sleep 300"));
    await server.closeAndWait();
    expect(await server.leftBehind()).toEqual([]);
  });

  it.for([
    ["exits with a failure", "exit 3", "it exited with code 3"],
    ["is not there", undefined, "no-such-program: No such file or directory"],
  ] as const)("that %s is reported once, and the turns complete", async ([, script, complaint], { expect }) => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    const program = script === undefined ? "no-such-program" : programIn(stage, script);
    await using server = await startServer({ stage, args: ENGINE, config: `notify = ["${program}"]\n${mockProvider(model.url)}` });
    await server.initialize();
    for (const word of ["one", "two"])
      expect(await server.call("codex", { prompt: `!say ${word}` }).result()).toMatchObject({ structuredContent: { content: word } });
    const complaints = () => server.errorLines.filter((line) => line.includes(complaint));
    await eventually("the complaint", () => complaints()[0]);
    await server.closeAndWait();
    expect(complaints()).toHaveLength(1);
  });

  it("is never one that a project names, nor a program of that name that a command could have written", async ({ expect }) => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    const ran = path.join(stage.workspace, "ran.txt");
    const planted = path.join(stage.workspace, "bin");
    mkdirSync(planted);
    writeFileSync(path.join(planted, "tell-me"), `#!/bin/sh\ntouch '${ran}'\n`, { mode: 0o755 });
    mkdirSync(path.join(stage.workspace, ".codex"));
    writeFileSync(path.join(stage.workspace, ".codex/config.toml"), `notify = ["touch", "${ran}"]\n`);
    const trusted = `[projects."${stage.workspace}"]\ntrust_level = "trusted"\n`;
    const config = `notify = ["tell-me"]\n${mockProvider(model.url)}${trusted}`;
    await using server = await startServer({ stage, args: ENGINE, config, env: { PATH: `${planted}:${process.env["PATH"]}` } });
    await server.initialize();
    await server.call("codex", { prompt: "!say one" }).result();
    await eventually("the complaint", () => server.errorLines.find((line) => line.includes("tell-me")));
    await server.closeAndWait();
    expect(existsSync(ran)).toBe(false);
  });
});
