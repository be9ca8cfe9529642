import { AppError } from "../../lib/errors.js";
import { forbiddenRefusal } from "./assess.js";
import { openBashReader } from "./bash.js";
import { hidesItsScript } from "./dangerous.js";
import { loadRules } from "./rules.js";

/** A rule of the user's forbids the command, whoever wants it and whatever else would allow it. */
export class CommandForbidden extends AppError {
  readonly code = "command_forbidden";
}

/** For a command that nobody is asked about. Throws `CommandForbidden`, also when it cannot be told what a script would run. */
export async function checkForbidden(argv: readonly string[], { codexHome }: { readonly codexHome: string }): Promise<void> {
  const { rules } = loadRules(codexHome);
  if (!rules.some(({ decision }) => decision === "forbidden")) return;
  const parser = await openBashReader(argv);
  const refusal = forbiddenRefusal({ argv, rules, parser });
  if (refusal !== undefined) throw new CommandForbidden(refusal);
  if (hidesItsScript(argv, parser))
    throw new CommandForbidden(
      "The command is rejected: rules forbid some commands, and its script cannot be read to see whether it runs one.",
    );
}
