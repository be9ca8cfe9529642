import { expect, it } from "vitest";
import { understoodPart } from "./understood.js";

it("what is understood is kept as it is, unknown keys too", () => {
  const tree = { model: "m", new_thing: { a: 1 }, model_providers: { own: { name: "own" } } };
  expect(understoodPart(tree)).toEqual({ tree, passedOver: [] });
});

it("values that only a newer Codex can read are passed over, each by itself", () => {
  const tree = {
    model: "m",
    approval_policy: { granular: { rules: true } },
    model_reasoning_effort: "ultra",
    model_providers: { own: { name: "own", wire_api: "telepathy" } },
    project_doc_max_bytes: "many",
  };
  expect(understoodPart(tree)).toEqual({
    tree: { model: "m", model_providers: { own: { name: "own" } } },
    passedOver: ["approval_policy", "model_reasoning_effort", "model_providers.own.wire_api", "project_doc_max_bytes"],
  });
});
