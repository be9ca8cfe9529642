import { memo, useLayoutEffect, useRef } from "react";
import { terminalPieces } from "../lib/terminalText.js";

interface TerminalProps {
  readonly output: string;
  readonly label: string;
  /** Stays scrolled to its end while it grows, unless the user has scrolled up. */
  readonly isEndShown?: boolean;
}

const NEAR_END = 24;

/** The output of a program, in its colours. */
export const Terminal = memo(function Terminal({ output, label, isEndShown = false }: TerminalProps) {
  const box = useRef<HTMLDivElement>(null);
  const isHeld = useRef(isEndShown);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the box grows with the output
  useLayoutEffect(() => {
    if (box.current && isHeld.current) box.current.scrollTop = box.current.scrollHeight;
  }, [output]);
  const noteScroll = () => {
    const element = box.current;
    if (element && isEndShown) isHeld.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard
    // biome-ignore lint/a11y/useSemanticElements: it needs a name but is not a landmark
    <div className="terminal" ref={box} onScroll={noteScroll} tabIndex={0} role="group" aria-label={label}>
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
