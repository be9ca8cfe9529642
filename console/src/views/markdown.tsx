import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { markdownBlocks } from "../lib/markdownBlocks.js";

const PLUGINS = [remarkGfm];

/** Addresses that a click may open. Everything else a model writes as one is shown as text. */
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
  // An image would tell whoever serves it that it was looked at.
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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <pre tabIndex={0}>{children}</pre>
  ),
  input: ({ checked }) => <input type="checkbox" checked={checked ?? false} disabled aria-label={checked ? "done" : "not done"} />,
  // Headings of an answer are below those of the page.
  h1: "h3",
  h2: "h4",
  h3: "h5",
  h4: "h6",
  h5: "h6",
};

/** An answer of the model. HTML in it is shown as the text it is. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  return (
    <div className="markdown">
      {markdownBlocks(text).map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end
        <Block key={index} text={block} />
      ))}
    </div>
  );
});

const Block = memo(function Block({ text }: { readonly text: string }) {
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={webAddress}>
      {text}
    </ReactMarkdown>
  );
});
