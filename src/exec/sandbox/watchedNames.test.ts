import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { bundle } from "../../../test/support/processes/bundledProgram.js";

const NOBODY = 65_534;

/** Permissions do not restrict root, so root drops its rights first. */
it.each(["555", "000", "300"])(
  "a file that a command created under a protected name is moved away, even from a folder with mode %s",
  async (mode) => {
    const folder = mkdtempSync(path.join(tmpdir(), "aside-"));
    try {
      const program = path.join(folder, "attempt.mjs");
      await bundle("setAsideAttempt.ts", program);
      const workspace = path.join(folder, "workspace");
      mkdirSync(workspace);
      chmodSync(folder, 0o755);
      const isRoot = process.getuid?.() === 0;
      if (isRoot) chownSync(workspace, NOBODY, NOBODY);
      const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
      const said = execFileSync(process.execPath, [program, workspace, mode], { encoding: "utf8", cwd: "/", ...user });
      expect(JSON.parse(said)).toEqual({ moved: true, left: false, isOurs: mode !== "300" });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
