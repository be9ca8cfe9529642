import { useState } from "react";
import { clock, pathFrom } from "../lib/formats.js";
import { visibleLine } from "../lib/visibleText.js";
import { threadHref } from "../state/route.js";
import { type SettledApproval, settledApprovals } from "../state/serverWatch.js";
import { useSignal } from "../state/signal.js";

/** The questions of a thread that were settled elsewhere while its page is shown: their cards are gone, with what was typed into them. */
export function SettledElsewhere({ threadId }: { readonly threadId: string }) {
  const [before] = useState(() => new Set(settledApprovals.value.map(({ approval }) => approval.id)));
  const settled = useSignal(settledApprovals).filter(
    ({ approval, isOwn }) => approval.threadId === threadId && !isOwn && !before.has(approval.id),
  );
  return (
    <div role="status" {...(settled.length > 0 && { className: "asked" })}>
      {settled.length > 0 && (
        <ul className="settled" aria-label="Settled elsewhere">
          {settled.slice(0, MOST_SHOWN).map((each) => (
            <SettledLine key={each.approval.id} {...each} />
          ))}
        </ul>
      )}
    </div>
  );
}

const MOST_SHOWN = 3;

const DECISIONS = {
  approved: "approved",
  approvedForSession: "approved for the session",
  approvedPrefix: "approved, with its prefix",
  denied: "denied",
  answered: "answered",
  abort: "denied, and the turn stopped",
} as const;

/** A settled question, the decision and who made it. */
export function SettledLine({ approval, settlement: { decision, by, who, at } }: SettledApproval) {
  const what =
    approval.command?.commandText ??
    approval.form?.message ??
    approval.patch?.changes.map(({ path }) => pathFrom(approval.cwd, path)).join(", ") ??
    "";
  return (
    <li>
      <span className="quiet">{clock(at)}</span>{" "}
      <a href={threadHref(approval.threadId)}>{visibleLine(what).slice(0, 160) || "a question"}</a>{" "}
      <span className={decision === "denied" || decision === "abort" ? "bad" : "good"}>{DECISIONS[decision]}</span>{" "}
      <span className="quiet">
        {who === null ? "" : `by ${visibleLine(who)} `}({by})
      </span>
    </li>
  );
}
