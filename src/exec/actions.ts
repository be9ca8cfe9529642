/** What a command does, as far as its words show; in Codex's format. */
export type ParsedCommand =
  | { readonly type: "read"; readonly cmd: string; readonly name: string; readonly path: string }
  | { readonly type: "list_files"; readonly cmd: string; readonly path: string | null }
  | { readonly type: "search"; readonly cmd: string; readonly query: string | null; readonly path: string | null }
  | { readonly type: "unknown"; readonly cmd: string };

/** A change to one file; in Codex's format. */
export type FileChange =
  | { readonly type: "add"; readonly content: string }
  | { readonly type: "delete"; readonly content: string }
  | { readonly type: "update"; readonly unified_diff: string; readonly move_path: string | null };

/** Absolute path → its change. */
export type FileChanges = Readonly<Record<string, FileChange>>;
