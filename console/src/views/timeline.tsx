import { memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useSignal } from "../state/signal.js";
import type { ThreadStory } from "../state/threadStory.js";
import { ItemView } from "./items.js";
import { Trouble } from "./trouble.js";

/** So near to the end, whoever reads wants to read on. */
const NEAR_END = 60;

interface TimelineProps {
  readonly story: ThreadStory;
  readonly threadId: string;
  readonly folder: string | null;
}

/**
 * The items of a thread in a box of its own. It stays at the end as long as the reader is there. Items out of sight are not laid out by the browser
 * (`content-visibility`), so that all of them are on the page: to be searched, and for screen readers.
 */
export function Timeline({ story, threadId, folder }: TimelineProps) {
  const { state, segments, older, failure } = useSignal(story.shape);
  const box = useRef<HTMLDivElement>(null);
  const { isAtEnd, goToEnd } = useEndKept(box, state);
  useOlder(box, story, older);
  return (
    <div className="timeline-frame">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <div className="timeline" ref={box} tabIndex={0} role="log" aria-label="What was said and done" aria-busy={state === "loading"}>
        <div className="timeline-content">
          {older !== "none" && (
            <button type="button" className="older" onClick={() => void story.loadOlder()} disabled={older === "loading"}>
              {older === "loading" ? "Reading…" : "Show what was before"}
            </button>
          )}
          {state === "loading" && <p className="quiet">Reading…</p>}
          <Trouble error={failure} onRetry={() => story.start()} />
          {segments.map(
            (ids) => ids[0] !== undefined && <Segment key={ids[0]} ids={ids} story={story} threadId={threadId} folder={folder} />,
          )}
        </div>
      </div>
      {!isAtEnd && (
        <button type="button" className="to-end" onClick={goToEnd}>
          To the end ↓
        </button>
      )}
    </div>
  );
}

const Segment = memo(function Segment({ ids, ...rest }: TimelineProps & { readonly ids: readonly string[] }) {
  return ids.map((id) => <LiveItem key={id} id={id} {...rest} />);
});

function LiveItem({ id, story, ...rest }: TimelineProps & { readonly id: string }) {
  const signal = story.item(id);
  return signal ? <Followed signal={signal} {...rest} /> : null;
}

interface FollowedProps extends Omit<TimelineProps, "story"> {
  readonly signal: NonNullable<ReturnType<ThreadStory["item"]>>;
}

function Followed({ signal, ...rest }: FollowedProps) {
  return <ItemView item={useSignal(signal)} {...rest} />;
}

function useEndKept(box: React.RefObject<HTMLDivElement | null>, state: string) {
  const [isAtEnd, setAtEnd] = useState(true);
  const isHeld = useRef(true);
  const goToEnd = () => {
    isHeld.current = true;
    box.current?.scrollTo({ top: box.current.scrollHeight });
  };
  useEffect(() => {
    const element = box.current;
    if (!element?.firstElementChild) return;
    const onScroll = () => {
      isHeld.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
      setAtEnd(isHeld.current);
    };
    const growth = new ResizeObserver(() => {
      if (isHeld.current) element.scrollTop = element.scrollHeight;
    });
    element.addEventListener("scroll", onScroll, { passive: true });
    growth.observe(element.firstElementChild);
    growth.observe(element);
    return () => {
      element.removeEventListener("scroll", onScroll);
      growth.disconnect();
    };
  }, [box]);
  useLayoutEffect(() => {
    if (state === "ready" && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [state, box]);
  return { isAtEnd, goToEnd };
}

/** What was before is read when its place comes into sight. Browsers that hold what is in view when something comes above it do; for others it is done here. */
function useOlder(box: React.RefObject<HTMLDivElement | null>, story: ThreadStory, older: string): void {
  const height = useRef(0);
  useEffect(() => {
    const button = box.current?.querySelector(".older");
    if (!button || older !== "more") return;
    const sight = new IntersectionObserver(
      ([entry]) => {
        if (!entry?.isIntersecting || !box.current) return;
        height.current = box.current.scrollHeight;
        void story.loadOlder();
      },
      { root: box.current, rootMargin: "600px 0px 0px 0px" },
    );
    sight.observe(button);
    return () => sight.disconnect();
  }, [box, story, older]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || older === "loading" || height.current === 0) return;
    if (!CSS.supports("overflow-anchor", "auto")) element.scrollTop += element.scrollHeight - height.current;
    height.current = 0;
  }, [box, older]);
}
