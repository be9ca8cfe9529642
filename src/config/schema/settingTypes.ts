/** Settings as written: nested tables of plain values, from TOML or JSON. */
export type ConfigTree = { readonly [key: string]: unknown };

/** The schema language of the settings. Validation, docs and path handling all use it. */
export type ConfigType =
  | { readonly kind: "text" }
  /** A file or folder; relative ones are resolved from the file they were written in. */
  | { readonly kind: "path" }
  | { readonly kind: "flag" }
  | { readonly kind: "integer"; readonly width: IntegerWidth; readonly atLeast?: number }
  | { readonly kind: "float"; readonly atLeast?: number }
  | Choice
  | { readonly kind: "list"; readonly of: ConfigType }
  /** Keys are names chosen by the user; `key` stands for them in the docs. */
  | { readonly kind: "map"; readonly key: string; readonly of: ConfigType }
  | TableType
  | { readonly kind: "anything"; readonly rule?: (value: unknown) => string | undefined };

export interface Choice {
  readonly kind: "choice";
  readonly values: readonly string[];
  /** Accepted too, but not named in errors. */
  readonly unlisted?: readonly string[];
  /** Values that have content. Such a value is written as a table whose only key is the value. */
  readonly withContent?: readonly string[];
}

export interface TableType {
  readonly kind: "table";
  readonly fields: Settings;
  /** The type of keys that are not in `fields`. Without it, such keys are not checked, only reported as unknown. */
  readonly others?: ConfigType;
  readonly required: readonly string[];
  /** Checks a table whose fields are each valid; returns the error, or undefined. */
  readonly rule: ((table: ConfigTree) => string | undefined) | undefined;
}

/** Named as in Codex's error messages. */
export type IntegerWidth = "u16" | "u64" | "usize" | "i64";

/** `planned`: read and checked, takes effect in a later version. `inert`: accepted, never takes effect. */
export type SettingStatus = "active" | "planned" | "inert";

export interface Setting {
  readonly type: ConfigType;
  readonly status: SettingStatus;
  /** Empty for keys that are only listed in the docs. */
  readonly about: string;
  readonly default: string | undefined;
}

export type Settings = Readonly<Record<string, Setting>>;

export interface SettingGroup {
  readonly title: string;
  readonly intro?: string;
  readonly settings: Settings;
}

export const text: ConfigType = { kind: "text" };
export const filePath: ConfigType = { kind: "path" };
export const flag: ConfigType = { kind: "flag" };
export const anything: ConfigType = { kind: "anything" };

export function integer(width: IntegerWidth, limits: { atLeast?: number } = {}): ConfigType {
  return { kind: "integer", width, ...limits };
}

export function float(limits: { atLeast?: number } = {}): ConfigType {
  return { kind: "float", ...limits };
}

export function choice(values: readonly string[], also: Omit<Choice, "kind" | "values"> = {}): ConfigType {
  return { kind: "choice", values, ...also };
}

export function listOf(of: ConfigType): ConfigType {
  return { kind: "list", of };
}

export function mapOf(key: string, of: ConfigType): ConfigType {
  return { kind: "map", key, of };
}

export function table(fields: Settings, also: { required?: readonly string[]; rule?: TableType["rule"] } = {}): TableType {
  return { kind: "table", fields, required: also.required ?? [], rule: also.rule };
}

export function active(type: ConfigType, about: string, defaultText?: string): Setting {
  return { type, status: "active", about, default: defaultText };
}

export function planned(type: ConfigType, about: string, defaultText?: string): Setting {
  return { type, status: "planned", about, default: defaultText };
}

export function inert(type: ConfigType, about: string, defaultText?: string): Setting {
  return { type, status: "inert", about, default: defaultText };
}

/** Keys that are accepted with any value and ignored. */
export function allInert(...keys: readonly string[]): Settings {
  return Object.fromEntries(keys.map((key) => [key, inert(anything, "")]));
}
