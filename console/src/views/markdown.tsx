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
  // Headings of an answer rank below those of the page.
  h1: "h3",
  h2: "h4",
  h3: "h5",
  h4: "h6",
  h5: "h6",
};

/** An answer of the model. HTML in it is shown as text. */
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
