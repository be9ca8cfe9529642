// Prints the names that changed between two versions of Codex's app-server. Default: from the newest recorded version to the newest on npm.
//   npm run drift [-- OLD NEW]       the exit code is 1 if the newer one has names that no recorded version has
//   npm run drift -- --record VERSION…   records the names of these versions, for the tests
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { newestOnNpm, publishedCodex } from "../test/support/codex/codexPeers.js";
import { type CodexSurface, codexSurface, namesBeyond, recordedSurfaces, surfaceFile } from "../test/support/codex/codexSurface.js";

const args = process.argv.slice(2);
if (args[0] === "--record") for (const version of args.slice(1)) record(version, await surfaceOf(version));
else process.exitCode = await compare(args);

function record(version: string, surface: CodexSurface): void {
  mkdirSync(path.dirname(surfaceFile(version)), { recursive: true });
  writeFileSync(surfaceFile(version), `${JSON.stringify(surface, undefined, 2)}\n`);
  console.log(`recorded ${version}`);
}

async function compare([oldest, newest]: readonly string[]): Promise<number> {
  const recorded = recordedSurfaces();
  const from = oldest ?? [...recorded.keys()].at(-1) ?? "0.166.0";
  const to = newest ?? (await newestOnNpm());
  if (to === undefined) throw new Error("npm does not report the newest version");
  const [before, after] = [recorded.get(from) ?? (await surfaceOf(from)), recorded.get(to) ?? (await surfaceOf(to))];
  const [gone, added] = [namesBeyond(before, after), namesBeyond(after, before)];
  console.log(`Codex ${from} → ${to}: ${added.length} names added, ${gone.length} removed`);
  for (const name of gone) console.log(`- ${name}`);
  for (const name of added) console.log(`+ ${name}`);
  for (const line of changedFields(await fieldsOf(from), await fieldsOf(to))) console.log(line);
  const known = [...recorded.values()];
  return added.some((name) => !known.some((surface) => !namesBeyond(after, surface).includes(name))) ? 1 : 0;
}

async function surfaceOf(version: string): Promise<CodexSurface> {
  const program = await publishedCodex(version);
  if (program === undefined) throw new Error(`Codex ${version} cannot be installed`);
  return codexSurface({ program });
}

type Fields = ReadonlyMap<string, ReadonlySet<string>>;

/** The field names of each type that a version generates. */
async function fieldsOf(version: string): Promise<Fields> {
  const folder = mkdtempSync("/var/tmp/codex-types-");
  try {
    const program = (await publishedCodex(version)) ?? "";
    await promisify(execFile)(program, ["app-server", "generate-ts", "--experimental", "--out", folder], {
      env: { ...process.env, CODEX_HOME: folder },
    });
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
      (name) => name.endsWith(".ts") && !name.endsWith("index.ts"),
    );
    return new Map(files.sort().map((file) => [file.replace(/\.ts$/, ""), fieldsIn(readFileSync(path.join(folder, file), "utf8"))]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function fieldsIn(text: string): ReadonlySet<string> {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
  return new Set([...code.matchAll(/"?\b([A-Za-z_]\w*)"?\??: /g)].map(([, name = ""]) => name));
}

/** Types that both versions have and that differ; those of only one version are reported by name above. */
function changedFields(before: Fields, after: Fields): string[] {
  return [...after].flatMap(([type, fields]) => {
    const old = before.get(type);
    if (!old) return [];
    const gone = [...old].filter((field) => !fields.has(field)).map((field) => `-${field}`);
    const added = [...fields].filter((field) => !old.has(field)).map((field) => `+${field}`);
    return gone.length + added.length === 0 ? [] : [`~ ${type}: ${[...gone, ...added].join(" ")}`];
  });
}
