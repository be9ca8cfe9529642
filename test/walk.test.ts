import { describe, expect, it } from "vitest";
import { executedIn, medianOf } from "../scripts/walk/coverage.js";
import { climbs, documentedSpine, spineFiles } from "../scripts/walk/path.js";
import type { Trace } from "../scripts/walk/probe.js";
import { findSpine } from "../scripts/walk/spine.js";
import type { TranspiledProgram } from "../scripts/walk/transpile.js";

const program: TranspiledProgram = {
  main: "",
  sourceOf: (url) => /^file:\/\/\/(src\/.*)\.js$/.exec(url)?.[1]?.concat(".ts"),
  [Symbol.dispose]: () => {},
};

describe("the spine of a call", () => {
  it("names each file once, leaves the library out, and ends at the model's client", () => {
    const files = ["src/jsonrpc/peer.ts", "src/jsonrpc/peer.ts", "src/lib/promises.ts", "src/engines/native/model/responses.ts"];
    expect(spineFiles([...files, "src/engines/native/model/decode.ts"])).toEqual([
      "src/jsonrpc/peer.ts",
      "src/engines/native/model/responses.ts",
    ]);
  });

  it("climbs where it returns to an earlier file or goes up to a folder above", () => {
    const down = ["src/jsonrpc/peer.ts", "src/mcp/session.ts", "src/agent/agent.ts", "src/threads/thread.ts", "src/engines/native/turn.ts"];
    expect(climbs(down)).toEqual([]);
    expect(climbs([...down, "src/agent/feed.ts"])).toEqual([5]);
    expect(climbs(["src/mcp/a.ts", "src/mcp/b.ts", "src/mcp/a.ts"])).toEqual([2]);
  });

  it("is compared with the numbered list of its page", () => {
    const page =
      "# A\n1. `src/no.ts`\n## One `tools/call`, file by file\n\n1. `src/a.ts`: takes `src/x.ts`.\n2. `src/b.ts`\n\n## Next\n1. `src/c.ts`\n";
    expect(documentedSpine(page)).toEqual(["src/a.ts", "src/b.ts"]);
  });

  it("ends with the function that takes messages, as far as one stack shows it", async () => {
    const stack = [
      "Error: model",
      "    at http.request (file:///elsewhere/probe.mjs:1:1)",
      "    at eval (eval at ask (file:///src/model.js:1:1), <anonymous>:1:1)",
      "    at ask (file:///src/model.js:5:3)",
      "    at new Promise (<anonymous>)",
      "    at file:///src/peer.js:7:9",
      "    at Server.listen (file:///src/main.js:1:1)",
      "    at async main (file:///src/main.js:2:2)",
    ].join("\n");
    const traces: readonly Trace[] = [{ what: "model", stack }];
    const probe = { reset: async () => {}, traces: async () => traces, coverage: async () => [], watch: async () => {} };
    const chain = await findSpine({ program, probe, call: async () => {}, entry: "src/peer.ts" });
    expect(chain.map(({ file, functionName }) => [file, functionName])).toEqual([
      ["src/peer.ts", ""],
      ["src/model.ts", "ask"],
    ]);
  });
});

describe("what a call executes", () => {
  it("is every file of ours with a named function that was entered", () => {
    const entered = (functionName: string, count = 1) => ({ functionName, ranges: [{ startOffset: 0, endOffset: 1, count }] });
    const coverage = [
      { url: "file:///src/b.js", functions: [entered("run"), entered("rest", 0), entered("__using")] },
      { url: "file:///src/a.js", functions: [entered("#take")] },
      { url: "file:///src/c.js", functions: [entered("")] },
      { url: "node:fs", functions: [entered("open")] },
    ];
    expect([...executedIn(coverage, program)]).toEqual([
      ["src/a.ts", ["#take"]],
      ["src/b.ts", ["run"]],
    ]);
  });

  it("is the median of several calls", () => {
    const withFiles = (...files: string[]) => new Map(files.map((file) => [file, []]));
    expect(medianOf([withFiles("a", "b", "c"), withFiles("a"), withFiles("a", "b")]).size).toBe(2);
  });
});
