/**
 * Plays the turns of threads whose commands take the permissions on folders away, as a user who is not root. The first argument names the
 * story. Prints what each turn's command said, or why it was refused.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { HostEnvironment } from "../../src/engines/native/tools/hostEnvironment.js";
import { ThreadFiles } from "../../src/engines/native/tools/threadFiles.js";
import { WritablePlaces } from "../../src/exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../src/exec/policies.js";
import { runCommand } from "../../src/exec/run.js";

const POLICY: SandboxPolicy = { type: "workspace-write", network_access: false, exclude_slash_tmp: true, exclude_tmpdir_env_var: true };
const TASKS = "deep/inner/sub/.vscode/tasks.json";
const SETTINGS = "deep/inner/.claude/settings.json";

const home = realpathSync(mkdtempSync(path.join(tmpdir(), "closed-folders-")));
const workspace = path.join(home, "work");
const inWorkspace = (name: string) => path.join(workspace, name);

function write(name: string, text: string): void {
  mkdirSync(path.dirname(inWorkspace(name)), { recursive: true });
  writeFileSync(inWorkspace(name), text);
}

/** A server's thread: each call is a turn that runs one command. */
function openThread() {
  const env = { PATH: "/usr/bin:/bin", HOME: home };
  const host = new HostEnvironment({
    codexHome: path.join(home, "codex-home"),
    env,
    serverCwd: workspace,
    writable: new WritablePlaces([]),
  });
  const files = new ThreadFiles({ sandboxPolicy: POLICY }, host, { running: { reach: undefined }, workspace });
  return async (script: string): Promise<string> => {
    const sandbox = await host.sandbox();
    files.beginTurn();
    await files.lookAround();
    const { guarded } = files.confinement(POLICY);
    try {
      const launch = sandbox.wrap(["bash", "-c", `{ ${script}; } 2>/dev/null`], {
        policy: POLICY,
        workspace,
        cwd: workspace,
        env,
        guarded,
      });
      return (await runCommand(launch, { timeoutMs: 20_000 }).result).stdout.trim();
    } catch (error) {
      return String(error).replaceAll(home, "");
    } finally {
      files.toolsEnded();
      await files.findings();
    }
  };
}

const OPEN_AND_WRITE = `chmod 755 deep/inner deep/inner/sub deep/inner/.claude; echo theirs > ${TASKS}; echo theirs > ${SETTINGS}; echo ran`;

const STORIES: Readonly<Record<string, (mode: string) => Promise<unknown>>> = {
  async remembered(mode) {
    write(TASKS, "mine");
    write(SETTINGS, "mine");
    const turn = openThread();
    const closed = await turn(`mkdir decoy{1..300} && chmod 000 decoy* && chmod ${mode} deep/inner && echo closed`);
    const said = [closed, await turn(OPEN_AND_WRITE), await turn(OPEN_AND_WRITE)];
    chmodSync(inWorkspace("deep/inner"), 0o755);
    return [...said, readFileSync(inWorkspace(TASKS), "utf8"), readFileSync(inWorkspace(SETTINGS), "utf8")];
  },
  async harmless() {
    mkdirSync(inWorkspace("users"));
    const turn = openThread();
    await turn("mkdir -p made/deep && chmod 000 made users");
    const said = [
      await turn("chmod 755 made users && chmod 000 made && echo opened"),
      await turn("chmod 755 made && rm -r made && echo removed"),
    ];
    await turn("chmod 000 users");
    // The user changes the folder and closes it again.
    chmodSync(inWorkspace("users"), 0o755);
    write("users/.envrc", "mine");
    chmodSync(inWorkspace("users"), 0);
    said.push(await turn("chmod 755 users && echo opened || echo kept"));
    chmodSync(inWorkspace("users"), 0o755);
    return said;
  },
  async nested() {
    write("outer/private/.envrc", "mine");
    chmodSync(inWorkspace("outer/private"), 0);
    const turn = openThread();
    const closed = await turn("chmod 000 outer && echo closed");
    const said = await turn("chmod 755 outer outer/private; echo theirs > outer/private/.envrc; echo ran");
    spawnSync("chmod", ["-R", "u+rwx", workspace]);
    return [closed, said, readFileSync(inWorkspace("outer/private/.envrc"), "utf8")];
  },
  async tooMany() {
    await openThread()("mkdir decoy{1..257} && chmod 000 decoy*");
    return await openThread()("echo ran");
  },
  async root() {
    write(TASKS, "mine");
    await openThread()("chmod 300 .");
    return await openThread()(OPEN_AND_WRITE);
  },
};

const [story = "", mode = ""] = process.argv.slice(2);
mkdirSync(workspace);
try {
  process.stdout.write(JSON.stringify(await STORIES[story]?.(mode)));
} finally {
  spawnSync("chmod", ["-R", "u+rwx", home]);
  rmSync(home, { recursive: true });
}
