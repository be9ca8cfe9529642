// Writes docs/decisions/README.md, the list of all records. With --check it only checks whether it is up to date.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const FOLDER = "docs/decisions";
const PAGE = path.join(FOLDER, "README.md");
const HEAD = `# Decisions

Each record is half a page: context, decision, consequences. A record stays when a later one supersedes it, and names that one.

| | decision | |
|---|---|---|`;

const rows = readdirSync(FOLDER)
  .filter((name) => /^\d{4}-.*\.md$/.test(name))
  .sort()
  .map(row);
const wanted = `${[HEAD, ...rows].join("\n")}\n`;

if (!process.argv.includes("--check")) writeFileSync(PAGE, wanted);
else if (wanted !== readIfThere()) {
  console.error(`${PAGE} is out of date: run \`npm run generate\``);
  process.exitCode = 1;
}

function row(name: string): string {
  const text = readFileSync(path.join(FOLDER, name), "utf8");
  const [, number, title] = /^# (\d+)\. (.+)$/m.exec(text) ?? [];
  if (number === undefined || title === undefined || Number(name.slice(0, 4)) !== Number(number))
    throw new Error(`${name} does not begin with "# ${Number(name.slice(0, 4))}. Title"`);
  const successors = [...text.matchAll(/[Ss]uperseded by \[(\d+)\]/g)].map(([, successor]) => successor);
  return `| ${number} | [${title}](${name}) | ${successors.length > 0 ? `superseded by ${successors.join(", ")}` : ""} |`;
}

function readIfThere(): string | undefined {
  try {
    return readFileSync(PAGE, "utf8");
  } catch {
    return undefined;
  }
}
