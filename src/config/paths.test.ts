import { describe, expect, it } from "vitest";
import { anchorPaths } from "./paths.js";

const ANCHOR = { folder: "/home/me/.codex", home: "/home/me" };

describe("anchorPaths", () => {
  it("makes paths absolute wherever the schema has them, and touches nothing else", () => {
    const tree = {
      model: "./not-a-path",
      model_instructions_file: "prompts/base.md",
      sandbox_workspace_write: { writable_roots: ["/abs", "rel", "~", "~/cache", "~other"] },
      profiles: { fast: { experimental_compact_prompt_file: "../compact.md" } },
      unknown: { model_instructions_file: "x" },
    };
    expect(anchorPaths(tree, ANCHOR)).toEqual({
      model: "./not-a-path",
      model_instructions_file: "/home/me/.codex/prompts/base.md",
      sandbox_workspace_write: { writable_roots: ["/abs", "/home/me/.codex/rel", "/home/me", "/home/me/cache", "/home/me/.codex/~other"] },
      profiles: { fast: { experimental_compact_prompt_file: "/home/me/compact.md" } },
      unknown: { model_instructions_file: "x" },
    });
  });

  it("leaves values of the wrong type for the check", () => {
    const tree = { model_instructions_file: 5, sandbox_workspace_write: { writable_roots: "x" }, profiles: 1 };
    expect(anchorPaths(tree, ANCHOR)).toEqual(tree);
  });
});
