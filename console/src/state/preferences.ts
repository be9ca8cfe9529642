import { Signal } from "./signal.js";

export type Theme = "system" | "light" | "dark";

export interface Preferences {
  readonly theme: Theme;
  /** Single-key shortcuts. People who use dictation or have a tremor can turn them off. */
  readonly shortcuts: boolean;
  readonly notifications: boolean;
}

const KEY = "codex-mcpd-console";
const DEFAULTS: Preferences = { theme: "system", shortcuts: true, notifications: false };

export const preferences = new Signal<Preferences>(stored());
applyTheme(preferences.value.theme);

export function prefer(change: Partial<Preferences>): void {
  preferences.set({ ...preferences.value, ...change });
  applyTheme(preferences.value.theme);
  try {
    localStorage.setItem(KEY, JSON.stringify(preferences.value));
  } catch {
    // Without storage, the preference lasts until the page is closed.
  }
}

function stored(): Preferences {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return { ...DEFAULTS, ...(typeof kept === "object" ? kept : {}) };
  } catch {
    return DEFAULTS;
  }
}

function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
