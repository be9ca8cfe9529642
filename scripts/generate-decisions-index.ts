// Writes docs/decisions/README.md, the list of all records. With --check it only checks whether it is up to date, whether every decision that a
// file names has a record, and whether every record has its three parts.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const FOLDER = "docs/decisions";
const PAGE = path.join(FOLDER, "README.md");
const HEAD = `# Decisions

Each record is half a page: context, decision, consequences. A record stays when a later one supersedes it, and names that one.
A new record gets the number after the highest. Numbers without a record were reserved and never used; they stay free.

| | decision | |
|---|---|---|`;

/** "decision 9", "decisions 17 and 65", and the file names in links. */
const NAMED = /\b[Dd]ecisions? (?<numbers>\d+(?:(?:,| and) \d+)*)|(?<file>\b\d{4}-[a-z0-9-]+\.md)/g;

/** The three parts of a record, each at the beginning of a paragraph. */
const PARTS: Readonly<Record<string, RegExp>> = {
  context: /^(?:\*\*|## )(?:Context|Question)\b/m,
  decision: /^(?:\*\*|## )Decision\b/m,
  consequences: /^(?:\*\*|## )Consequences\b/m,
};

const records = readdirSync(FOLDER)
  .filter((name) => /^\d{4}-.*\.md$/.test(name))
  .sort();
const wanted = `${[HEAD, ...records.map(row)].join("\n")}\n`;

if (process.argv.includes("--check")) check();
else writeFileSync(PAGE, wanted);

function check(): void {
  const complaints = [...missingRecords(), ...missingParts()];
  if (wanted !== readIfThere()) complaints.push(`${PAGE} is out of date: run \`npm run generate\``);
  for (const complaint of complaints) console.error(complaint);
  process.exitCode = complaints.length > 0 ? 1 : 0;
}

function missingParts(): string[] {
  return records.flatMap((name) => {
    const text = readFileSync(path.join(FOLDER, name), "utf8");
    return Object.entries(PARTS).flatMap(([part, pattern]) => (pattern.test(text) ? [] : [`${path.join(FOLDER, name)} has no ${part}`]));
  });
}

function missingRecords(): string[] {
  const files = execFileSync("git", ["ls-files", "*.md", "*.ts", "*.tsx", "*.mjs"], { encoding: "utf8" }).split("\n").filter(Boolean);
  return files.flatMap((file) => {
    const named = [...readFileSync(file, "utf8").matchAll(NAMED)].flatMap(
      ({ groups = {} }) => groups["file"] ?? numbersIn(groups["numbers"]),
    );
    return named.filter((name) => !isRecord(name)).map((name) => `${file} names decision ${name}, which has no record`);
  });
}

function numbersIn(text = ""): string[] {
  return text.match(/\d+/g) ?? [];
}

/** Whether there is a record with this number or file name. */
function isRecord(name: string): boolean {
  return name.endsWith(".md") ? records.includes(name) : records.some((record) => Number(record.slice(0, 4)) === Number(name));
}

function row(name: string): string {
  const text = readFileSync(path.join(FOLDER, name), "utf8");
  const [, number, title] = /^# (\d+)\. (.+)$/m.exec(text) ?? [];
  if (number === undefined || title === undefined || Number(name.slice(0, 4)) !== Number(number))
    throw new Error(`${name} does not begin with "# ${Number(name.slice(0, 4))}. Title"`);
  const later = [
    laterRecords("superseded by", text, /^Superseded by \[(\d+)\]/gm),
    laterRecords("in part superseded by", text, /is superseded by \[(\d+)\]/g),
    laterRecords("amended by", text, /^Amended by \[(\d+)\]/gm),
  ];
  return `| ${number} | [${title}](${name}) | ${later.filter(Boolean).join("; ")} |`;
}

function laterRecords(how: string, text: string, pattern: RegExp): string {
  const numbers = [...text.matchAll(pattern)].map(([, found]) => found);
  return numbers.length > 0 ? `${how} ${numbers.join(", ")}` : "";
}

function readIfThere(): string | undefined {
  try {
    return readFileSync(PAGE, "utf8");
  } catch {
    return undefined;
  }
}
