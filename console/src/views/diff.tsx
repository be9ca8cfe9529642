import { memo, useMemo, useState } from "react";
import type { FileDiff } from "../../../src/api/schemas/common.js";
import { type DiffLine, diffLines } from "../lib/diffLines.js";
import { plural } from "../lib/formats.js";
import { visibleLine, visibleText } from "../lib/visibleText.js";

/** More lines are shown when somebody wants to see them. */
const FIRST_LINES = 300;
const KINDS = { add: "new", delete: "deleted", update: "changed" } as const;

/** The changes to one file. */
export const FileChange = memo(function FileChange({ change, isOpen }: { readonly change: FileDiff; readonly isOpen: boolean }) {
  const { path, kind, movedTo, diff, hasLineNumbers, added, removed, truncated } = change;
  const lines = useMemo(() => diffLines(diff), [diff]);
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? lines : lines.slice(0, FIRST_LINES);
  return (
    <details className="file" open={isOpen}>
      <summary>
        <span className="path">{visibleLine(path)}</span>
        {movedTo !== null && <span className="path"> → {visibleLine(movedTo)}</span>}
        <span className="quiet">{KINDS[kind]}</span>
        <span className="counts">
          <span className="plus">+{added}</span> <span className="minus">−{removed}</span>
        </span>
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <section className="diff" tabIndex={0} aria-label={`Changes to ${visibleLine(path)}`}>
        <table>
          <tbody>
            {shown.map((line, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a diff stay where they are
              <Line key={index} line={line} hasNumbers={hasLineNumbers} path={path} />
            ))}
          </tbody>
        </table>
      </section>
      {shown.length < lines.length && (
        <button type="button" onClick={() => setWhole(true)}>
          Show {plural(lines.length - shown.length, "more line")}
        </button>
      )}
      {truncated && <p className="quiet">The server cut this diff: it is longer than what is shown.</p>}
    </details>
  );
});

const SIGNS: Readonly<Record<DiffLine["kind"], string>> = { hunk: "", same: " ", added: "+", removed: "−", note: "" };

interface LineProps {
  readonly line: DiffLine;
  readonly hasNumbers: boolean;
  readonly path: string;
}

function Line({ line: { kind, text, before, after }, hasNumbers, path }: LineProps) {
  return (
    <tr className={`line-${kind}`} {...(after !== undefined && hasNumbers && { "data-place": `${path}:${after}` })}>
      <td className="number">{hasNumbers ? before : ""}</td>
      <td className="number">{hasNumbers ? after : ""}</td>
      <td className="sign">{SIGNS[kind]}</td>
      <td className="code">{visibleText(text)}</td>
    </tr>
  );
}
