import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { markdownBlocks } from "../lib/markdownBlocks.js";

const PLUGINS = [remarkGfm];

/** Allows only web addresses as links. Any other address is shown as text. */
function webAddress(url: string): string {
  return /^https?:\/\//i.test(url) ? url : "";
}

const COMPONENTS: Components = {
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  // Loading an image would tell its server that it was viewed.
  img: ({ src, alt }) => (
    <span className="image-link">
      image{alt ? `: ${alt}` : ""}
      {typeof src === "string" && src !== "" && (
        <>
          {" "}
          <a href={src} target="_blank" rel="noopener noreferrer nofollow">
            {src}
          </a>
        </>
      )}
    </span>
  ),
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard
    <pre tabIndex={0}>{children}</pre>
  ),
  input: ({ checked }) => <input type="checkbox" checked={checked ?? false} disabled aria-label={checked ? "done" : "not done"} />,
  // The headings of an answer must rank below those of the page. An answer may begin at any rank and skip some, so all get the same rank.
  h1: "h3",
  h2: "h3",
  h4: "h3",
  h5: "h3",
  h6: "h3",
};

/** An answer of the model. HTML in it is shown as text. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  if (text.length > LONGEST_MARKDOWN) return <Plain text={text} />;
  return (
    <div className="markdown">
      {markdownBlocks(text).map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end
        <Block key={index} text={block} />
      ))}
    </div>
  );
});

/** Formatting a longer text would stop the page for seconds. */
const LONGEST_MARKDOWN = 256 * 1024;
const PIECE = 20_000;

/** A very long text without formatting, in pieces of which the browser lays out only those in sight. */
function Plain({ text }: { readonly text: string }) {
  const pieces = Array.from({ length: Math.ceil(text.length / PIECE) }, (_, at) => text.slice(at * PIECE, (at + 1) * PIECE));
  return (
    <>
      <p className="quiet">Shown without formatting: it has {(text.length / 1_000_000).toFixed(1)} million characters.</p>
      {pieces.map((piece, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only ever added at the end
        <div key={index} className="said long-piece">
          {piece}
        </div>
      ))}
    </>
  );
}

const Block = memo(function Block({ text }: { readonly text: string }) {
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={webAddress}>
      {text}
    </ReactMarkdown>
  );
});
