import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isMissing } from "../sandbox/available.js";
import { eventually } from "../support/eventually.js";
import { bundledProgram } from "../support/processes/bundledProgram.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";

/** What a turn warned about. */
async function warnings(server: McpServer, prompt: string, options: object = {}): Promise<string[]> {
  const call = server.call("codex", { prompt: `${prompt}\n!say done`, sandbox: "workspace-write", "approval-policy": "never", ...options });
  await call.result();
  return call.events.filter(({ type }) => type === "warning").map(({ message }) => String(message));
}

describe.skipIf(isMissing)("names that other programs run", () => {
  it("are reported once when a turn creates them, by a command or by a patch", async () => {
    await using server = await startServer();
    await server.initialize();
    const { workspace } = server.stage;
    const [told, ...more] = await warnings(
      server,
      "!shell mkdir -p .vscode sub/.git/hooks && echo x > sub/.git/hooks/pre-commit\n!patch .envrc hello",
    );
    const made = [".vscode", ".envrc", "sub/.git"].map((name) => path.join(workspace, name));
    expect([made.filter((name) => !told?.includes(name)), made.filter((name) => !existsSync(name)), more]).toEqual([[], [], []]);
    expect(await warnings(server, "!shell true")).toEqual([]);
  });

  it("are not changed by a command, nor without approval by a patch, where they exist", async () => {
    await using server = await startServer();
    await server.initialize();
    const file = path.join(server.stage.workspace, ".vscode/tasks.json");
    mkdirSync(path.dirname(file));
    writeFileSync(file, "mine\n");
    expect(await warnings(server, "!shell echo x > .vscode/tasks.json\n!patch .vscode/tasks.json theirs")).toEqual([]);
    expect(readFileSync(file, "utf8")).toBe("mine\n");
  });

  it("are protected once a search reaches them; those that the thread itself created in a large project stay writable", async () => {
    await using server = await startServer();
    await server.initialize();
    const inWorkspace = (name: string) => path.join(server.stage.workspace, name);
    await warnings(server, "!shell mkdir -p decoys/{1..1600}");
    const users = inWorkspace("x/y/z/.vscode/tasks.json");
    mkdirSync(path.dirname(users), { recursive: true });
    writeFileSync(users, "mine\n");
    await eventually(
      "a time that is later than the coarse clock of files can hide",
      () => Date.now() > statSync(users).mtimeMs + 20 || undefined,
    );
    const [told, limit] = await warnings(server, "!shell rm -r decoys; mkdir x/.idea");
    expect([told, limit]).toEqual([expect.stringContaining(inWorkspace("x/.idea")), expect.stringContaining("too large")]);
    expect(told).not.toContain(".vscode");
    expect(await warnings(server, "!shell echo x > x/y/z/.vscode/tasks.json\n!patch x/y/z/.vscode/tasks.json theirs")).toEqual([]);
    await warnings(server, "!shell echo made > x/.idea/workspace.xml");
    expect([users, inWorkspace("x/.idea/workspace.xml")].map((file) => readFileSync(file, "utf8"))).toEqual(["mine\n", "made\n"]);
  });
});

describe.skipIf(isMissing)("folders that a command closes by their permissions", () => {
  let program: Awaited<ReturnType<typeof bundledProgram>>;
  beforeAll(async () => {
    program = await bundledProgram("closedFolders");
  });
  afterAll(() => program[Symbol.dispose]());

  function play(story: string, mode = ""): unknown {
    // Permissions do not stop root.
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-", story, mode], {
      input: readFileSync(program.file),
      encoding: "utf8",
      env: { PATH: process.env["PATH"] },
      ...nobody,
    });
    return stdout === "" ? stderr : JSON.parse(stdout);
  }

  it.each(["000", "100", "300", "400", "600"])(
    "keep the names in them that other programs run, however many others it closes: mode %s",
    (mode) => {
      expect(play("remembered", mode)).toEqual(["closed", "ran", "ran", "mine", "mine"]);
    },
  );

  it("stay usable to later turns if they hide none of those names, until somebody else changes them", () => {
    expect(play("harmless")).toEqual(["opened", "removed", "kept"]);
  });

  it("keep those that the user closed", () => {
    expect(play("nested")).toEqual(["closed", "ran", "mine"]);
  });

  it("are too many to be protected from the commands of a server that does not know what they hide", () => {
    expect(play("tooMany")).toContain("/work cannot be opened to commands.");
  });

  it("can be the thread's own folder, in which another server runs no commands then", () => {
    expect(play("root")).toContain("The command was not run: /work cannot be opened");
  });
});
