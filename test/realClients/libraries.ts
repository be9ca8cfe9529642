import { readFileSync } from "node:fs";
import path from "node:path";
import type { ClientStage, ClientStart, RealClient, Snippet } from "./client.js";

/** A limit of the official SDKs, which clients built on them have too. */
const SDK_LIMIT = "60 s (`timeout` of the call, ms)";

/** Pinned separately: newer versions need packages that were not available, and npm searched for another solution for many minutes. */
const LANGGRAPH_SDK = "@langchain/langgraph-sdk@1.12.4";

const OWN_SERVER = "each call has a server of its own";
const OWN_SESSION = "each call is a session of its own, which keeps its threads for `attended_seconds`";

/** Libraries that offer our tools to a model, each in a small program (`drivers/`). */
export const LIBRARIES: readonly RealClient[] = [
  library("sdk1", "TypeScript SDK 1.x", ["@modelcontextprotocol/sdk@1.32.2"], SDK_LIMIT),
  library("sdk2", "TypeScript SDK 2.x", ["@modelcontextprotocol/client@2.4.0"], SDK_LIMIT),
  {
    ...library("inspector", "MCP Inspector, command line", ["@modelcontextprotocol/inspector@2.12.0"], SDK_LIMIT),
    snippet: { place: "a shell", language: "sh", text: inspectorLine },
    cannot: {
      stdio: { held: OWN_SERVER, long: OWN_SERVER },
      http: { reply: OWN_SESSION, error: OWN_SESSION, held: OWN_SESSION },
    },
  },
  library("agents", "OpenAI Agents SDK", ["@openai/agents@0.20.0", "openai@7.53.0", "zod@4.6.7"], "60 s (`timeout`, ms)"),
  library("aisdk", "AI SDK", ["@ai-sdk/mcp@2.0.96", "ai@7.0.169", "@ai-sdk/openai-compatible@3.0.90", "zod@4.6.7"], "none"),
  library(
    "langchain",
    "LangChain adapters",
    [
      "@langchain/mcp-adapters@1.1.4",
      "langchain@1.5.14",
      "@langchain/openai@1.6.0",
      "@langchain/core@1.2.13",
      "@langchain/langgraph@1.4.18",
      LANGGRAPH_SDK,
    ],
    "60 s (`defaultToolTimeout`, ms)",
  ),
  library("mastra", "Mastra", ["@mastra/mcp@2.0.0", "@mastra/core@1.71.0", "zod@4.6.7"], "60 s (`timeout`, ms)"),
  library(
    "mcpuse",
    "mcp-use",
    [
      "mcp-use@1.34.6",
      "@langchain/core@1.2.13",
      "langchain@1.5.14",
      "@langchain/openai@1.6.0",
      "@langchain/langgraph@1.4.18",
      LANGGRAPH_SDK,
    ],
    SDK_LIMIT,
  ),
];

/** The drivers; the caller copies them to the packages. */
export const DRIVERS = path.resolve("test/realClients/drivers");

function library(id: string, title: string, packages: RealClient["packages"], limit: string): RealClient {
  return { id, title, packages, limit, snippet: codeSnippet(id), start: (stage) => startDriver(id, stage) };
}

function startDriver(id: string, { packages, server, model }: ClientStage): ClientStart {
  return { command: ["node", `${packages}/${id}.mjs`], env: { CLIENT_RUN: JSON.stringify({ server, model }) } };
}

/** The lines of the driver with the server's command, as users write them. */
function codeSnippet(id: string): Snippet {
  return {
    place: "code",
    language: "js",
    text(server) {
      const [, lines = ""] = /\/\/ snippet\n([\s\S]*?)\n *\/\/ end/.exec(readFileSync(`${DRIVERS}/${id}.mjs`, "utf8")) ?? [];
      if ("url" in server) return "";
      return lines
        .replace(/^ */, "")
        .replace("server.command", JSON.stringify(server.command))
        .replace("server.args", JSON.stringify(server.args).replace(",", ", "))
        .replace(", env: server.env", "");
    },
  };
}

function inspectorLine(server: Parameters<Snippet["text"]>[0]): string {
  const target = "url" in server ? `${server.url} --transport http` : [server.command, ...server.args].join(" ");
  return `npx -y @modelcontextprotocol/inspector --cli ${target} --method tools/list`;
}
