import path from "node:path";
import type { ApprovalDecision, ApprovalSubject } from "../../../approvals/model.js";
import type { FileChanges } from "../../../exec/actions.js";
import type { Fields } from "../../../lib/fields.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { asFields, asList, asText, asTexts, nonEmptyText } from "../appServer/read.js";
import { commandWords, parsedCommands, readChanges } from "./actionItems.js";
import type { OpenItem, OpenItems } from "./turnState.js";

/** The meaning of an app-server request: a question to ask, or a response that is known without asking. */
export type ServerReaction =
  | { readonly kind: "ask"; readonly subject: ApprovalSubject }
  | { readonly kind: "answer"; readonly result: unknown }
  | { readonly kind: "refuse"; readonly message: string };

export interface QuestionContext {
  readonly items: OpenItems;
  readonly settings: ThreadSettings;
  /** The name of the asking agent, when it is not the thread's own. */
  readonly asker?: string | undefined;
}

/** How one kind of request becomes a question, and how the decision becomes the response. */
export interface QuestionKind {
  read(params: Fields, context: QuestionContext): ServerReaction;
  answer(decision: ApprovalDecision, params: Fields): unknown;
}

/**
 * Nothing the app-server asks about is known to stay in the sandbox: after approval, a command that the sandbox stops may run again outside
 * it without another question, even under `untrusted`.
 */
const LEAVES_SANDBOX = { staysInSandbox: false, needsPerson: false } as const;
export const NEEDS_PERSON = { staysInSandbox: false, needsPerson: true } as const;

export const commandQuestion: QuestionKind = {
  read(params, { items, settings }: QuestionContext): ServerReaction {
    const about = { ...asFields(items.find(params["itemId"])?.item), ...said(params) };
    const line = asText(about["command"]);
    const prefix = asTexts(params["proposedExecpolicyAmendment"]);
    const reason = reasonOf(params);
    return {
      kind: "ask",
      subject: {
        kind: "command",
        callId: asText(params["itemId"]),
        ...(reason === undefined ? {} : { reason }),
        ...LEAVES_SANDBOX,
        command: commandWords(line),
        commandText: line,
        cwd: nonEmptyText(about["cwd"]) ?? settings.cwd,
        parsed: parsedCommands(about["commandActions"]),
        ...(prefix.length === 0 ? {} : { proposedPrefix: prefix }),
      },
    };
  },
  answer: (decision) => ({ decision: approvalWord(decision) }),
};

/**
 * Approving a prefix allows only this command for this session: Codex would write the prefix into the user's rules, permanently and for
 * every program that reads them.
 */
function approvalWord({ kind }: ApprovalDecision): string {
  switch (kind) {
    case "approved":
      return "accept";
    case "approvedForSession":
    case "approvedPrefix":
      return "acceptForSession";
    case "abort":
      return "cancel";
    case "denied":
    case "answered":
      return "decline";
  }
}

/** The request's own fields take precedence over the item's. */
function said(params: Fields): OpenItem["item"] {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null && value !== undefined));
}

function reasonOf(params: Fields): string | undefined {
  const { host, protocol } = asFields(params["networkApprovalContext"]);
  const network = nonEmptyText(host) === undefined ? undefined : `it wants to reach ${asText(host)} (${asText(protocol)})`;
  const permissions = permissionsInWords(params["additionalPermissions"]);
  const reasons = [nonEmptyText(params["reason"]), network, permissions && `it wants to ${permissions}`];
  return reasons.filter((reason) => reason !== undefined).join("; ") || undefined;
}

/** The request only names an item; the changes are in the item. */
export const patchQuestion: QuestionKind = {
  read(params, { items, settings }) {
    const open = items.find(params["itemId"]);
    if (open?.item["type"] !== "fileChange") return { kind: "refuse", message: "the change to approve is not known here" };
    const reason = nonEmptyText(params["reason"]);
    const grantRoot = nonEmptyText(params["grantRoot"]);
    const changes = readChanges(open.item["changes"]);
    return {
      kind: "ask",
      subject: {
        kind: "patch",
        callId: asText(params["itemId"]),
        ...(reason === undefined ? {} : { reason }),
        ...LEAVES_SANDBOX,
        ...(grantRoot === undefined ? {} : { grantRoot, widensSandbox: true }),
        changes,
        ...outsideOf(changes, settings.cwd),
      },
    };
  },
  answer: (decision) => ({ decision: approvalWord(decision) }),
};

/** Compares by name; Codex resolves links itself. */
function outsideOf(changes: FileChanges, cwd: string): { readonly outside?: Record<string, string> } {
  const files = Object.entries(changes).flatMap(([file, change]) => [file, (change.type === "update" && change.move_path) || file]);
  const isOutside = (file: string) => /^\.\.(?:\/|$)/.test(path.relative(cwd, path.resolve(cwd, file)));
  const outside = files.filter(isOutside).map((file) => [file, file] as const);
  return outside.length > 0 ? { outside: Object.fromEntries(outside) } : {};
}

const SCHEMA = {
  type: "object",
  properties: {
    scope: {
      type: "string",
      title: "Allow it",
      description: "For how long.",
      enum: ["turn", "session"],
      enumNames: ["Allow for this turn", "Allow for this session"],
      default: "turn",
    },
  },
};

/** The agent asks for a wider sandbox. It gets everything it asked for, or nothing. */
export const permissionQuestion: QuestionKind = {
  read(params, { settings }) {
    const wanted = permissionsInWords(params["permissions"]);
    if (wanted === undefined || settings.approvalPolicy === "never") return { kind: "answer", result: NOTHING };
    const reason = nonEmptyText(params["reason"]);
    return {
      kind: "ask",
      subject: {
        kind: "form",
        callId: asText(params["itemId"]),
        ...(reason === undefined ? {} : { reason }),
        ...NEEDS_PERSON,
        widensSandbox: true,
        server: "codex",
        message: `The agent asks for more than its sandbox allows: ${wanted}${reason === undefined ? "" : ` (${reason})`}`,
        requestedSchema: SCHEMA,
      },
    };
  },
  answer(decision, { permissions }) {
    const scope = scopeOf(decision);
    if (scope === undefined) return NOTHING;
    const granted = Object.entries(asFields(permissions)).filter(([, value]) => value !== null);
    return { permissions: Object.fromEntries(granted), scope };
  },
};

const NOTHING = { permissions: {}, scope: "turn" };

function scopeOf(decision: ApprovalDecision): "turn" | "session" | undefined {
  switch (decision.kind) {
    case "approved":
      return "turn";
    case "approvedForSession":
      return "session";
    case "answered":
      return decision.content["scope"] === "session" ? "session" : "turn";
    case "approvedPrefix":
    case "denied":
    case "abort":
      return undefined;
  }
}

/** The requested permissions in words; undefined when there are none. */
function permissionsInWords(profile: unknown): string | undefined {
  const { network, fileSystem } = asFields(profile);
  const words = [...(asFields(network)["enabled"] === true ? ["use the network"] : []), ...placesInWords(asFields(fileSystem))];
  return words.length === 0 ? undefined : words.join("; ");
}

/** Newer versions list entries, and repeat them as the older lists. */
function placesInWords({ entries, read, write }: Fields): string[] {
  if (asList(entries).length > 0) return asList(entries).map((entry) => entryInWords(asFields(entry)));
  return [...asTexts(read).map((place) => `read ${place}`), ...asTexts(write).map((place) => `write ${place}`)];
}

function entryInWords({ access, path: place }: Fields): string {
  return `${nonEmptyText(access) ?? "use"} ${nonEmptyText(asFields(place)["path"]) ?? JSON.stringify(place)}`;
}
