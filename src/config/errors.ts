import { AppError } from "../lib/errors.js";

/** An invalid setting, wherever it was written: config.toml, a profile, the command line or a call. */
export class ConfigInvalid extends AppError {
  readonly code = "config_invalid";
  /** The path of the invalid setting, if it is a single one. */
  readonly place: readonly string[] | undefined;

  constructor(message: string, { place, ...options }: ErrorOptions & { readonly place?: readonly string[] } = {}) {
    super(message, options);
    this.place = place;
  }
}

/** An unknown profile. The message is Codex's own. */
export class ProfileNotFound extends ConfigInvalid {
  readonly #advice: string;

  constructor(name: string, known: readonly string[]) {
    super(`config profile \`${name}\` not found`);
    const written = known.length === 0 ? "There is none yet" : `There are: ${known.join(", ")}`;
    this.#advice = `A profile is a file NAME.config.toml in CODEX_HOME, or a table [profiles.NAME] in config.toml. ${written}.`;
  }

  override get advice(): string {
    return this.#advice;
  }
}

/** An argument of `-c` that is not `key=value`. */
export class OverrideMalformed extends AppError {
  readonly code = "override_malformed";
}

export class CodexHomeMissing extends AppError {
  readonly code = "codex_home_missing";
}

/** Runs `work`; an error about a setting becomes one line, prefixed with the setting's source. */
export function complainingAbout<T>(source: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    const advice = error.advice === undefined ? "" : `. ${error.advice}`;
    const complaint = `${error.message.trimEnd().replaceAll("\n", " ")}${advice}`;
    // The error of a file already names the file.
    throw new ConfigInvalid(complaint.startsWith(source) ? complaint : `${source}: ${complaint}`, { cause: error });
  }
}
