import { execFileSync } from "node:child_process";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startSwapping } from "../../../test/support/patch/swapping.js";
import { Tree } from "../../../test/support/patch/tree.js";
import { type MayRead, readEntry, readGuarded } from "./guardedRead.js";
import { ReadRefused } from "./readRefused.js";

const HIDDEN = "it is kept from this thread and from its commands. Go on without it.";
const MISSING = /^ENOENT/;

let tree: Tree;
let secret: Tree;

beforeEach(async () => {
  tree = await Tree.with({ "a.txt": "hello", "sub/b.txt": "deep" });
  secret = await Tree.with({ "auth.json": "KEY" });
  onTestFinished(async () => {
    await tree[Symbol.asyncDispose]();
    await secret[Symbol.asyncDispose]();
  });
});

/** Everything except the folder with secrets. */
const mayRead: MayRead = (file) => file !== secret.root && !file.startsWith(`${secret.root}/`);

async function text(file: string, maxBytes = 100): Promise<string> {
  return (await readGuarded(file, { mayRead, maxBytes, larger: "cut" })).bytes.toString();
}

describe("a file", () => {
  it("is read, through links and dots", async () => {
    await symlink("sub", tree.at("alias"));
    await symlink("alias/b.txt", tree.at("link"));
    expect(await text(tree.at("a.txt"))).toBe("hello");
    expect(await text(tree.at("link"))).toBe("deep");
    expect(await text(tree.at("alias/../a.txt"))).toBe("hello");
  });

  it("is cut at the limit, and marked as cut", async () => {
    expect(await readGuarded(tree.at("a.txt"), { mayRead, maxBytes: 5, larger: "cut" })).toMatchObject({
      bytes: Buffer.from("hello"),
      isCut: false,
    });
    expect(await readGuarded(tree.at("a.txt"), { mayRead, maxBytes: 4, larger: "cut" })).toMatchObject({
      bytes: Buffer.from("hell"),
      isCut: true,
    });
    expect(await readGuarded(tree.at("a.txt"), { mayRead, maxBytes: 0, larger: "cut" })).toMatchObject({
      bytes: Buffer.alloc(0),
      isCut: true,
    });
  });

  it("of several blocks comes whole", async () => {
    const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => at % 251));
    await writeFile(tree.at("large"), bytes);
    const read = await readGuarded(tree.at("large"), { mayRead, maxBytes: 3_000_000, larger: "cut" });
    expect([read.bytes.equals(bytes), read.isCut]).toEqual([true, false]);
  });

  it("of two sparse gigabytes costs no more than the limit", async () => {
    await truncate(tree.at("a.txt"), 2 ** 31);
    const read = await readGuarded(tree.at("a.txt"), { mayRead, maxBytes: 10, larger: "cut" });
    expect([read.bytes.length, read.isCut, read.stats.size]).toEqual([10, true, 2n ** 31n]);
    await expect(readGuarded(tree.at("a.txt"), { mayRead, maxBytes: 1024 * 1024, larger: "refuse" })).rejects.toThrow(
      "it is larger than 1 MiB",
    );
  });

  it("is missing, or a folder, in the system's words", async () => {
    await expect(text(tree.at("none"))).rejects.toThrow(MISSING);
    await expect(text(tree.at("none/deeper/still"))).rejects.toThrow(MISSING);
    await expect(text(tree.at("a.txt/below"))).rejects.toThrow(/^ENOTDIR/);
    await expect(text(tree.root)).rejects.toThrow(/^EISDIR/);
    await symlink("round", tree.at("round"));
    await expect(text(tree.at("round"))).rejects.toThrow(/^ELOOP/);
  });

  it("is not a pipe, and does not block", async () => {
    execFileSync("mkfifo", [tree.at("pipe")]);
    await expect(text(tree.at("pipe"))).rejects.toThrow("it is not a regular file");
  });
});

describe("what is hidden is not read", () => {
  it.for([
    ["by its path", () => secret.at("auth.json")],
    ["through a link", () => tree.at("link")],
    ["through a linked folder", () => tree.at("folder/auth.json")],
    ["through a chain of links", () => tree.at("chain")],
    ["by dots", () => tree.at(`../${path.basename(secret.root)}/auth.json`)],
    ["by way of /proc", () => `/proc/self/root${secret.at("auth.json")}`],
  ] as const)("%s", async ([, file]) => {
    await symlink(secret.at("auth.json"), tree.at("link"));
    await symlink(secret.root, tree.at("folder"));
    await symlink("folder/auth.json", tree.at("chain"));
    await expect(text(file())).rejects.toThrow(HIDDEN);
  });

  it("and its existence is not revealed", async () => {
    await symlink(secret.at("missing"), tree.at("dangling"));
    await symlink("dangling", tree.at("chain"));
    await symlink(secret.root, tree.at("folder"));
    for (const name of ["dangling", "chain", "folder/missing", "folder/missing/deeper"])
      await expect(text(tree.at(name)), name).rejects.toThrow(HIDDEN);
  });
});

describe.runIf(process.platform === "linux")("what the kernel makes up is not read", () => {
  it.for(["/proc/self/environ", "/proc/self/pagemap", "/proc/kmsg", "/sys/kernel/notes", "/dev/zero", "/dev/null", "/dev/tty"])(
    "%s",
    async (file) => {
      await symlink(file, tree.at("link"));
      await expect(text(file)).rejects.toMatchObject({ reason: "kernel" });
      await expect(text(tree.at("link"))).rejects.toMatchObject({ reason: "kernel" });
    },
  );

  it("wherever it is mounted", async () => {
    await expect(readEntry("/proc/self/environ", { maxBytes: 10, larger: "cut" })).rejects.toMatchObject({ reason: "kernel" });
    await expect(readEntry("/sys/kernel/notes", { maxBytes: 10, larger: "cut" })).rejects.toMatchObject({ reason: "kernel" });
  });
});

describe("an entry of a folder", () => {
  it("is never what a link there leads to", async () => {
    await symlink("a.txt", tree.at("link"));
    await expect(readEntry(tree.at("link"), { maxBytes: 10, larger: "cut" })).rejects.toThrow(/^ELOOP/);
    expect((await readEntry(tree.at("a.txt"), { maxBytes: 10, larger: "cut" })).bytes.toString()).toBe("hello");
  });
});

describe("what is swapped in after the judgement", () => {
  it("is judged again by its own path", async () => {
    await mkdir(tree.at("folder"));
    await writeFile(tree.at("folder/auth.json"), "harmless");
    let asked = 0;
    const swapping: MayRead = (file) => {
      if (asked++ === 0) {
        execFileSync("mv", [tree.at("folder"), tree.at("moved")]);
        execFileSync("ln", ["-s", secret.root, tree.at("folder")]);
        return true;
      }
      return mayRead(file);
    };
    await expect(readGuarded(tree.at("folder/auth.json"), { mayRead: swapping, maxBytes: 10, larger: "cut" })).rejects.toThrow(HIDDEN);
    expect(asked).toBe(2);
  });

  it("as a link at the file itself is not followed", async () => {
    const swapping: MayRead = () => {
      execFileSync("ln", ["-sf", secret.at("auth.json"), tree.at("a.txt")]);
      return true;
    };
    await expect(readGuarded(tree.at("a.txt"), { mayRead: swapping, maxBytes: 10, larger: "cut" })).rejects.toThrow(/^ELOOP/);
  });

  it.runIf(process.platform === "linux")("wins no race", async () => {
    await writeFile(secret.at("b.txt"), "KEY");
    const seen = new Set<string>();
    {
      await using _ = await startSwapping(tree.at("sub"), secret.root);
      for (let n = 0; n < 500; n++) {
        const outcome = await text(tree.at("sub/b.txt")).catch((error: unknown) => error);
        seen.add(typeof outcome === "string" ? outcome : outcome instanceof ReadRefused ? outcome.reason : "system");
      }
    }
    expect([...seen]).not.toContain("KEY");
    expect([...seen]).toContain("hidden");
  });
});
