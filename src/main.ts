import { type CliCommand, parseCommand, workingDirectory } from "./cli/command.js";
import { helpText, usageText } from "./cli/help.js";
import { AppError, describe, errorCode, UsageError } from "./lib/errors.js";
import { VERSION } from "./lib/version.js";
import { serveStdio } from "./server/serveStdio.js";

/** Runs the command in argv and returns its exit code. Never rejects. */
export async function main(): Promise<number> {
  // A client that closed our stderr must not crash the server.
  process.stderr.on("error", () => {});
  try {
    return await run(parseCommand(process.argv.slice(2), process.env));
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(usageText(error.message));
      return 2;
    }
    process.stderr.write(`Error: ${error instanceof AppError ? error.message : inspectDefect(error)}\n`);
    return 1;
  }
}

async function run(command: CliCommand): Promise<number> {
  const here = () => ({ env: process.env, serverCwd: workingDirectory() });
  const exitAtOnce = (code: number) => process.exit(code);
  switch (command.kind) {
    case "help":
      await print(helpText());
      return 0;
    case "version":
      await print(`codex-mcp-server ${VERSION}\n`);
      return 0;
    case "doctor": {
      const { runDoctor } = await import("./cli/doctor.js");
      const { report, healthy } = await runDoctor({ ...here(), options: command.options }, { asJson: command.asJson });
      await print(report);
      return healthy ? 0 : 1;
    }
    case "token": {
      const { showToken } = await import("./cli/showToken.js");
      await print(showToken(process.env));
      return 0;
    }
    case "http": {
      const { serveHttp } = await import("./server/serveHttp.js");
      const { options, listen, opensConsole } = command;
      const opener = opensConsole && (await import("./cli/openConsole.js"));
      const found = await opener?.findConsole(listen);
      if (found !== undefined) {
        await print(`${found}\n`);
        opener?.openBrowser(found);
        return 0;
      }
      const context = { ...here(), options };
      const examine = async () => (await import("./cli/doctor.js")).examineAll(context);
      await serveHttp({ ...context, listen, exitAtOnce, examine, consoleServed: opener?.openBrowser });
      return 0;
    }
    case "stdio":
      await serveStdio({ ...here(), options: command.options, exitAtOnce });
      return 0;
  }
}

/** Resolves when the text was written: if the process exits earlier, a pipe loses the rest. */
function print(text: string): Promise<void> {
  process.stdout.on("error", () => {});
  return new Promise((resolve, reject) =>
    process.stdout.write(text, (error) => {
      // A reader such as `head` may leave when it has seen enough.
      if (!error || errorCode(error) === "EPIPE") resolve();
      else reject(new OutputFailed(`The output could not be written: ${describe(error)}`, { cause: error }));
    }),
  );
}

class OutputFailed extends AppError {
  readonly code = "output_failed";
}

function inspectDefect(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
