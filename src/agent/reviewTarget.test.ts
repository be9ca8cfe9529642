import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemorySession } from "../../test/support/memory/memorySession.js";
import { valueAt } from "../../test/support/scenarios/scenario.js";
import type { ReviewTarget } from "../threads/events.js";
import { nearNames, nothingToReview, QUIET_GIT, ReviewTargetMissing, type RunGit } from "./reviewTarget.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "review-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const IDENTITY = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };
const ENV = { PATH: process.env["PATH"], HOME: tmpdir(), GIT_CEILING_DIRECTORIES: tmpdir(), ...IDENTITY };

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: folder, env: ENV, encoding: "utf8", stdio: "pipe" }).trim();
}

/** A repository with one commit on `main`. */
function repository(): void {
  git("init", "-q", "-b", "main");
  commit("file.txt", "one\n");
}

function commit(name: string, content: string): string {
  writeFileSync(path.join(folder, name), content);
  git("add", "-A");
  git("commit", "-q", "-m", `change ${name}`);
  return git("rev-parse", "HEAD");
}

const run: RunGit = async (args) => {
  const [program = "", ...rest] = QUIET_GIT;
  const { status, stdout, stderr } = spawnSync(program, [...rest, ...args], { cwd: folder, env: ENV, encoding: "utf8" });
  return { exitCode: status ?? 127, stdout, stderr };
};

const UNCOMMITTED: ReviewTarget = { type: "uncommittedChanges" };
const since = (branch: string): ReviewTarget => ({ type: "baseBranch", branch });
const of = (sha: string): ReviewTarget => ({ type: "commit", sha });

async function verdict(target: ReviewTarget): Promise<string> {
  try {
    return (await nothingToReview(target, { run, folder })) ?? "something";
  } catch (error) {
    if (error instanceof ReviewTargetMissing) return error.message;
    throw error;
  }
}

describe("uncommitted changes", () => {
  it("are empty in a clean tree, and not with a change or a new file", async () => {
    repository();
    const clean = await verdict(UNCOMMITTED);
    writeFileSync(path.join(folder, "new.txt"), "new");
    const added = await verdict(UNCOMMITTED);
    rmSync(path.join(folder, "new.txt"));
    writeFileSync(path.join(folder, "file.txt"), "two\n");
    expect([clean, added, await verdict(UNCOMMITTED)]).toEqual([
      "Nothing to review: there are no uncommitted changes.",
      "something",
      "something",
    ]);
  });

  it("are an error where there is no working tree", async () => {
    git("init", "-q", "--bare");
    expect(await verdict(UNCOMMITTED)).toBe(
      `The git repository in ${folder} has no working tree, so it has no uncommitted changes: review a branch or a commit, or name a working tree as \`cwd\`.`,
    );
  });

  it("are all files before the first commit", async () => {
    git("init", "-q");
    writeFileSync(path.join(folder, "new.txt"), "new");
    expect(await verdict(UNCOMMITTED)).toBe("something");
  });
});

describe("changes since a branch", () => {
  it("are empty on the branch itself, and not with a commit, a change or a new file", async () => {
    repository();
    git("checkout", "-q", "-b", "feature");
    const nothing = await verdict(since("main"));
    writeFileSync(path.join(folder, "new.txt"), "new");
    const added = await verdict(since("main"));
    commit("new.txt", "new\n");
    expect([nothing, added, await verdict(since("main"))]).toEqual([
      "Nothing to review: there are no changes since `main`.",
      "something",
      "something",
    ]);
  });

  it("is an error for an unknown one, with similar names", async () => {
    repository();
    git("branch", "release/1.2");
    git("branch", "unlike");
    expect([await verdict(since("mian")), await verdict(since("release/1.3")), await verdict(since("zzz"))]).toEqual([
      "There is no branch `mian` in this repository. Did you mean `main`?",
      "There is no branch `release/1.3` in this repository. Did you mean `release/1.2`?",
      "There is no branch `zzz` in this repository. `git branch --all` lists them.",
    ]);
  });

  it("is an error before the first commit", async () => {
    git("init", "-q");
    expect(await verdict(since("main"))).toBe("There is no branch `main` in this repository. It has no commits yet.");
  });

  it.each(["--output=planted", "-x", "main planted", "$(touch planted)", "..", "@{", "a\0b", ""])(
    "treats %j as a name and nothing else",
    async (name) => {
      repository();
      expect(await verdict(since(name))).toMatch(/^There is no branch `/);
      expect(existsSync(path.join(folder, "planted"))).toBe(false);
    },
  );
});

describe("a commit", () => {
  it("is known by any of its names, and may have changed nothing", async () => {
    repository();
    const sha = commit("second.txt", "2\n");
    git("commit", "-q", "--allow-empty", "-m", "empty");
    expect([await verdict(of(sha)), await verdict(of(sha.slice(0, 8))), await verdict(of("HEAD~2")), await verdict(of("HEAD"))]).toEqual([
      "something",
      "something",
      "something",
      "Nothing to review: commit `HEAD` changes no files.",
    ]);
  });

  it("that is unknown is an error, with the newest ones", async () => {
    repository();
    const sha = git("rev-parse", "--short", "HEAD");
    const missing = "deadbeef".repeat(5);
    expect(await verdict(of(missing))).toBe(
      `There is no commit \`${missing}\` in this repository. The last ones are: ${sha} change file.txt.`,
    );
  });
});

it.each([UNCOMMITTED, since("main"), of("HEAD")])("%j needs a repository", async (target) => {
  expect(await verdict(target)).toMatch(/ in \S+: not a git repository .*\. Name the repository as `cwd`\.$/);
});

it("custom instructions need none", async () => {
  expect(await verdict({ type: "custom", instructions: "look" })).toBe("something");
});

it("where git does not work, the reviewer examines the target", async () => {
  const silent: RunGit = async () => ({ exitCode: 127, stdout: "", stderr: "not found" });
  expect(await nothingToReview(since("mian"), { run: silent, folder: "/repo" })).toBeUndefined();
});

it("similar names differ by few letters or contain each other, the most similar first", () => {
  const names = ["main", "origin/main", "maintenance", "develop", "feature/login-form"];
  expect([nearNames("mai", names), nearNames("login", names), nearNames("xyz", names)]).toEqual([
    ["main", "origin/main", "maintenance"],
    ["feature/login-form"],
    [],
  ]);
});

it("a repository's configuration runs nothing while the target is checked", async () => {
  repository();
  const planted = path.join(folder, ".git", "planted");
  const script = path.join(folder, ".git", "evil.sh");
  writeFileSync(script, `#!/bin/sh\ntouch ${planted}\n`, { mode: 0o755 });
  git("config", "core.fsmonitor", script);
  git("config", "diff.external", script);
  git("config", "core.pager", script);
  await verdict(UNCOMMITTED);
  await verdict(since("main"));
  await verdict(of("HEAD"));
  expect(existsSync(planted)).toBe(false);
});

describe("programs that a repository names", () => {
  /** A program that leaves a trace when it runs. `wasRun` removes the trace. */
  function trap(): { readonly script: string; readonly wasRun: () => boolean } {
    const trace = path.join(folder, ".git", "trace");
    const script = path.join(folder, ".git", "trap.sh");
    writeFileSync(script, `#!/bin/sh\ntouch ${trace}\nexit 1\n`, { mode: 0o755 });
    return { script, wasRun: () => existsSync(trace) };
  }

  /** Changes the file's times so that the index is stale and git must read the file. */
  function touched(at: number): void {
    utimesSync(path.join(folder, "file.txt"), at, at);
  }

  it.each(["clean", "process"])("are no filters (%s)", async (kind) => {
    repository();
    commit(".gitattributes", "*.txt filter=evil\n");
    const { script, wasRun } = trap();
    git("config", `filter.evil.${kind}`, script);
    git("config", "filter.evil.required", "true");
    touched(1);
    expect(await verdict(UNCOMMITTED)).toBe("Nothing to review: there are no uncommitted changes.");
    touched(2);
    expect(await verdict(since("main"))).toBe("Nothing to review: there are no changes since `main`.");
    expect(wasRun()).toBe(false);
    // The trap works.
    touched(3);
    spawnSync("git", ["status"], { cwd: folder, env: ENV });
    expect(wasRun()).toBe(true);
  });

  it("cannot be reviewed if git cannot be given their names", async () => {
    repository();
    commit(".gitattributes", "*.txt filter=e=vil\n");
    const { script, wasRun } = trap();
    git("config", "filter.e=vil.clean", script);
    touched(1);
    expect(await verdict(UNCOMMITTED)).toBe("something");
    expect(wasRun()).toBe(false);
  });

  it("check no signatures", async () => {
    repository();
    const { script, wasRun } = trap();
    git("config", "gpg.program", script);
    git("config", "log.showSignature", "true");
    const unsigned = git("cat-file", "commit", "HEAD");
    const signed = unsigned.replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n\n");
    const sha = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], { cwd: folder, env: ENV, input: `${signed}\n` });
    git("update-ref", "HEAD", sha.toString().trim());
    expect(await verdict(of("deadbeef"))).toMatch(/The last ones are: [0-9a-f]+ change file.txt/);
    expect(wasRun()).toBe(false);
    spawnSync("git", ["log"], { cwd: folder, env: ENV });
    expect(wasRun()).toBe(true);
  });

  it("do not fetch missing objects", async () => {
    repository();
    commit("file.txt", "two\n");
    const { script, wasRun } = trap();
    for (const [key, value] of [
      ["core.repositoryformatversion", "1"],
      ["extensions.partialClone", "origin"],
      ["remote.origin.url", "ssh://localhost/nothing"],
      ["core.sshCommand", script],
    ] as const)
      git("config", key, value);
    const tree = git("rev-parse", "HEAD~1^{tree}");
    rmSync(path.join(folder, ".git", "objects", tree.slice(0, 2), tree.slice(2)));
    expect(await verdict(of("HEAD"))).toBe("something");
    expect(wasRun()).toBe(false);
    spawnSync("git", ["diff", "HEAD~1", "HEAD"], { cwd: folder, env: ENV });
    expect(wasRun()).toBe(true);
  });

  it("are not looked up in a submodule, which may have changes", async () => {
    repository();
    const inner = path.join(folder, "inner");
    const inside = (...args: readonly string[]) => execFileSync("git", args, { cwd: inner, env: ENV, stdio: "pipe" });
    mkdirSync(inner);
    inside("init", "-q");
    writeFileSync(path.join(inner, "in.txt"), "one\n");
    writeFileSync(path.join(inner, ".gitattributes"), "*.txt filter=evil\n");
    inside("add", "-A");
    inside("commit", "-q", "-m", "inner");
    writeFileSync(path.join(folder, ".gitmodules"), '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n');
    git("add", "-A");
    git("commit", "-q", "-m", "with a submodule");
    const { script, wasRun } = trap();
    inside("config", "filter.evil.clean", script);
    utimesSync(path.join(inner, "in.txt"), 1, 1);
    expect([await verdict(UNCOMMITTED), await verdict(since("main"))]).toEqual(["something", "something"]);
    expect(wasRun()).toBe(false);
    spawnSync("git", ["status"], { cwd: folder, env: ENV });
    expect(wasRun()).toBe(true);
  });
});

it("the tool refuses a missing target and reports an empty one, without a turn", async () => {
  repository();
  await using client = new MemorySession();
  const review = (args: object) => client.call("codex-review", { cwd: folder, ...args });
  expect(await review({ target: "branch", branch: "mian" })).toMatchObject({
    isError: true,
    content: [{ text: "There is no branch `mian` in this repository. Did you mean `main`?" }],
    _meta: { "codex-mcpd/error": "review_target_missing" },
  });
  expect(await review({ target: "uncommitted" })).toMatchObject({
    content: [{ text: "Nothing to review: there are no uncommitted changes." }],
    structuredContent: { threadId: "", status: "completed", content: "Nothing to review: there are no uncommitted changes." },
  });
  expect(client.notified("codex/event")).toEqual([]);
});

it("the reviewer of a change is told what to look for, and the caller which arguments had no effect", async () => {
  repository();
  writeFileSync(path.join(folder, "file.txt"), "two\n");
  await using client = new MemorySession();
  const review = async (args: object) =>
    valueAt(await client.call("codex-review", { cwd: folder, target: "uncommitted", ...args }), "structuredContent");
  // The scripted reviewer plays the line only if it gets the instructions.
  expect(await review({ instructions: "!say looked for races" })).toMatchObject({ content: "looked for races" });
  expect(await review({ instructions: "", branch: "main" })).toMatchObject({
    content: "hello",
    notices: ["Ignored for the target `uncommitted`: `branch`."],
  });
});
