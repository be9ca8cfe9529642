import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { ScriptedModel, type ScriptRequest } from "../../../src/engines/native/scripted/scriptedModel.js";
import { isRecord } from "../scenarios/scenario.js";

/** A realistic prompt, and the script that the model plays for it. */
export interface Scene {
  readonly folder: string;
  readonly prompt: string;
  readonly script: readonly string[];
  readonly sandbox?: "read-only" | "workspace-write";
  readonly policy?: "untrusted" | "on-request" | "never";
}

const ROUNDING = [
  "*** Begin Patch",
  "*** Update File: src/money.js",
  "@@",
  " export function toCents(amount) {",
  "-  return Math.floor(amount * 100);",
  "+  // 1.15 * 100 is 114.99999999999999.",
  "+  return Math.round(amount * 100);",
  " }",
  "*** End Patch",
].join("\\n");

const LOGGER = [
  "*** Begin Patch",
  "*** Update File: src/log.js",
  "@@",
  '-import { createLogger, transports } from "logger";',
  '+import { openLog } from "logger";',
  " ",
  "-export const log = createLogger({",
  "-  transports: [new transports.Console()],",
  "-});",
  '+export const log = openLog({ to: "stderr", level: process.env.LOG_LEVEL ?? "info" });',
  "*** Update File: package.json",
  "@@",
  '   "dependencies": {',
  '-    "logger": "^8.2.0"',
  '+    "logger": "^9.0.1"',
  "   }",
  "*** End Patch",
].join("\\n");

const SUMMARY = [
  "## Totals are right again",
  "",
  "`toCents` cut off instead of rounding: **1.15 × 100** is `114.99999999999999` in binary floating point.",
  "",
  "| amount | before | now |",
  "| --- | --- | --- |",
  "| 1.15 | 114 | 115 |",
  "| 8.20 | 819 | 820 |",
  "",
  "1. `src/money.js` rounds.",
  "2. All 14 tests pass; two of them failed before.",
  "",
  "```js",
  "toCents(1.15); // 115",
  "```",
].join("\\n");

export const ROUNDING_SCENE: Scene = {
  folder: "shop-api",
  prompt: "Invoice totals are sometimes one cent too low. Find out why and fix it.",
  sandbox: "workspace-write",
  policy: "never",
  script: [
    "!plan Find where cents are made|Fix the rounding|Run the tests",
    "!shell grep -rn 'toCents' src",
    "!shell node test/run.js",
    `!rawpatch ${ROUNDING}`,
    "!shell node test/run.js",
    `!usage 48210 1874 ${SUMMARY}`,
  ],
};

export const LOGGER_SCENE: Scene = {
  folder: "shop-api",
  prompt: "Upgrade the logger to version 9 and drop the old transport.",
  sandbox: "workspace-write",
  policy: "untrusted",
  script: [`!rawpatch ${LOGGER}`, "!say The logger is at version 9."],
};

export const PUBLISH_SCENE: Scene = {
  folder: "website",
  prompt: "Publish the release notes of 4.2.",
  sandbox: "workspace-write",
  policy: "on-request",
  script: ["!shell ls notes", "!shell git push --force origin HEAD:gh-pages && rm -rf dist/", "!say Published."],
};

export const SLOW_SCENE: Scene = {
  folder: "website",
  prompt: "Why does the landing page take four seconds on a phone?",
  sandbox: "workspace-write",
  policy: "never",
  script: ["!plan Build the page|Measure what it loads|Propose what to leave out", "!shell node measure.js", "!slow 4000 400"],
};

export const FAILED_SCENE: Scene = {
  folder: "infra",
  prompt: "Rotate the certificates of the staging cluster.",
  policy: "never",
  script: ["!shell cat certificates.txt", "!fail rate_limit_exceeded Rate limit reached for requests per day. Try again tomorrow."],
};

export const REVIEW = [
  "Two of these changes should not go out as they are.",
  "",
  "- [P1] The bucket becomes public — FOLDER/main.tf:4-6 (confidence 0.9)",
  "  `acl` is now `public-read`, so anyone can list and read the backups. Keep it `private` and give the job its own role.",
  "- [P2] Backups are kept for one day only — FOLDER/main.tf:9-9 (confidence 0.7)",
  "  The rule says 1 where the comment says 30 days.",
].join("\\n");

export const FORM_SCENE: Scene = {
  folder: "website",
  prompt: "Prepare the next release.",
  policy: "on-request",
  script: ["!call mcp__official__release {}", "!say Prepared."],
};

const FILES: Readonly<Record<string, string>> = {
  "shop-api/package.json": '{\n  "name": "shop-api",\n  "type": "module",\n  "dependencies": {\n    "logger": "^8.2.0"\n  }\n}\n',
  "shop-api/src/money.js": "export function toCents(amount) {\n  return Math.floor(amount * 100);\n}\n",
  "shop-api/src/log.js":
    'import { createLogger, transports } from "logger";\n\nexport const log = createLogger({\n  transports: [new transports.Console()],\n});\n',
  "shop-api/test/run.js": [
    'import { toCents } from "../src/money.js";',
    "let failed = 0;",
    "for (const [amount, cents] of [[1.15, 115], [8.2, 820], ...Array.from({ length: 12 }, (_, at) => [at, at * 100])]) {",
    "  const isRight = toCents(amount) === cents;",
    "  if (!isRight) failed++;",
    '  console.log((isRight ? "\\u001b[32m✓\\u001b[0m" : "\\u001b[31m✗\\u001b[0m") + " toCents(" + amount + ") is " + cents);',
    "}",
    'console.log(failed === 0 ? "\\u001b[1mall 14 passed\\u001b[0m" : "\\u001b[31m" + failed + " failed\\u001b[0m");',
    "process.exit(failed === 0 ? 0 : 1);",
  ].join("\n"),
  "website/notes/4.2.md": "# 4.2\n",
  "website/measure.js": [
    "let at = 0;",
    'const parts = ["index.html", "fonts/inter.woff2", "hero.mp4", "analytics.js", "app.js", "styles.css"];',
    "setInterval(() => {",
    '  console.log(String(++at).padStart(3) + "  " + parts[at % parts.length].padEnd(20) + ((at * 37) % 900) + " ms");',
    "}, 400);",
  ].join("\n"),
  "infra/certificates.txt": "staging.example.com  expires in 6 days\n",
  "infra/main.tf":
    'resource "bucket" "backups" {\n  name = "backups"\n\n  acl = "private"\n}\n\n# Thirty days.\nrule "expire" {\n  days = 30\n}\n',
};

/** The files of three projects. */
export async function furnishProjects(workspace: string): Promise<void> {
  for (const [name, text] of Object.entries(FILES)) {
    const file = path.join(workspace, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

/** A model that plays a script for each known prompt, so that prompts can be realistic. */
export class SceneModel {
  readonly #model = new ScriptedModel();
  readonly #scripts: ReadonlyMap<string, readonly string[]>;

  constructor(scenes: readonly Pick<Scene, "prompt" | "script">[]) {
    this.#scripts = new Map(scenes.map(({ prompt, script }) => [prompt, script]));
  }

  answer(request: ScriptRequest): ReturnType<ScriptedModel["answer"]> {
    const told: unknown = JSON.parse(JSON.stringify(request), (_, value: unknown) => this.#withScript(value));
    return this.#model.answer({ ...request, ...(isRecord(told) && told) });
  }

  #withScript(part: unknown): unknown {
    if (!isRecord(part) || part["type"] !== "input_text") return part;
    const text = String(part["text"]);
    const found = [...this.#scripts].find(([prompt]) => text.includes(prompt));
    return found ? { ...part, text: [text, ...found[1]].join("\n") } : part;
  }
}
