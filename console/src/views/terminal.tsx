import { memo } from "react";
import { terminalPieces } from "../lib/terminalText.js";

/** What a program wrote, in its colours. */
export const Terminal = memo(function Terminal({ output, label }: { readonly output: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    // biome-ignore lint/a11y/useSemanticElements: a name for what is reached, and no landmark of the page
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
