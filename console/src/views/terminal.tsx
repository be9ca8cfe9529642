import { memo } from "react";
import { terminalPieces } from "../lib/terminalText.js";

/** The output of a program, in its colours. */
export const Terminal = memo(function Terminal({ output, label }: { readonly output: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard
    // biome-ignore lint/a11y/useSemanticElements: it needs a name but is not a landmark
    <div className="terminal" tabIndex={0} role="group" aria-label={label}>
      <pre>
        {terminalPieces(output).map(({ text, style }, index) =>
          style === "" ? (
            text
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only ever added at the end
            <span key={index} className={style}>
              {text}
            </span>
          ),
        )}
      </pre>
    </div>
  );
});
