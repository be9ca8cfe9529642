import { createHash } from "node:crypto";
import { cpSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { MAIN } from "../support/processes/mcpServer.js";
import { ROOT } from "../support/processes/packedPackage.js";
import { type Attack, describeAttacks } from "./attack.js";
import type { Ground } from "./ground.js";
import { runPlainly } from "./standIn.js";
import { patching } from "./victim.js";

const PACKAGE = "node_modules/codex-mcpd";

/** Installs the server in the project, as a user would. */
function installIn(ground: Ground): void {
  const folder = ground.inWorkspace(PACKAGE);
  mkdirSync(folder, { recursive: true });
  cpSync(path.dirname(MAIN), path.join(folder, "dist"), { recursive: true });
  cpSync(path.join(ROOT, "package.json"), path.join(folder, "package.json"));
  ground.notes["before"] = stateOf(folder);
}

function stateOf(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const hash = createHash("sha256");
  for (const name of names) {
    const file = path.join(folder, name);
    hash.update(`${name}\0`).update(statSync(file).isFile() ? readFileSync(file) : "");
  }
  return hash.digest("hex");
}

function changedPackage(ground: Ground): string[] {
  try {
    return stateOf(ground.inWorkspace(PACKAGE)) === ground.notes["before"] ? [] : ["the server's own code changed"];
  } catch {
    return ["the server's own code is gone"];
  }
}

const EVIL = (ground: Ground) => `import("node:fs").then((fs) => fs.writeFileSync("${ground.mark("own-code")}", "changed"));`;

const SCRIPTS: Readonly<Record<string, (ground: Ground) => string>> = {
  "adds to every file of it": (ground) => `for f in ${PACKAGE}/dist/*.js; do echo '${EVIL(ground)}' >> "$f"; done`,
  "replaces a file of it": (ground) => `echo '${EVIL(ground)}' > new; mv -f new ${PACKAGE}/dist/review.js`,
  "moves node_modules away": (ground) =>
    `cp -r node_modules copy; for f in copy/codex-mcpd/dist/*.js; do echo '${EVIL(ground)}' >> "$f"; done; mv node_modules away; mv copy node_modules`,
  "moves the package away": (ground) =>
    `cp -r ${PACKAGE} copy; for f in copy/dist/*.js; do echo '${EVIL(ground)}' >> "$f"; done; mv ${PACKAGE} away; mv copy ${PACKAGE}`,
  "links a file of it elsewhere": (ground) => `echo '${EVIL(ground)}' > evil.js; ln -sf "$PWD/evil.js" ${PACKAGE}/dist/review.js`,
  "plants code beside it": (ground) => `mkdir -p ${PACKAGE}/node_modules/x; echo '${EVIL(ground)}' > ${PACKAGE}/node_modules/x/index.js`,
};

const installed: Pick<Attack, "prepare" | "victim" | "gained" | "mayRefuseToStart"> = {
  mayRefuseToStart: true,
  prepare: installIn,
  victim: (ground) => ({ command: [process.execPath, ground.inWorkspace(PACKAGE, "dist/main.js")] }),
  gained: changedPackage,
};

/** The program that runs the server lies in a folder that commands may write. */
function bringNode(ground: Ground): void {
  mkdirSync(ground.inWorkspace("tools"));
  const copy = ground.inWorkspace("tools/node");
  try {
    linkSync(process.execPath, copy);
  } catch {
    cpSync(process.execPath, copy);
  }
  ground.notes["node"] = String(statSync(copy).ino);
}

describeAttacks("a server installed in the project", [
  ...Object.entries(SCRIPTS).map(([how, script], at): Attack => {
    return {
      ...installed,
      name: `be changed by a command that ${how}`,
      ...(at === 0 && { quick: true }),
      attempt: async (ground, victim) => {
        await victim.runs(script(ground));
        await victim.call("codex-review", { target: "custom", instructions: "!say done" });
        await victim.call("codex-models", {});
      },
      standIn: (ground) => runPlainly(ground, script(ground)),
    };
  }),
  {
    ...installed,
    name: "be changed by a patch",
    attempt: async (ground, victim) => {
      const files = readdirSync(ground.inWorkspace(PACKAGE, "dist")).filter((name) => name.endsWith(".js"));
      for (const name of files.slice(0, 5))
        await victim.turn(patching(`*** Update File: ${PACKAGE}/dist/${name}`, "@@", `+${EVIL(ground)}`, "*** End of File"));
      await victim.turn(patching(`*** Delete File: ${PACKAGE}/package.json`));
    },
    standIn: (ground) => runPlainly(ground, SCRIPTS["adds to every file of it"]?.(ground) ?? ""),
  },
  {
    name: "lose the Node that runs it to a command",
    mayRefuseToStart: true,
    prepare: bringNode,
    victim: (ground) => ({ command: [ground.inWorkspace("tools/node"), MAIN] }),
    attempt: (_, victim) =>
      victim.runs("echo '#!/bin/sh' > evil; chmod +x evil; mv -f evil tools/node; mv tools away; mkdir tools; touch tools/node"),
    gained: (ground) => (String(statSync(ground.inWorkspace("tools/node")).ino) === ground.notes["node"] ? [] : ["another Node is there"]),
    standIn: (ground) => runPlainly(ground, "echo '#!/bin/sh' > evil; mv -f evil tools/node"),
  },
]);
