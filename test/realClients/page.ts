import { KNOWN_CLIENTS } from "../../src/mcp/clientProfiles.js";
import type { RealClient, Way } from "./client.js";
import { CHECKS, type CheckName, NOT_TRIED, type Verdicts } from "./verdicts.js";

/** The results of one run of a client. */
export interface SeenRun {
  readonly version: string;
  readonly day: string;
  readonly identity?: { readonly name: string; readonly revision: string };
  readonly verdicts?: Verdicts;
  /** The reason why it could not be run. */
  readonly notRun?: string;
}

/** The results of one client on stdio and over HTTP, as they are kept between runs. */
export interface SeenClient extends SeenRun {
  readonly http?: SeenRun;
}

/** Results by the client's id. */
export type Seen = Readonly<Record<string, SeenClient>>;

const PUBLISHED = { command: "npx", args: ["-y", "codex-mcpd"] };
/** The checks have two tables, since one would be too wide to read. */
const TABLES: readonly (readonly CheckName[])[] = [
  ["tools", "shows", "reply", "error", "files", "answer"],
  ["question", "held", "later", "stop", "long", "left"],
];

/** The text of docs/clients.md. */
export function clientsPage(clients: readonly RealClient[], seen: Seen): string {
  return `${[
    HEAD,
    "## Results",
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
    "### Over HTTP",
    HTTP_HEAD,
    httpTable(clients, seen),
    `${DRIVER_REMARK}${clients.flatMap(({ title, remark }) => (remark === undefined ? [] : [` ${title}: ${remark}`])).join("")}`,
    "## Configuration",
    "The configurations of the runs, with the published command. `env` passes settings such as `OPENAI_API_KEY`, if the client supports it.",
    ...clients.map(snippetText),
    "## What the server knows about clients",
    PROFILES_HEAD,
    profilesTable(),
  ].join("\n\n")}\n`;
}

const HEAD = `<!-- Written by \`npm run clients\`; its texts are in test/realClients/page.ts. -->
# Clients

\`npm run clients\` installs each of these programs from the npm registry, gives it a scripted model, lets that model call the built server (engine \`native\`, whose model is scripted
too) on stdio, and records what the client passed to its model. It takes about half an hour and is not part of \`npm test\`.

**What to set.** For most clients, nothing: a call ends before its client's timeout, with \`status: "running"\`, and \`codex-wait\` continues to wait. If you raise a client's timeout, start the
server with \`--wait unlimited\` to get one long call. If the client cannot ask its user, \`--approval-fallback hold\` lets the calling model ask the user and answer with \`codex-answer\`.`;

const HTTP_HEAD = `The same conversations with \`codex-mcp-server serve --max-sandbox danger-full-access\`, over HTTP (\`npm run clients -- --http\`). \`later\`: the second run of the client uses
the server of the first, after \`attended_seconds\` (a client that sends \`DELETE\` need not wait). \`stop\`: if a client disconnects without notice, its turn ends after \`vanished_client_seconds\`. Questions are asked only under that ceiling; under the default one they are denied.`;

const HTTP_CHECKS: readonly CheckName[] = [
  "tools",
  "shows",
  "reply",
  "error",
  "files",
  "answer",
  "question",
  "held",
  "later",
  "stop",
  "long",
];

/** The clients that were run. */
function httpTable(clients: readonly RealClient[], seen: Seen): string {
  const run = clients.flatMap((client) => {
    const row = seen[client.id]?.http;
    return row ? [{ client, row }] : [];
  });
  const rows = run.map(({ client, row }) => [
    `${client.title} ${row.version}`,
    row.identity?.revision ?? "–",
    ...HTTP_CHECKS.map((check) => cell(client, row, { check, way: "http" })),
    row.day,
  ]);
  return table(["client", "MCP", ...HTTP_CHECKS, "seen"], rows);
}

const DRIVER_REMARK = "The programs around the TypeScript SDKs and mcp-use approve all questions, and show their model whole results.";

const PROFILES_HEAD = `The server uses a client's name (\`clientInfo\`) only as a hint: no security decision depends on it. A client that is not in the table gets text and structured content, a timeout of 60 s is
assumed, and it gets all events (\`--events\`, \`--wait\` and \`wait\` in a call override this).`;

function versionsTable(clients: readonly RealClient[], seen: Seen): string {
  const rows = clients.map((client) => {
    const row = seen[client.id];
    const name = row?.identity ? `\`${row.identity.name}\`` : "–";
    return [client.title, row?.version ?? "–", name, row?.identity?.revision ?? "–", client.limit, row?.day ?? "not run"];
  });
  return table(["client", "version", "calls itself", "MCP", "its limit for a call (setting)", "seen"], rows);
}

function checksTable(clients: readonly RealClient[], seen: Seen, checks: readonly CheckName[]): string {
  const rows = clients.map((client) => [client.title, ...checks.map((check) => cell(client, seen[client.id], { check, way: "stdio" }))]);
  return table(["client", ...checks], rows);
}

function cell({ cannot }: RealClient, row: SeenRun | undefined, { check, way }: { readonly check: CheckName; readonly way: Way }): string {
  if (!row?.verdicts) return `**not run**${row?.notRun === undefined ? "" : `: ${row.notRun}`}`;
  const limit = cannot?.[way]?.[check];
  if (limit !== undefined) return `✗ ${limit}`;
  const { ok, note } = row.verdicts[check];
  if (ok) return note === "yes" ? "✓" : note === NOT_TRIED ? `**${note}**` : note;
  return `✗ ${note}`;
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
