import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { isMissing } from "../../../../test/sandbox/available.js";
import { setStage } from "../../../../test/support/stage.js";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import { SandboxUnavailable } from "../../../exec/errors.js";
import { WritablePlaces } from "../../../exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../../exec/policies.js";
import type { OneOffResult } from "../../../threads/engineServices.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { HostEnvironment } from "../tools/hostEnvironment.js";
import { runOneOffCommand } from "./runOnce.js";

const FULL_ACCESS: SandboxPolicy = { type: "danger-full-access" };

interface Situation {
  readonly settings?: Partial<ThreadSettings>;
  readonly env?: NodeJS.ProcessEnv;
  readonly sandboxPolicy?: SandboxPolicy;
  readonly sandboxBin?: string;
  readonly check?: () => void;
}

async function run(
  script: string,
  { settings = {}, env = {}, sandboxPolicy = FULL_ACCESS, sandboxBin, check }: Situation = {},
): Promise<OneOffResult> {
  await using stage = await setStage();
  writeFileSync(path.join(stage.codexHome, "auth.json"), '{"OPENAI_API_KEY":"sk-0123456789"}');
  const host = new HostEnvironment({
    codexHome: stage.codexHome,
    env: { PATH: process.env["PATH"], ...env },
    serverCwd: stage.workspace,
    writable: new WritablePlaces([]),
    ...(sandboxBin === undefined ? {} : { sandboxBin }),
  });
  const command = { argv: ["bash", "-c", script], cwd: stage.workspace, sandboxPolicy, timeoutMs: 15_000, check };
  try {
    return await runOneOffCommand(command, { host, settings: settingsIn(stage.workspace, settings) }, new AbortController().signal);
  } finally {
    await host.close();
  }
}

describe("a command that belongs to no thread", () => {
  it("has the environment that commands of threads have, without our keys", async () => {
    const provider = { ...settingsIn("/").provider, envKey: "MY_KEY" };
    const shellEnvironment = {
      inherit: "all",
      ignoreDefaultExcludes: true,
      exclude: ["HIDDEN*"],
      set: { GIVEN: "yes" },
      includeOnly: [],
    } as const;
    const env = { MY_KEY: "k", OPENAI_API_KEY: "k", CODEX_API_KEY: "k", CODEX_MCP_TOKEN: "k", HIDDEN_ONE: "h", SHOWN: "s" };
    const { stdout } = await run("env", { settings: { provider, shellEnvironment }, env });
    const names = stdout.split("\n").flatMap((line) => line.split("=", 1));
    expect(names.filter((name) => name in env || name === "GIVEN").sort()).toEqual(["GIVEN", "SHOWN"]);
  });

  it("does not run when it may not at the last moment", async () => {
    const check = () => {
      throw new Error("the folder leads elsewhere by now");
    };
    await expect(run("true", { check })).rejects.toThrow("elsewhere by now");
  });

  it("does not run when its sandbox cannot be enforced", async () => {
    const running = run("true", { sandboxPolicy: { type: "read-only" }, sandboxBin: "/bin/false" });
    await expect(running).rejects.toThrow(SandboxUnavailable);
  });

  it.skipIf(isMissing)("cannot read the login", async () => {
    const { stdout } = await run("cat ../codex-home/auth.json; echo tried", { sandboxPolicy: { type: "read-only" } });
    expect(stdout).toBe("tried\n");
  });

  it("keeps the beginning and the end of endless output, and states how much is missing", async () => {
    const { exitCode, stdout, stderr } = await run("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last");
    expect([exitCode, stdout.slice(0, 6), stdout.slice(-5)]).toEqual([0, "first\n", "last\n"]);
    expect(stdout.length).toBeLessThanOrEqual(1024 * 1024);
    expect(stderr).toMatch(/^\n\(\d+ bytes in the middle of the output are left out\)\n$/);
  });
});
