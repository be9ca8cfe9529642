import { Signal, useSignal } from "./signal.js";

/** What was typed and not sent, by place. Kept while other pages are shown, until the tab is closed or reloaded. */
const drafts = new Map<string, Signal<string>>();

/** The text of a field, which outlives the page that shows the field. */
export function useDraft(place: string): readonly [text: string, setText: (text: string) => void] {
  const draft = drafts.get(place) ?? new Signal("");
  drafts.set(place, draft);
  return [useSignal(draft), (text) => draft.set(text)];
}

const forms = new Map<string, FormData>();

/** What was filled into the form of a question. */
export function draftOfForm(approvalId: string): FormData | undefined {
  return forms.get(approvalId);
}

/** Keeps it; without content, forgets it. */
export function keepForm(approvalId: string, content: FormData | undefined): void {
  if (content) forms.set(approvalId, content);
  else forms.delete(approvalId);
}
