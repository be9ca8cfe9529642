import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { npm, ROOT } from "../processes/packedPackage.js";

/** The last version whose command line works without the inspector's web pages, on Node 20. */
const VERSION = "0.15.0";

/** The inspector's command line, kept between runs. Not a dependency of the project, because it brings a web server and many packages. */
export async function installInspector(): Promise<string> {
  const folder = path.join(ROOT, "node_modules", ".cache", "codex-mcpd", `inspector-${VERSION}`);
  const cli = path.join(folder, "node_modules", ".bin", "mcp-inspector-cli");
  if (existsSync(cli)) return cli;
  await mkdir(folder, { recursive: true });
  try {
    await npm(folder, [
      "install",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--prefix",
      folder,
      `@modelcontextprotocol/inspector-cli@${VERSION}`,
    ]);
  } catch (error) {
    throw new Error(`This test needs the MCP inspector ${VERSION} from the npm registry, which cannot be reached.`, { cause: error });
  }
  return cli;
}
