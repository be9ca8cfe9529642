import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { isMissing } from "../../../../test/sandbox/available.js";
import { openToolStage, type ToolStage } from "../../../../test/support/memory/toolStage.js";

const NO = { kind: "denied" } as const;
const SYSTEM = "/usr/local/bin:/usr/bin:/bin";

/** A repository whose settings name a program, and a program where package runners look first. */
function plant(stage: ToolStage): void {
  const { workspace } = stage.stage;
  const program = path.join(workspace, "program.sh");
  writeFileSync(program, `#!/bin/sh\ntouch ${workspace}/ran\n`, { mode: 0o755 });
  execFileSync("git", ["init", "-q", workspace]);
  execFileSync("git", ["-C", workspace, "config", "core.fsmonitor", program]);
  mkdirSync(path.join(workspace, "node_modules/.bin"), { recursive: true });
  writeFileSync(path.join(workspace, "node_modules/.bin/ls"), `#!/bin/sh\ntouch ${workspace}/ran\n`, { mode: 0o755 });
}

it.each([
  ["git status", SYSTEM],
  ["git diff", SYSTEM],
  ["ls", `node_modules/.bin:${SYSTEM}`],
])("`%s` needs approval where a program of the workspace would run outside the sandbox", async (script, PATH) => {
  await using stage = await openToolStage({ sandbox: "danger-full-access", settings: { approvalPolicy: "untrusted" }, env: { PATH } });
  plant(stage);
  const { asked } = await stage.script(script, { answers: [NO] });
  expect([asked.length, existsSync(stage.path("ran"))]).toEqual([1, false]);
});

it("a profile's search path counts, and no shell of the workspace is run to find it", async () => {
  await using stage = await openToolStage({ sandbox: "danger-full-access", settings: { approvalPolicy: "untrusted" } });
  plant(stage);
  writeFileSync(path.join(stage.stage.home, ".bash_profile"), 'export PATH="./node_modules/.bin:$PATH"\n');
  writeFileSync(stage.path("bash"), `#!/bin/sh\ntouch ${stage.path("ran")}\n`, { mode: 0o755 });
  for (const shell of ["/bin/bash", stage.path("bash")]) {
    const { asked } = await stage.use("shell", { command: [shell, "-lc", "ls"] }, { answers: [NO] });
    expect([asked.length, existsSync(stage.path("ran"))]).toEqual([1, false]);
  }
});

it("reading with the system's own programs needs no approval", async () => {
  await using stage = await openToolStage({ sandbox: "danger-full-access", settings: { approvalPolicy: "untrusted" } });
  writeFileSync(stage.path("file"), "text\n");
  expect((await stage.use("shell", { command: ["/bin/bash", "-lc", "cat file | wc -l"] })).asked).toEqual([]);
  expect((await stage.use("shell", { command: ["cat", "file"] })).asked).toEqual([]);
});

it.skipIf(isMissing)("inside the sandbox git may read without approval", async () => {
  const env = { PATH: process.env["PATH"] ?? "" };
  await using stage = await openToolStage({ sandbox: "read-only", settings: { approvalPolicy: "untrusted" }, env });
  plant(stage);
  expect((await stage.script("git status")).asked).toEqual([]);
});
