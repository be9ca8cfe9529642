import { useQuery } from "@tanstack/react-query";
import { memo, type ReactNode, useState } from "react";
import type { PlanSteps } from "../../../src/api/schemas/common.js";
import type { TimelineItem as Item } from "../../../src/api/schemas/items.js";
import { request } from "../api/requests.js";
import { clock, count, duration, money, plural } from "../lib/formats.js";
import { visibleLine, visibleText } from "../lib/visibleText.js";
import { Command, Patch, Reasoning, Said, SubAgent, ToolCall } from "./acts.js";
import { Findings } from "./findings.js";
import { Markdown } from "./markdown.js";
import { Trouble } from "./trouble.js";

type Of<Type extends Item["type"]> = Extract<Item, { type: Type }>;

interface ItemViewProps {
  readonly item: Item;
  readonly threadId: string;
  /** The thread's folder; null while it is not known. */
  readonly folder: string | null;
}

const NAMES: Readonly<Record<Item["type"], string>> = {
  userMessage: "You",
  agentMessage: "Agent",
  reasoning: "Thinking",
  command: "Command",
  patch: "Changes",
  toolCall: "Tool",
  subAgent: "Sub-agent",
  webSearch: "Web search",
  image: "Image",
  plan: "Plan",
  review: "Review",
  compaction: "Summary",
  notice: "Notice",
  turnSummary: "End of the turn",
};

/** One item of a thread. */
export const ItemView = memo(function ItemView({ item: given, threadId, folder }: ItemViewProps) {
  const [isWhole, setWhole] = useState(false);
  const whole = useQuery({
    queryKey: ["item", threadId, given.id],
    enabled: isWhole,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => request<Item>(`threads/${encodeURIComponent(threadId)}/items/${encodeURIComponent(given.id)}`, { signal }),
  });
  const item = whole.data ?? given;
  return (
    <article className={`item item-${item.type} is-${item.status}`} aria-label={NAMES[item.type]} data-item={item.id}>
      {item.at !== null && item.type !== "turnSummary" && (
        <time dateTime={item.at} className="item-time">
          {clock(item.at)}
        </time>
      )}
      {bodyOf(item, { threadId, folder })}
      {given.truncated && !whole.data && given.status === "running" && (
        <p className="quiet">The rest is shown when the answer is complete.</p>
      )}
      {given.truncated && !whole.data && given.status !== "running" && (
        <button type="button" onClick={() => setWhole(true)} disabled={whole.isFetching}>
          {whole.isFetching ? "Reading…" : "Truncated: show everything"}
        </button>
      )}
      <Trouble error={whole.error} />
    </article>
  );
});

function bodyOf(item: Item, { threadId, folder }: Omit<ItemViewProps, "item">): ReactNode {
  switch (item.type) {
    case "userMessage":
      return <Said text={item.text} images={item.images} />;
    case "agentMessage":
      return <Markdown text={item.text} />;
    case "reasoning":
      return <Reasoning item={item} />;
    case "command":
      return <Command item={item} />;
    case "patch":
      return <Patch item={item} folder={folder} />;
    case "toolCall":
      return <ToolCall item={item} />;
    case "subAgent":
      return <SubAgent item={item} />;
    case "webSearch":
      return <p>Searched the web: {visibleLine(item.query)}</p>;
    case "image":
      return (
        <p>
          Looked at <span className="path">{visibleLine(item.path)}</span>
        </p>
      );
    case "plan":
      return <Plan plan={item.plan} />;
    case "review":
      return <Review item={item} threadId={threadId} folder={folder} />;
    case "compaction":
      return <p className="quiet">The history was summarised. {visibleText(item.message)}</p>;
    case "notice":
      return <p className={`notice-${item.level}`}>{visibleText(item.text)}</p>;
    case "turnSummary":
      return <TurnSummary item={item} />;
  }
}

const MARKS = { pending: "○", in_progress: "◐", completed: "●" } as const;
const STEP_STATES = { pending: "to do", in_progress: "in progress", completed: "done" } as const;

export function Plan({ plan: { explanation, steps } }: { readonly plan: PlanSteps }) {
  return (
    <div className="plan">
      {explanation !== null && <p>{visibleText(explanation)}</p>}
      <ol>
        {steps.map(({ step, status }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no names, and two may read the same
          <li key={index} className={`step-${status}`}>
            <span aria-hidden="true">{MARKS[status]}</span> {visibleLine(step)}{" "}
            <span className="visually-hidden">({STEP_STATES[status]})</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

interface ReviewProps extends Omit<ItemViewProps, "item"> {
  readonly item: Of<"review">;
}

function Review({ item: { hint, text, findings, status }, ...place }: ReviewProps) {
  const first = findings[0]?.title;
  const beginning = text === null || first === undefined ? "" : beforeLineWith(text, first);
  return (
    <>
      <p className="review-head">
        <strong>Review</strong>
        <span>{visibleLine(hint) || "the changes"}</span>
        {status === "running" && <span className="busy">running</span>}
        {findings.length > 0 && <span className="quiet">{plural(findings.length, "finding")}</span>}
      </p>
      {beginning !== "" && <Markdown text={beginning} />}
      {findings.length > 0 ? <Findings findings={findings} {...place} /> : text !== null && <Markdown text={text} />}
    </>
  );
}

/** What a review says before its first finding. */
function beforeLineWith(text: string, title: string): string {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.includes(title));
  return lines.slice(0, Math.max(0, at)).join("\n").trim();
}

function TurnSummary({ item: { outcome, message, usage, costUsd, ms } }: { readonly item: Of<"turnSummary"> }) {
  const facts = [
    ms === null ? undefined : duration(ms),
    usage === null || usage.total === 0
      ? undefined
      : `${count(usage.input)} tokens in${usage.cachedInput > 0 ? ` (${count(usage.cachedInput)} cached)` : ""}, ${count(usage.output)} out`,
    costUsd === null ? undefined : money(costUsd),
  ];
  return (
    <>
      {message !== null && <p className="turn-failure">{visibleText(message)}</p>}
      <p className="turn-end">
        <span className={outcome === "completed" ? "good" : outcome === "failed" ? "bad" : "warn"}>{outcome}</span>
        {facts.map((fact) => fact && <span key={fact}>{fact}</span>)}
      </p>
    </>
  );
}
