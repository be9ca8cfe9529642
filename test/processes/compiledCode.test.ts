import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { MAIN, startServer } from "../support/mcpServer.js";
import { valueAt } from "../support/scenario.js";

/** A copy of the program, as an installation has it: nobody else starts it. */
class Installation {
  readonly #folder = mkdtempSync(path.join(tmpdir(), "installed-"));
  readonly #compiled = path.join(this.#folder, "compiled");

  constructor() {
    cpSync(path.dirname(MAIN), this.#folder, { recursive: true, filter: (file) => path.basename(file) !== "compiled" });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get command(): [string, string] {
    return [process.execPath, path.join(this.#folder, "main.js")];
  }

  /** What a client is answered by a server that is started, asked and ended. */
  async answer(prompt?: string): Promise<unknown> {
    await using server = await startServer({ command: this.command });
    await server.initialize();
    const result =
      prompt === undefined
        ? undefined
        : await server.call("codex", { prompt, sandbox: "danger-full-access", "approval-policy": "never" }).result();
    await server.closeAndWait();
    return valueAt(result, "structuredContent.content");
  }

  /** The files whose code is kept, and since when. */
  get kept(): Record<string, number> {
    const names = existsSync(this.#compiled) ? readdirSync(this.#compiled) : [];
    return Object.fromEntries(names.map((name) => [name.replace(/\.js\..*/, ""), statSync(path.join(this.#compiled, name)).mtimeMs]));
  }

  change(part: string, edit: (bytes: Buffer) => Buffer): void {
    for (const name of readdirSync(this.#compiled).filter((each) => each.startsWith(part))) {
      const file = path.join(this.#compiled, name);
      writeFileSync(file, edit(readFileSync(file)));
    }
  }
}

describe.concurrent("compiled code is kept for the next start", () => {
  it("by a server that served a call, and by none that did not", async () => {
    using installation = new Installation();
    await installation.answer();
    expect(installation.kept).toEqual({});
    expect(await installation.answer("!say one")).toBe("one");
    expect(Object.keys(installation.kept)).toEqual(expect.arrayContaining(["agent", "scripted", "server"]));
  });

  it("and is good enough for that, whatever else was set while the server ran", async () => {
    using installation = new Installation();
    // The reader of bash has settings of its own.
    const prompt = "!shell true && [ -n x ]\n!say done";
    expect(await installation.answer(prompt)).toBe("done");
    const { kept } = installation;
    expect(Object.keys(kept)).toEqual(expect.arrayContaining(["sandbox", "tools"]));
    expect(await installation.answer(prompt)).toBe("done");
    // What is not good enough is kept anew. The log is loaded whenever it has something to say, before or after the compiler is tuned.
    expect({ ...installation.kept, "log-file": undefined }).toEqual({ ...kept, "log-file": undefined });
  });

  it("and a server that finds it damaged does without, and mends it", async () => {
    using installation = new Installation();
    await installation.answer("!say one");
    installation.change("server", (bytes) => bytes.fill(0, bytes.length - 5_000));
    installation.change("agent", (bytes) => bytes.subarray(0, bytes.length / 2));
    const damaged = installation.kept;
    expect(await installation.answer("!say two")).toBe("two");
    const mended = installation.kept;
    // The log is loaded whenever it has something to say, before or after the compiler is tuned.
    const changed = Object.keys(mended).filter((name) => name !== "log-file" && mended[name] !== damaged[name]);
    expect(changed).toEqual(["agent", "server"]);
    expect(await installation.answer("!say three")).toBe("three");
    expect({ ...installation.kept, "log-file": undefined }).toEqual({ ...mended, "log-file": undefined });
  });

  it("while the server goes on serving", async () => {
    using installation = new Installation();
    await using server = await startServer({ command: installation.command });
    await server.initialize();
    const prompt = { prompt: "!say one" };
    expect(valueAt(await server.call("codex", prompt).result(), "structuredContent.content")).toBe("one");
    await eventually("kept code", () => installation.kept["agent"]);
    expect(valueAt(await server.call("codex", prompt).result(), "structuredContent.content")).toBe("one");
  });
});
