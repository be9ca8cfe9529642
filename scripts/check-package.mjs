// Checks what npm would publish: builds, then checks the manifest against the files (publint) and the list of files.
import { execFileSync } from "node:child_process";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

execFileSync(process.execPath, ["scripts/build.mjs"]);
const { messages: all, pkg } = await publint({ strict: true });
// The console's files are for browsers; Node never loads them.
const messages = all.filter((message) => !JSON.stringify(message.args ?? {}).includes("/dist/console/"));
for (const message of messages) console.log(formatMessage(message, pkg));
const [{ files }] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
);
const stray = files.map(({ path }) => path).filter((path) => !/^(dist\/|README\.md|LICENSE|CHANGELOG\.md|package\.json)/.test(path));
if (stray.length > 0) console.log(`the package contains files that it should not: ${stray.join(", ")}`);
process.exitCode = messages.some(({ type }) => type === "error") || stray.length > 0 ? 1 : 0;
