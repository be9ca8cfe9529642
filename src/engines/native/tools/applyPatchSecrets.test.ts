import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { openToolStage, type PlayedTurn, type PlayOptions, type ToolStage } from "../../../../test/support/memory/toolStage.js";
import type { ApprovalPolicy, SandboxMode } from "../../../exec/policies.js";
import type { RawItem } from "../../../threads/items.js";

const SECRET = "sk-very-secret";
const YES = { kind: "approved" } as const;
const HIDDEN = "it is kept from this thread and from its commands. Go on without it.";
const OUTSIDE = "patch rejected: writing outside of the project; rejected by user approval settings";
const POLICIES: readonly ApprovalPolicy[] = ["never", "on-request", "on-failure", "untrusted"];

function patch(...lines: readonly string[]): RawItem {
  const input = ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
  return { type: "custom_tool_call", id: "ctc_patch", name: "apply_patch", input, call_id: "patch" };
}

/** A thread with a secret in CODEX_HOME, and a file of tokens in its workspace. */
async function open(approvalPolicy: ApprovalPolicy, sandbox: SandboxMode = "workspace-write"): Promise<ToolStage> {
  const stage = await openToolStage({
    sandbox,
    secretFiles: ["secrets/tokens"],
    settings: { approvalPolicy, features: { apply_patch_freeform: true } },
  });
  writeFileSync(auth(stage), `${SECRET}\n`);
  mkdirSync(path.join(stage.stage.codexHome, "log"));
  mkdirSync(stage.path("secrets"));
  writeFileSync(stage.path("secrets/tokens"), `${SECRET}\n`);
  writeFileSync(stage.path("mine.txt"), "mine\n");
  symlinkSync(auth(stage), stage.path("link"));
  symlinkSync("secrets/tokens", stage.path("token-link"));
  symlinkSync(stage.stage.codexHome, stage.path("home"));
  return stage;
}

function auth(stage: ToolStage): string {
  return path.join(stage.stage.codexHome, "auth.json");
}

/** All output of the tool: events, the model's results, and the files of the workspace except the secret's own. */
function told(stage: ToolStage, turn: PlayedTurn): string {
  const files = readdirSync(stage.path("."), { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "tokens")
    .map(({ name }) => readFileSync(stage.path(name), "utf8"));
  return JSON.stringify([turn.events, stage.model.requests, files]);
}

const ATTACKS: Readonly<Record<string, (stage: ToolStage) => readonly string[]>> = {
  "a link that is updated and moved": () => ["*** Update File: link", "*** Move to: copy.txt", "@@", "+x"],
  "a link that is deleted": () => ["*** Delete File: link"],
  "a link to a link": () => ["*** Delete File: token-link"],
  "a linked folder": () => ["*** Delete File: home/auth.json"],
  "its path": (stage) => [`*** Delete File: ${auth(stage)}`],
  "a file of tokens in the workspace": () => ["*** Update File: secrets/tokens", "*** Move to: copy.txt", "@@", "+x"],
  "a token that is added": () => ["*** Update File: secrets/tokens", "@@", "+stranger operator"],
  "a file of tokens that is replaced": () => ["*** Add File: secrets/tokens", "+stranger operator"],
  "a file that is moved there": () => ["*** Update File: mine.txt", "*** Move to: token-link", "-mine", "+stranger operator"],
  "a new file in a hidden folder": () => ["*** Add File: home/log/planted", "+x"],
};

describe.for(POLICIES)("under %s nothing is read or written by a patch that is hidden from commands:", (policy) => {
  it.for(Object.keys(ATTACKS))("%s", async (name) => {
    await using stage = await open(policy);
    const before = readdirSync(stage.path("."));
    const turn = await stage.play([patch(...(ATTACKS[name]?.(stage) ?? []))], { answers: [YES, YES] });
    expect(turn.output).toContain(HIDDEN);
    expect(turn.asked).toEqual([]);
    expect(told(stage, turn)).not.toContain(SECRET);
    expect(readdirSync(stage.path("."))).toEqual(before);
    expect([readFileSync(auth(stage), "utf8"), readFileSync(stage.path("secrets/tokens"), "utf8")]).toEqual([`${SECRET}\n`, `${SECRET}\n`]);
    expect(existsSync(path.join(stage.stage.codexHome, "log/planted"))).toBe(false);
  });
});

describe.runIf(process.platform === "linux")("the server's own process is not read,", () => {
  it.for(["workspace-write", "danger-full-access"] as const)("under %s", async (sandbox) => {
    await using stage = await open("never", sandbox);
    symlinkSync("/proc/self/environ", stage.path("environment"));
    symlinkSync("/proc/self/pagemap", stage.path("endless"));
    for (const sections of [
      ["*** Delete File: /proc/self/environ"],
      ["*** Delete File: environment"],
      ["*** Update File: environment", "*** Move to: copy.txt", "@@", "+x"],
      ["*** Delete File: endless"],
      ["*** Add File: /proc/self/oom_score_adj", "+1000"],
      ["*** Add File: /dev/shm/planted", "+x"],
    ]) {
      const turn = await stage.play([patch(...sections)]);
      expect(turn.output).toContain("it lies in /proc, /sys or /dev");
      expect(JSON.stringify(turn.events)).not.toContain("PATH=");
    }
  });
});

describe("full access", () => {
  const update = patch("*** Update File: home/auth.json", `-${SECRET}`, "+other");
  const play = async (options: PlayOptions) => {
    await using stage = await open("never", "danger-full-access");
    const turn = await stage.play([update], options);
    return { output: turn.output, auth: readFileSync(auth(stage), "utf8") };
  };

  it("reaches what its commands reach", async () => {
    expect(await play({})).toEqual({ output: expect.stringContaining("M home/auth.json"), auth: "other\n" });
  });

  it("of a turn that may not leave the sandbox does not reach them", async () => {
    expect(await play({ confined: true })).toEqual({ output: expect.stringContaining(HIDDEN), auth: `${SECRET}\n` });
  });
});

describe("a link out of the workspace, to what commands may read,", () => {
  const sections = [["*** Delete File: out"], ["*** Update File: out", "*** Move to: copy.txt", "-outside", "+copied"]] as const;

  it.for(sections)("is not followed under `never`: %s", async (lines) => {
    await using stage = await open("never");
    const outside = path.join(stage.stage.root, "outside.txt");
    writeFileSync(outside, "outside\n");
    symlinkSync(outside, stage.path("out"));
    const turn = await stage.play([patch(...lines)]);
    expect(turn.output).toBe(OUTSIDE);
    expect(turn.events.filter(({ type }) => type.startsWith("patch"))).toEqual([]);
    expect([existsSync(stage.path("copy.txt")), readFileSync(stage.path("out"), "utf8")]).toEqual([false, "outside\n"]);
  });
});

it("an approval for one path does not cover a hidden place that a link leads to later", async () => {
  await using stage = await open("untrusted");
  mkdirSync(stage.path("sub"));
  const turn = await stage.play([patch("*** Add File: sub/auth.json", "+planted")], {
    answers: [YES],
    onEvent: ({ type }) => {
      if (type !== "approvalRequested") return;
      execFileSync("rmdir", [stage.path("sub")]);
      symlinkSync(stage.stage.codexHome, stage.path("sub"));
    },
  });
  expect(turn.output).toContain("is outside of the folders that may be written");
  expect(readFileSync(auth(stage), "utf8")).toBe(`${SECRET}\n`);
});
