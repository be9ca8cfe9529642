/** How a client starts our server, or the address of a running one. */
export type ServerEntry =
  | { readonly command: string; readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> }
  | { readonly url: string };

/** The place of one run of a client. */
export interface ClientStage {
  /** The folder with the client's installed packages. */
  readonly packages: string;
  readonly home: string;
  readonly workspace: string;
  readonly server: ServerEntry;
  /** Base address of the client's model, without `/v1`. */
  readonly model: string;
}

/** How a run is started. The files are written first; then the commands of `before` run one after the other. */
export interface ClientStart {
  readonly files?: Readonly<Record<string, string>>;
  readonly before?: readonly (readonly [string, ...string[]])[];
  readonly command: readonly [string, ...string[]];
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The configuration that users write, as it was used. */
export interface Snippet {
  /** The file that it belongs to. */
  readonly place: string;
  readonly language: "json" | "toml" | "yaml" | "js" | "sh";
  text(server: ServerEntry): string;
}

/** How clients reach the server: as a program that they start, or at an address. */
export type Way = "stdio" | "http";

/** A third-party program that speaks MCP. */
export interface RealClient {
  /** Its name on our command line and in its cache folder. */
  readonly id: string;
  readonly title: string;
  /** Pinned packages; the first one is the client. */
  readonly packages: readonly `${string}@${string}`[];
  /** Packages whose install scripts fetch or link the program itself. */
  readonly needsScripts?: boolean;
  /** The limit that ends its calls, and the setting that changes it. */
  readonly limit: string;
  readonly snippet: Snippet;
  /** A remark for readers of the tables. */
  readonly remark?: string;
  /**
   * Checks that the client cannot pass for reasons of its own, by transport: they are shown, even after a run that passed by lucky timing, and do
   * not fail our tests.
   */
  readonly cannot?: Readonly<Partial<Record<Way, Readonly<Record<string, string>>>>>;
  start(stage: ClientStage): ClientStart;
}

/** What a user would type; the scripted model has its own steps. */
export const PROMPT = "Please do what you were told.";

/** The version in a pin. */
export function versionOf({ packages: [first] }: RealClient): string {
  return first?.slice(first.lastIndexOf("@") + 1) ?? "";
}
