import { memo, useMemo, useState } from "react";
import type { FileDiff } from "../../../src/api/schemas/common.js";
import { type DiffLine, diffLines } from "../lib/diffLines.js";
import { pathFrom, plural } from "../lib/formats.js";
import { visibleLine, visibleText } from "../lib/visibleText.js";

/** A button shows further lines. */
const FIRST_LINES = 300;
const KINDS = { add: "new", delete: "deleted", update: "changed" } as const;

interface FileChangeProps {
  readonly change: FileDiff;
  readonly isOpen: boolean;
  /** Paths inside it are shown relative to it. */
  readonly folder: string | null;
}

/** The changes to one file. */
export const FileChange = memo(function FileChange({ change, isOpen, folder }: FileChangeProps) {
  const { path, kind, movedTo, diff, hasLineNumbers, added, removed, truncated } = change;
  const lines = useMemo(() => shownLines(diff, hasLineNumbers), [diff, hasLineNumbers]);
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? lines : lines.slice(0, FIRST_LINES);
  return (
    <details className="file" open={isOpen}>
      <summary>
        <span className="path" title={path}>
          {visibleLine(pathFrom(folder, path))}
        </span>
        {movedTo !== null && <span className="path"> → {visibleLine(pathFrom(folder, movedTo))}</span>}
        <span className="quiet">{KINDS[kind]}</span>
        <span className="counts">
          <span className="plus">+{added}</span> <span className="minus">−{removed}</span>
        </span>
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard */}
      {/* biome-ignore lint/a11y/useSemanticElements: it needs a name but is not a landmark */}
      <div className="diff" tabIndex={0} role="group" aria-label={`Changes to ${visibleLine(path)}`}>
        <table>
          <tbody>
            {shown.map((line, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a diff never change their order
              <Line key={index} line={line} hasNumbers={hasLineNumbers} path={path} />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < lines.length && (
        <button type="button" onClick={() => setWhole(true)}>
          Show {plural(lines.length - shown.length, "more line")}
        </button>
      )}
      {truncated && <p className="quiet">The server truncated this diff.</p>}
    </details>
  );
});

/** Without known line numbers the heads of the hunks mean nothing, so only the gap between two hunks is shown. */
function shownLines(diff: string, hasNumbers: boolean): readonly DiffLine[] {
  const lines = diffLines(diff);
  if (hasNumbers) return lines;
  return lines.flatMap((line, at) => (line.kind !== "hunk" ? line : at === 0 ? [] : { ...line, text: "⋯" }));
}

const SIGNS: Readonly<Record<DiffLine["kind"], string>> = { hunk: "", same: " ", added: "+", removed: "−", note: "" };

interface LineProps {
  readonly line: DiffLine;
  readonly hasNumbers: boolean;
  readonly path: string;
}

function Line({ line: { kind, text, before, after }, hasNumbers, path }: LineProps) {
  return (
    <tr className={`line-${kind}`} {...(after !== undefined && hasNumbers && { "data-place": `${path}:${after}` })}>
      {hasNumbers && <td className="number">{before}</td>}
      {hasNumbers && <td className="number">{after}</td>}
      <td className="sign">{SIGNS[kind]}</td>
      <td className="code">{visibleText(text)}</td>
    </tr>
  );
}
