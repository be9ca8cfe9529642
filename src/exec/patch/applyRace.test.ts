import { mkdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { patchOf } from "../../../test/support/patch/patchText.js";
import { startSwapping } from "../../../test/support/patch/swapping.js";
import { Tree } from "../../../test/support/patch/tree.js";
import { EmptyPatch, PatchFailed, PatchInvalid } from "./errors.js";

const ATTEMPTS = 300;

it.runIf(process.platform === "linux")(
  "a folder that is replaced by a link while patches are applied never leads a patch outside",
  async () => {
    await using inside = await Tree.with();
    await using outside = await Tree.with({ "kept.txt": "kept\n" });
    await mkdir(inside.at("folder"));
    let applied = 0;
    {
      await using _ = await startSwapping(inside.at("folder"), outside.root);
      for (let n = 0; n < ATTEMPTS; n++) {
        const patch = patchOf(`*** Add File: folder/deep${n % 7}/n${n}`, "+escaped", `*** Add File: folder/n${n}`, "+escaped");
        const outcome = await inside.apply(patch).catch((error: unknown) => error);
        if (typeof outcome === "string") applied++;
        else expect([PatchFailed, PatchInvalid, EmptyPatch]).toContain(outcome instanceof Error ? outcome.constructor : outcome);
      }
    }
    expect(await outside.texts()).toEqual({ "kept.txt": "kept\n" });
    const written = Object.keys(await inside.texts());
    expect(written.filter((name) => name.includes(".patch-"))).toEqual([]);
    expect(written).toHaveLength(2 * applied);
  },
);
