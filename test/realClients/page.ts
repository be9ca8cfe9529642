import { KNOWN_CLIENTS } from "../../src/mcp/clientProfiles.js";
import type { RealClient } from "./client.js";
import { CHECKS, type CheckName, NOT_TRIED, type Verdicts } from "./verdicts.js";

/** What was seen of one client, as it is kept between runs. */
export interface SeenClient {
  readonly version: string;
  readonly day: string;
  readonly identity?: { readonly name: string; readonly revision: string };
  readonly verdicts?: Verdicts;
  /** Why it could not be run. */
  readonly notRun?: string;
}

/** By the client's id. */
export type Seen = Readonly<Record<string, SeenClient>>;

const PUBLISHED = { command: "npx", args: ["-y", "codex-mcpd"] };
/** The checks are shown in two tables, since one would be too wide to read. */
const TABLES: readonly (readonly CheckName[])[] = [
  ["tools", "shows", "reply", "error", "files", "answer"],
  ["question", "held", "later", "stop", "long", "left"],
];

/** docs/clients.md. */
export function clientsPage(clients: readonly RealClient[], seen: Seen): string {
  return `${[
    HEAD,
    "## What was seen",
    versionsTable(clients, seen),
    ...TABLES.map((checks) =>
      [
        checksTable(clients, seen, checks),
        checks
          .map((name) => `\`${name}\`: ${CHECKS[name]}`)
          .join("; ")
          .concat("."),
      ].join("\n\n"),
    ),
    `${DRIVER_REMARK}${clients.flatMap(({ title, remark }) => (remark === undefined ? [] : [` ${title}: ${remark}`])).join("")}`,
    "## Configuration",
    "As it was run, but for the command. `env` passes settings such as `OPENAI_API_KEY` where the client has a place for them.",
    ...clients.map(snippetText),
    "## What the server knows of clients",
    PROFILES_HEAD,
    profilesTable(),
  ].join("\n\n")}\n`;
}

const HEAD = `<!-- Written by \`npm run clients\`; the words are in test/realClients/page.ts. -->
# Clients

\`npm run clients\` installs each of these programs from the npm registry, gives it a scripted model, lets that model call the built server (engine \`native\`, whose model is scripted
too) on stdio, and writes down what the client passed back to its model. It takes about half an hour and is no part of \`npm test\`.

**What to set.** Nothing, for most: a call ends before its client's limit, with \`status: "running"\`, and \`codex-wait\` goes on. Whoever raises a client's limit starts the server with
\`--wait unlimited\`, and gets one long call. Where nobody can be asked, \`--approval-fallback hold\` lets the calling model put the question to its user and answer with \`codex-answer\`.`;

const DRIVER_REMARK = "The programs around the TypeScript SDKs and mcp-use say yes to questions, and show their model whole results.";

const PROFILES_HEAD = `The server looks at the name that a client gives itself (\`clientInfo\`), as a hint only: nothing that has to be safe depends on it. Whoever is not in the table is shown text and structured
content, waits 60 s and gets all events (\`--events\`, \`--wait\` and \`wait\` in a call say otherwise).`;

function versionsTable(clients: readonly RealClient[], seen: Seen): string {
  const rows = clients.map((client) => {
    const row = seen[client.id];
    const name = row?.identity ? `\`${row.identity.name}\`` : "–";
    return [client.title, row?.version ?? "–", name, row?.identity?.revision ?? "–", client.limit, row?.day ?? "not run"];
  });
  return table(["client", "version", "calls itself", "MCP", "its limit for a call (setting)", "seen"], rows);
}

function checksTable(clients: readonly RealClient[], seen: Seen, checks: readonly CheckName[]): string {
  const rows = clients.map((client) => [client.title, ...checks.map((check) => cell(client, seen[client.id], check))]);
  return table(["client", ...checks], rows);
}

function cell({ cannot }: RealClient, row: SeenClient | undefined, check: CheckName): string {
  if (!row?.verdicts) return `**not run**${row?.notRun === undefined ? "" : `: ${row.notRun}`}`;
  const { ok, note } = row.verdicts[check];
  if (ok) return note === "yes" ? "✓" : note === NOT_TRIED ? `**${note}**` : note;
  return `✗ ${cannot?.[check] ?? note}`;
}

function snippetText({ title, snippet }: RealClient): string {
  return `**${title}** (${snippet.place})\n\n\`\`\`${snippet.language}\n${snippet.text(PUBLISHED).trim()}\n\`\`\``;
}

function profilesTable(): string {
  const rows = KNOWN_CLIENTS.map(({ title, shows, waits, readsEvents, form, version, source }) => [
    title,
    shows,
    waits === true ? "as long as it takes" : `${waits} s`,
    readsEvents ? "yes" : "no",
    form,
    version,
    source,
  ]);
  return table(["client", "shows its model", "waits", "reads events", "form", "version", "source"], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((text) => text.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}
