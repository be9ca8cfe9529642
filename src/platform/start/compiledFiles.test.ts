import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { Script } from "node:vm";
import { afterEach, describe, expect, it, vi } from "vitest";
import { tuneCompiler } from "../v8.js";
import { CompiledFiles } from "./compiledFiles.js";

const NAME = "one.js";

/** Texts of the same length, since V8 looks at no more of a source than that. Each test has its own: V8 remembers what it has compiled. */
let texts = 0;
function sources(): { readonly right: string; readonly wrong: string } {
  const mark = String(++texts).padStart(4, "0");
  return { right: `exports.said = "right"; // ${mark}\n`, wrong: `exports.said = "wrong"; // ${mark}\n` };
}

class Program {
  readonly folder = mkdtempSync(path.join(tmpdir(), "compiled-files-"));

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  write(name: string, text: string): void {
    writeFileSync(path.join(this.folder, name), text);
  }

  /** As a process that starts sees them. */
  files(): CompiledFiles {
    return new CompiledFiles(this.folder, createRequire(path.join(this.folder, "main.js")));
  }

  /** The only file that is kept. */
  get kept(): string {
    const [name = "none"] = readdirSync(path.join(this.folder, "compiled"));
    return path.join(this.folder, "compiled", name);
  }

  /** Keeps of one source what V8 made of another. */
  forge({ of: source, from }: { readonly of: string; readonly from: string }): void {
    this.write(NAME, from);
    const files = this.files();
    files.load(NAME);
    files.keep();
    const made = readFileSync(this.kept);
    writeFileSync(this.kept, Buffer.concat([made.subarray(0, 8), Buffer.from(source), made.subarray(8 + source.length)]));
    this.write(NAME, source);
  }
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("a file of the program", () => {
  it("is run once, sees the others through the same loader, and the rest of the world through Node", () => {
    using program = new Program();
    program.write("main.js", 'exports.from = "main";');
    program.write(
      "one.js",
      'exports.count = (exports.count ?? 0) + 1; exports.two = require("./two.js"); exports.where = [__filename, __dirname];',
    );
    program.write("two.js", 'module.exports = { one: require("./one.js"), main: require("./main.js"), path: require("node:path") };');
    const files = program.files();
    const one = files.load("one.js") as { two: Record<string, unknown>; where: unknown; count: number };
    expect(files.load("one.js")).toBe(one);
    expect(one).toMatchObject({ count: 1, two: { main: { from: "main" }, path } });
    expect(one.two["one"]).toBe(one);
    expect(one.where).toEqual([path.join(program.folder, "one.js"), program.folder]);
  });

  it("that fails is run again when it is asked for again, and shows where it failed", () => {
    using program = new Program();
    const text = 'globalThis.failures = (globalThis.failures ?? 0) + 1; throw new Error("failure " + globalThis.failures);';
    program.write("one.js", text);
    const files = program.files();
    const failure = () => {
      try {
        return files.load("one.js");
      } catch (error) {
        return error instanceof Error ? error.stack : error;
      }
    };
    const place = `${path.join(program.folder, "one.js")}:1:${text.indexOf("new") + 1}`;
    expect([failure(), failure()]).toEqual([
      expect.stringMatching(new RegExp(`^Error: failure 1\\n.*${place}`)),
      expect.stringMatching(new RegExp(`^Error: failure 2\\n.*${place}`)),
    ]);
  });

  it("that loads ES modules is left to Node", async () => {
    using program = new Program();
    program.write("one.js", 'exports.os = import("node:os");');
    const files = program.files();
    expect(await (files.load("one.js") as { os: unknown }).os).toHaveProperty("hostname");
    files.keep();
    expect(existsSync(path.join(program.folder, "compiled"))).toBe(false);
  });
});

describe("what V8 made of a file", () => {
  it("is taken from an earlier process, and not kept a second time", () => {
    using program = new Program();
    const { right, wrong } = sources();
    program.forge({ of: right, from: wrong });
    const files = program.files();
    // The proof that it is taken: V8 believes what it is given.
    expect(files.load(NAME)).toEqual({ said: "wrong" });
    const { mtimeMs } = statSync(program.kept);
    files.keep();
    expect(statSync(program.kept).mtimeMs).toBe(mtimeMs);
    expect(readdirSync(path.dirname(program.kept))).toEqual([path.basename(program.kept)]);
  });

  it.each<[string, (program: Program, right: string, wrong: string) => void]>([
    [
      "the source is another by now",
      (program, right, wrong) => {
        program.write(NAME, wrong);
        const files = program.files();
        files.load(NAME);
        files.keep();
        program.write(NAME, right);
      },
    ],
    [
      "a byte of one copy is damaged",
      (program, right, wrong) => {
        program.forge({ of: right, from: wrong });
        const bytes = readFileSync(program.kept);
        bytes[bytes.length - 100] = (bytes[bytes.length - 100] ?? 0) ^ 0xff;
        writeFileSync(program.kept, bytes);
      },
    ],
    [
      "its end is missing",
      (program, right, wrong) => {
        program.forge({ of: right, from: wrong });
        writeFileSync(program.kept, readFileSync(program.kept).subarray(0, -1));
      },
    ],
    [
      "it is empty",
      (program, right, wrong) => {
        program.forge({ of: right, from: wrong });
        writeFileSync(program.kept, "");
      },
    ],
    [
      "all of it is zeros",
      (program, right, wrong) => {
        program.forge({ of: right, from: wrong });
        writeFileSync(program.kept, Buffer.alloc(readFileSync(program.kept).length));
      },
    ],
    [
      "others may write it",
      (program, right, wrong) => {
        program.forge({ of: right, from: wrong });
        chmodSync(program.kept, 0o664);
      },
    ],
    [
      "others may write its folder",
      (program, right, wrong) => {
        program.forge({ of: right, from: wrong });
        chmodSync(path.dirname(program.kept), 0o757);
      },
    ],
    [
      "the user does not want it",
      (program, right, wrong) => {
        program.forge({ of: right, from: wrong });
        vi.stubEnv("NODE_DISABLE_COMPILE_CACHE", "1");
      },
    ],
  ])("is not taken when %s", (_, prepare) => {
    using program = new Program();
    const { right, wrong } = sources();
    prepare(program, right, wrong);
    expect(program.files().load(NAME)).toEqual({ said: "right" });
  });

  it("is kept so that nobody else can write it, whatever this process would allow", () => {
    using program = new Program();
    program.write(NAME, sources().right);
    const mask = process.umask(0);
    try {
      const files = program.files();
      files.load(NAME);
      files.keep();
    } finally {
      process.umask(mask);
    }
    expect([path.dirname(program.kept), program.kept].map((file) => statSync(file).mode & 0o777)).toEqual([0o755, 0o644]);
  });

  it("is kept in a folder that others could write before, which they cannot after", () => {
    using program = new Program();
    program.write(NAME, sources().right);
    mkdirSync(path.join(program.folder, "compiled"));
    chmodSync(path.join(program.folder, "compiled"), 0o777);
    const files = program.files();
    files.load(NAME);
    files.keep();
    expect(statSync(path.dirname(program.kept)).mode & 0o777).toBe(0o755);
  });

  it("has a name of its own when V8 has been tuned", () => {
    using program = new Program();
    const { right, wrong } = sources();
    program.forge({ of: right, from: wrong });
    tuneCompiler();
    expect(program.files().load(NAME)).toEqual({ said: "right" });
  });

  it("is kept anew when it was damaged", () => {
    using program = new Program();
    const { right, wrong } = sources();
    program.forge({ of: right, from: wrong });
    const length = readFileSync(program.kept).length;
    writeFileSync(program.kept, "nonsense");
    const files = program.files();
    files.load(NAME);
    files.keep();
    expect(readFileSync(program.kept).length).toBeGreaterThan(length / 2);
  });

  it("is not kept where the user does not want it, or where it cannot be", () => {
    using program = new Program();
    program.write(NAME, sources().right);
    const files = program.files();
    files.load(NAME);
    vi.stubEnv("NODE_DISABLE_COMPILE_CACHE", "1");
    files.keep();
    vi.unstubAllEnvs();
    expect(existsSync(path.join(program.folder, "compiled"))).toBe(false);

    program.write("compiled", "a file where the folder should be");
    const others = program.files();
    others.load(NAME);
    expect(() => others.keep()).not.toThrow();
  });

  it("would otherwise be believed: V8 compares no more than lengths", () => {
    const { right, wrong } = sources();
    const cachedData = new Script(`${wrong}1`).createCachedData();
    expect(new Script(`${right}2`, { cachedData }).cachedDataRejected).toBe(false);
  });
});
