/** How a client starts our server, or where it finds it. */
export type ServerEntry =
  | { readonly command: string; readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> }
  | { readonly url: string };

/** Where one run of a client happens. */
export interface ClientStage {
  /** The client's packages, installed. */
  readonly packages: string;
  readonly home: string;
  readonly workspace: string;
  readonly server: ServerEntry;
  /** Base address of the client's model, without `/v1`. */
  readonly model: string;
}

/** How a run is started. Files are written first; the commands of `before` run to their end. */
export interface ClientStart {
  readonly files?: Readonly<Record<string, string>>;
  readonly before?: readonly (readonly [string, ...string[]])[];
  readonly command: readonly [string, ...string[]];
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The configuration that people write, as it was run. */
export interface Snippet {
  /** Where it goes. */
  readonly place: string;
  readonly language: "json" | "toml" | "yaml" | "js" | "sh";
  text(server: ServerEntry): string;
}

/** A program that speaks MCP and that we did not write. */
export interface RealClient {
  /** What it is called on our command line and in its folder of the cache. */
  readonly id: string;
  readonly title: string;
  /** Pinned; the first one is the client. */
  readonly packages: readonly `${string}@${string}`[];
  /** Packages whose install scripts fetch or link the program itself. */
  readonly needsScripts?: boolean;
  /** What ends its calls, and the setting that moves it. */
  readonly limit: string;
  readonly snippet: Snippet;
  /** What a reader of the tables has to know of this run. */
  readonly remark?: string;
  /** What it cannot do, by check: it is shown, and is no failure of ours. */
  readonly cannot?: Readonly<Record<string, string>>;
  start(stage: ClientStage): ClientStart;
}

/** What a person would type; the model knows what to do. */
export const PROMPT = "Please do what you were told.";

/** A version as the pin says it. */
export function versionOf({ packages: [first] }: RealClient): string {
  return first?.slice(first.lastIndexOf("@") + 1) ?? "";
}
