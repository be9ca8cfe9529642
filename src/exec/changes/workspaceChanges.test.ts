import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.js";
import { HostEnvironment } from "../../engines/native/tools/hostEnvironment.js";
import { systemProgram, WritablePlaces } from "../outside/outsidePrograms.js";
import type { LookingHost } from "./repository.js";
import { type ChangedFiles, WorkspaceChanges } from "./workspaceChanges.js";

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "changes-")));
const codexHome = path.join(folder, "home");
mkdirSync(codexHome);
const host = new HostEnvironment({ codexHome, env: process.env, serverCwd: folder, writable: new WritablePlaces([]) });
/** A plain copy, so that a test can replace single parts. */
const hostParts: LookingHost = {
  env: host.env,
  hidden: host.hidden,
  ownPrograms: host.ownPrograms,
  sandbox: () => host.sandbox(),
  makeTemporaryFolder: () => host.makeTemporaryFolder(),
  removeTemporaryFolder: (made) => host.removeTemporaryFolder(made),
};
let work = "";
let count = 0;

beforeEach(() => {
  work = path.join(folder, `work${++count}`);
  mkdirSync(work);
});

afterEach(() => rmSync(work, { recursive: true, force: true }));

afterAll(async () => {
  await host.close();
  rmSync(folder, { recursive: true, force: true });
});

const ME = {
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@b",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@b",
  GIT_CONFIG_GLOBAL: "/dev/null",
};

function git(...args: readonly string[]): void {
  gitIn(work, ...args);
}

function gitIn(cwd: string, ...args: readonly string[]): void {
  execFileSync("git", args, { cwd, env: { ...process.env, ...ME }, stdio: "pipe" });
}

/** A repository beside the workspace, with one file. */
function otherRepository(): string {
  const other = path.join(folder, `other${count}`);
  mkdirSync(other);
  writeFileSync(path.join(other, "s.txt"), "1\n");
  for (const args of [
    ["init", "-q"],
    ["add", "-A"],
    ["commit", "-q", "-m", "first"],
  ])
    gitIn(other, ...args);
  return other;
}

function put(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(work, name)), { recursive: true });
  writeFileSync(path.join(work, name), text);
}

function inBash(script: string): void {
  execFileSync("bash", ["-c", script], { cwd: work });
}

/** Creates empty files from a pattern of the shell. */
function touch(pattern: string): void {
  inBash(`touch ${pattern}`);
}

function repository(files: Readonly<Record<string, string>>): void {
  git("init", "-q");
  for (const [name, text] of Object.entries(files)) put(name, text);
  git("add", "-A");
  git("commit", "-q", "--allow-empty", "-m", "first");
}

/** The receipt for the changes that `change` makes. */
async function told(
  change: () => void,
  options: { cwd?: string; patches?: ChangedFiles["list"]; withinMs?: number; looking?: LookingHost } = {},
): Promise<unknown> {
  const { cwd = work, patches = [], withinMs = 20_000, looking = host } = options;
  const changes = new WorkspaceChanges(looking, { cwd, sinceMs: Date.now(), lookingFor: undefined });
  await changes.before();
  change();
  const files = await changes.after({ withinMs, patches });
  if (!files) return "unknown";
  const list = files.list.map(({ path: file, kind, added, removed }) => `${kind} ${path.relative(work, file)} +${added} -${removed}`);
  return [files.from, ...list.sort()];
}

const canSandbox = (await host.sandbox()).backend === "bubblewrap" && systemProgram("git") !== undefined;

describe.runIf(canSandbox)("in a repository", () => {
  it("files that commands wrote, created and removed are reported with line counts", async () => {
    repository({ "a.txt": "1\n2\n3\n", "gone.txt": "x\ny\n", "same.txt": "s\n", ".gitignore": "ignored\n" });
    const files = await told(() => {
      put("a.txt", "1\ntwo\n3\n4\n");
      put("new dir/n é.txt", "n\n");
      put("ignored", "i\n");
      put("same.txt", "s\n");
      rmSync(path.join(work, "gone.txt"));
    });
    expect(files).toEqual(["git", "add new dir/n é.txt +1 -0", "delete gone.txt +0 -2", "update a.txt +2 -1"]);
  });

  it("one that cannot be examined leaves no folder behind", async () => {
    repository({ "a.txt": "1\n" });
    rmSync(path.join(work, ".git", "index"));
    symlinkSync("index", path.join(work, ".git", "index"));
    const made = new Set<string>();
    const looking: LookingHost = {
      ...hostParts,
      makeTemporaryFolder: () => {
        const folderMade = host.makeTemporaryFolder();
        made.add(folderMade);
        return folderMade;
      },
      removeTemporaryFolder: (gone) => {
        made.delete(gone);
        host.removeTemporaryFolder(gone);
      },
    };
    const changes = new WorkspaceChanges(looking, { cwd: work, sinceMs: Date.now(), lookingFor: undefined });
    await changes.before();
    expect([await changes.after({ withinMs: 20_000, patches: [] }), made.size]).toEqual([{ from: "folder", list: [] }, 0]);
  });

  it("an earlier change is not reported, unless the file is changed again, restored or removed", async () => {
    repository({ "again.txt": "1\n", "back.txt": "1\n", "left.txt": "1\n" });
    for (const name of ["again.txt", "back.txt", "left.txt", "untracked.txt", "removed.txt"]) put(name, "1\nmine\n");
    const files = await told(() => {
      appendFileSync(path.join(work, "again.txt"), "theirs\n");
      git("checkout", "-q", "back.txt");
      rmSync(path.join(work, "removed.txt"));
    });
    expect(files).toEqual(["git", "delete removed.txt +0 -2", "update again.txt +1 -0", "update back.txt +0 -1"]);
  });

  it("commits, staging and another branch do not hide what changed", async () => {
    repository({ "a.txt": "1\n", "b.txt": "1\n" });
    const files = await told(() => {
      put("a.txt", "2\n");
      put("c.txt", "3\n");
      git("add", "-A");
      git("commit", "-q", "-m", "second");
      git("checkout", "-q", "-b", "other");
      put("b.txt", "2\n");
      git("add", "b.txt");
    });
    expect(files).toEqual(["git", "add c.txt +1 -0", "update a.txt +1 -1", "update b.txt +1 -1"]);
  });

  it("the whole repository counts, wherever in it the thread works; binary files have no lines", async () => {
    repository({ "deep/er/a.txt": "1\n", "top.bin": "\0\n" });
    const files = await told(() => put("top.bin", "\0\0\n"), { cwd: path.join(work, "deep/er") });
    expect(files).toEqual(["git", "update top.bin +undefined -undefined"]);
  });

  it("files whose names are not UTF-8 are told apart, and found again", async () => {
    repository({ "a.txt": "1\n" });
    inBash("echo 1 > $'b\\xfe'; echo 1 > $'b\\xff'; echo 1 > $'é\\xff'");
    git("add", "-A");
    git("commit", "-q", "-m", "names");
    const first = await told(() => inBash("echo 2 > $'b\\xfe'; rm $'b\\xff'; echo 2 > $'new\\xff'"));
    expect(first).toEqual(["git", "add new\ufffd +undefined -undefined", "delete b\ufffd +0 -1", "update b\ufffd +undefined -undefined"]);
    expect(await told(() => inBash("echo 3 > $'b\\xfe'; echo 2 > $'é\\xff'"))).toEqual([
      "git",
      "update b\ufffd +undefined -undefined",
      "update \ufffd\ufffd\ufffd +undefined -undefined",
    ]);
  });

  it("one without a commit, and one with submodules, are reported as well", async () => {
    git("init", "-q");
    put("staged.txt", "1\n");
    git("add", "-A");
    put("sub/.git/HEAD", "ref: refs/heads/main\n");
    expect(await told(() => put("new.txt", "1\n"))).toEqual(["git", "add new.txt +1 -0"]);
  });

  it("a large one is examined once, and file times show what changed since", async () => {
    // Long names make a large index of few files.
    touch(`${"x".repeat(240)}{0..2000}`);
    repository({ "a.txt": "1\n", "gone/x.txt": "1\n", "mine.txt": "1\n" });
    put("mine.txt", "2\n");
    put("untracked.txt", "1\n");
    await eventually("a file time that is later than the coarse clock of files can hide", () => {
      const probe = path.join(folder, "probe");
      writeFileSync(probe, "");
      return statSync(probe).mtimeMs > statSync(path.join(work, "untracked.txt")).mtimeMs + 20 || undefined;
    });
    const files = await told(() => {
      put("a.txt", "1\n2\n");
      put("new.txt", "1\n");
      rmSync(path.join(work, "gone/x.txt"));
    });
    expect(files).toEqual(["git", "add new.txt +1 -0", "delete gone/x.txt +0 -1", "update a.txt +1 -0"]);
  });

  it("changes in one of 50,000 files are reported in time, and are unknown if there is no time", { timeout: 300_000 }, async () => {
    execFileSync("bash", ["-c", "mkdir d{1..500}; touch d{1..500}/f{1..100}"], { cwd: work });
    repository({ "a.txt": "1\n" });
    const changes = (name: string) => () => {
      put("a.txt", `1\n${name}\n`);
      put(name, "n\n");
      rmSync(path.join(work, "d250", name === "one" ? "f1" : "f2"));
    };
    const files = await told(changes("one"));
    expect(files).toEqual(["git", "add one +1 -0", "delete d250/f1 +0 -0", "update a.txt +1 -0"]);
    expect(await told(changes("two"), { withinMs: 0 })).toBe("unknown");
    // On a busy disk this may take longer than the limit of the hook after the test.
    execFileSync("rm", ["-rf", work]);
  });

  it("nothing that the repository configures is run", async () => {
    repository({ "a.txt": "1\n", ".gitattributes": "*.txt filter=evil diff=evil\n" });
    const proof = path.join(folder, "proof");
    const evil = `touch ${proof}; cat`;
    for (const key of [
      "filter.evil.clean",
      "filter.evil.smudge",
      "filter.evil.process",
      "core.fsmonitor",
      "diff.evil.textconv",
      "diff.external",
    ])
      git("config", key, evil);
    put(".git/hooks/post-index-change", `#!/bin/sh\n${evil}\n`);
    execFileSync("chmod", ["+x", path.join(work, ".git/hooks/post-index-change")]);
    // Without the sandbox, these programs could change the files.
    expect(await told(() => put("a.txt", "2\n"))).toEqual(["git", "update a.txt +1 -1"]);
    expect(existsSync(proof)).toBe(false);
  });

  it("without any time the changes are unknown, not empty", async () => {
    repository({ "a.txt": "1\n" });
    expect(await told(() => put("a.txt", "2\n"), { withinMs: 0 })).toBe("unknown");
  });

  it("one with a broken index is compared as a folder; if a turn breaks it, the patches count", async () => {
    repository({ "a.txt": "1\n" });
    const patches = [{ path: path.join(work, "a.txt"), kind: "update", added: 1, removed: 0 }] as const;
    const breaks = () => put(".git/index", "not an index");
    expect(await told(breaks, { patches })).toEqual(["patches", "update a.txt +1 -0"]);
    const files = await told(() => {
      put("a.txt", "3\n");
      put("b.txt", "3\n");
      put(".git/other", "3\n");
    });
    expect(files).toEqual(["folder", "add b.txt +undefined -undefined", "update a.txt +undefined -undefined"]);
  });

  it("patched files that git does not see are reported, unless they were restored", async () => {
    repository({ "a.txt": "1\n", "kept.txt": "1\n", ".gitignore": "ignored*\n" });
    const outside = path.join(folder, `outside${count}.txt`);
    const names = ["a.txt", "ignored.txt", "ignored-again.txt", "kept.txt", "passing.txt"];
    const patches = [...names.map((name) => path.join(work, name)), outside].map(
      (file) => ({ path: file, kind: "add", added: 1, removed: 0 }) as const,
    );
    const files = await told(
      () => {
        put("a.txt", "2\n");
        put("ignored.txt", "1\n");
        writeFileSync(outside, "1\n");
      },
      { patches },
    );
    expect(files).toEqual(["git", `add ${path.relative(work, outside)} +1 -0`, "add ignored.txt +1 -0", "update a.txt +1 -1"]);
  });

  it("a file that was patched through a link is reported once", async () => {
    repository({ "a.txt": "1\n" });
    const link = path.join(folder, `link${count}`);
    symlinkSync(work, link);
    const patches = [{ path: path.join(link, "a.txt"), kind: "update", added: 1, removed: 1 }] as const;
    expect(await told(() => put("a.txt", "2\n"), { cwd: link, patches })).toEqual(["git", "update a.txt +1 -1"]);
  });

  it("changes in its submodules are reported with their lines; a folder that only claims to be a submodule does not count", async () => {
    const other = otherRepository();
    repository({ "a.txt": "1\n", "false/.keep": "" });
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", other, "deep/sub");
    // Its repository belongs to another project.
    put("false/.git", `gitdir: ${path.join(other, ".git")}\n`);
    appendFileSync(
      path.join(work, ".gitmodules"),
      `[submodule "false"]\n\tpath = false\n[submodule "up"]\n\tpath = ../${path.basename(other)}\n`,
    );
    git("commit", "-q", "-a", "-m", "second");
    const files = await told(() => {
      put("deep/sub/s.txt", "1\n2\n");
      put("deep/sub/new.txt", "1\n");
      put("false/s.txt", "2\n");
      writeFileSync(path.join(other, "s.txt"), "2\n");
    });
    expect(files).toEqual(["git", "add deep/sub/new.txt +1 -0", "add false/s.txt +1 -0", "update deep/sub/s.txt +1 -0"]);
  });

  it("changes in untracked repositories in it are reported with their lines; one that the turn creates is reported by its folder", async () => {
    const other = otherRepository();
    repository({ "a.txt": "1\n", "false/.keep": "" });
    const nested = (name: string) => execFileSync("cp", ["-r", other, path.join(work, name)]);
    for (const name of ["clone", "untouched", "gone"]) nested(name);
    mkdirSync(path.join(work, "foreign"));
    put("foreign/.git", `gitdir: ${path.join(other, ".git")}\n`);
    const files = await told(() => {
      put("clone/s.txt", "1\n2\n");
      put("clone/new.txt", "1\n");
      rmSync(path.join(work, "gone"), { recursive: true });
      nested("fresh");
      put("a.txt", "2\n");
    });
    expect(files).toEqual([
      "git",
      "add clone/new.txt +1 -0",
      "add fresh +undefined -undefined",
      "delete gone +undefined -undefined",
      "update a.txt +1 -1",
      "update clone/s.txt +1 -0",
    ]);
  });

  it("a folder in it that git ignores is compared without git", async () => {
    repository({ "a.txt": "1\n", ".gitignore": "out/\n" });
    put("out/x.txt", "1\n");
    const change = () => {
      put("out/x.txt", "2\n");
      put("a.txt", "2\n");
    };
    expect(await told(change, { cwd: path.join(work, "out") })).toEqual(["folder", "update out/x.txt +undefined -undefined"]);
  });

  describe("a submodule in which git is slow", () => {
    /** Git hangs in the submodule at its runs with these numbers, from 1. */
    function slowIn(inner: string, runs: readonly number[]): LookingHost {
      let run = 0;
      const sandbox = async () => {
        const real = await host.sandbox();
        const wrap: typeof real.wrap = (argv, options) => {
          const hangs = options.workspace === inner && runs.includes(++run);
          return real.wrap(hangs ? ["/bin/sleep", "60"] : argv, options);
        };
        return { backend: real.backend, wrap } as typeof real;
      };
      return { ...hostParts, sandbox };
    }

    const change = () => put("sub/s.txt", "2\n");

    beforeEach(() => {
      repository({ "a.txt": "1\n" });
      git("-c", "protocol.file.allow=always", "submodule", "add", "-q", otherRepository(), "sub");
      git("commit", "-q", "-a", "-m", "second");
    });

    it("before the turn is examined at the end", async () => {
      const files = await told(change, { looking: slowIn(path.join(work, "sub"), [1]) });
      expect(files).toEqual(["git", "update sub/s.txt +1 -1"]);
    });

    it("at the end makes the changes unknown, not empty", async () => {
      expect(await told(change, { looking: slowIn(path.join(work, "sub"), [2]), withinMs: 3_000 })).toBe("unknown");
    });
  });

  it("a submodule that the turn removes does not hide the other changes", async () => {
    repository({ "a.txt": "1\n" });
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", otherRepository(), "sub");
    git("commit", "-q", "-a", "-m", "second");
    const files = await told(() => {
      rmSync(path.join(work, "sub"), { recursive: true });
      put("a.txt", "2\n");
    });
    expect(files).toEqual(["git", "delete sub +undefined -undefined", "update a.txt +1 -1"]);
  });

  it("of a long list of submodules the first names are looked up", async () => {
    repository({ "a.txt": "1\n" });
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", otherRepository(), "sub");
    const list = readFileSync(path.join(work, ".gitmodules"), "utf8");
    const claims = (many: number) => Array.from({ length: many }, (_, at) => `[submodule "x${at}"]\n\tpath = x${at}\n`).join("");
    const toldAfter = async (many: number) => {
      put(".gitmodules", claims(many) + list);
      git("commit", "-q", "-a", "-m", `${many} claims`);
      return told(() => put("sub/s.txt", `${many}\n`));
    };
    expect(await toldAfter(199)).toEqual(["git", "update sub/s.txt +1 -1"]);
    expect(await toldAfter(200)).toEqual(["git"]);
  });

  it("leaves nothing behind, and the index as it was", async () => {
    repository({ "a.txt": "1\n" });
    const index = realpathSync(path.join(work, ".git/index"));
    const before = execFileSync("sha1sum", [index]).toString();
    await told(() => put("a.txt", "2\n"));
    expect(execFileSync("sha1sum", [index]).toString()).toBe(before);
    await expect.poll(() => readdirSync(path.join(codexHome, "mcp-server", "tmp"))).toEqual([]);
  });
});

describe("outside a repository", () => {
  it("the folder is compared; lines are counted from patches only", async () => {
    put("sub/a.txt", "1\n");
    put("b.txt", "1\n");
    const patches = [{ path: path.join(work, "b.txt"), kind: "update", added: 1, removed: 0 }] as const;
    const files = await told(
      () => {
        put("b.txt", "1\n2\n");
        put("c.txt", "1\n");
        rmSync(path.join(work, "sub/a.txt"));
      },
      { patches },
    );
    expect(files).toEqual(["folder", "add c.txt +undefined -undefined", "delete sub/a.txt +undefined -undefined", "update b.txt +1 -0"]);
  });

  // Other systems refuse such names.
  it.runIf(process.platform === "linux")("files and folders whose names are not UTF-8 are compared as well", async () => {
    inBash("mkdir $'d\\xff'; echo 1 > $'d\\xff/f'; echo 1 > $'b\\xff'");
    const files = await told(() => inBash("echo 2 > $'d\\xff/f'; rm $'b\\xff'"));
    expect(files).toEqual(["folder", "delete b\ufffd +undefined -undefined", "update d\ufffd/f +undefined -undefined"]);
  });

  it("changes that an engine elsewhere made before the first look are reported", async () => {
    put("a.txt", "1\n");
    put("same.txt", "1\n");
    const sinceMs = statSync(path.join(work, "same.txt")).ctimeMs + 20;
    const changes = new WorkspaceChanges(host, { cwd: work, sinceMs, lookingFor: undefined });
    await eventually("a file of a later time", () => {
      put("a.txt", "2\n");
      return statSync(path.join(work, "a.txt")).ctimeMs > sinceMs || undefined;
    });
    put("new.txt", "1\n");
    await changes.before();
    const found = await changes.after({ withinMs: 20_000, patches: [] });
    expect(found?.list.map(({ path: file, kind }) => [path.basename(file), kind]).sort()).toEqual([
      ["a.txt", "update"],
      ["new.txt", "add"],
    ]);
  });

  it("a folder of many files is left to the patches, which say so", async () => {
    touch("f{0..4000}");
    const patches = [{ path: path.join(work, "f0"), kind: "update", added: 1, removed: 0 }] as const;
    expect(await told(() => put("f1", "x"), { patches })).toEqual(["patches", "update f0 +1 -0"]);
  });

  it("hidden files are not reported", async () => {
    const hidden = { folder: path.join(work, "secrets") };
    mkdirSync(hidden.folder);
    const looking = { ...hostParts, hidden: [hidden] };
    const changes = new WorkspaceChanges(looking, { cwd: work, sinceMs: Date.now(), lookingFor: undefined });
    await changes.before();
    put("secrets/key", "1\n");
    put("seen", "1\n");
    expect((await changes.after({ withinMs: 20_000, patches: [] }))?.list).toEqual([{ path: path.join(work, "seen"), kind: "add" }]);
  });

  it("a missing folder does not cause a failure", async () => {
    expect(await told(() => {}, { cwd: "/nowhere/at/all" })).toEqual(["patches"]);
  });
});

it("a workspace without possible changes is not examined", async () => {
  const changes = new WorkspaceChanges(host, { cwd: work, sinceMs: 0, lookingFor: undefined });
  put("x", "");
  expect(await changes.after({ withinMs: 1_000, patches: [] })).toEqual({ from: "patches", list: [] });
});
