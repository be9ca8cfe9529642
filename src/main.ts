import { type CliCommand, parseCommand, UsageError } from "./cli/command.js";
import { AppError } from "./lib/errors.js";

/** argv → command → exit code; nothing else in the program ends the process. */
async function main(): Promise<number> {
  // A client that closed our stderr must not bring the server down.
  process.stderr.on("error", () => {});
  const { env, argv } = process;
  try {
    return await run(parseCommand(argv.slice(2), env));
  } catch (error) {
    if (error instanceof UsageError) {
      const { usageText } = await import("./cli/help.js");
      process.stderr.write(usageText(error.message));
      return 2;
    }
    process.stderr.write(`Error: ${error instanceof AppError ? error.message : error instanceof Error ? error.stack : String(error)}\n`);
    return 1;
  }
}

async function run(command: CliCommand): Promise<number> {
  switch (command.kind) {
    case "help": {
      const { helpText } = await import("./cli/help.js");
      await print(helpText());
      return 0;
    }
    case "version": {
      const { VERSION } = await import("./lib/version.js");
      await print(`codex-mcp-server ${VERSION}\n`);
      return 0;
    }
    case "doctor": {
      const { runDoctor } = await import("./cli/doctor.js");
      const { report, healthy } = await runDoctor({ options: command.options, env: process.env, serverCwd: process.cwd() });
      await print(report);
      return healthy ? 0 : 1;
    }
    case "stdio": {
      const { serveStdio } = await import("./cli/serve.js");
      await serveStdio({
        options: command.options,
        env: process.env,
        serverCwd: process.cwd(),
        report: (line) => process.stderr.write(`codex-mcp-server: ${line}\n`),
        exitAtOnce: (code) => process.exit(code),
      });
      return 0;
    }
  }
}

/** Resolves when the text has left: ending the process earlier would cut it off in a pipe. */
function print(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}

process.exit(await main());
