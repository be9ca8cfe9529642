import { memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useSignal } from "../state/signal.js";
import type { ThreadStory } from "../state/threadStory.js";
import { ItemView } from "./items.js";
import { JumpContext, useJumping } from "./jump.js";
import { Trouble } from "./trouble.js";

/** This close to the end, the view follows new items. */
const NEAR_END = 60;

interface TimelineProps {
  readonly story: ThreadStory;
  readonly threadId: string;
  readonly folder: string | null;
}

/**
 * The items of a thread in a scrolling box. It follows the end while the reader is there. Segments far outside the viewport are replaced by an empty
 * element of the same height, so that a thread of 10,000 items has as many nodes as a short one.
 */
export function Timeline({ story, threadId, folder }: TimelineProps) {
  const { state, segments, older, failure } = useSignal(story.shape);
  const box = useRef<HTMLDivElement>(null);
  const { isAtEnd, goToEnd } = useEndKept(box, state);
  useOlder(box, story, older);
  const jump = useJumping(story, box);
  return (
    <JumpContext value={jump}>
      <div className="timeline-frame">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard */}
        <div className="timeline" ref={box} tabIndex={0} role="log" aria-label="Messages and actions" aria-busy={state === "loading"}>
          <div className="timeline-content">
            {older !== "none" && (
              <button type="button" className="older" onClick={() => void story.loadOlder()} disabled={older === "loading"}>
                {older === "loading" ? "Reading…" : "Show earlier items"}
              </button>
            )}
            {state === "loading" && <p className="quiet">Reading…</p>}
            <Trouble error={failure} onRetry={() => story.start()} />
            {segments.map(
              (ids) =>
                ids[0] !== undefined && <Segment key={ids[0]} box={box} ids={ids} story={story} threadId={threadId} folder={folder} />,
            )}
          </div>
        </div>
        {!isAtEnd && (
          <button type="button" className="to-end" onClick={goToEnd}>
            To the end ↓
          </button>
        )}
      </div>
    </JumpContext>
  );
}

interface SegmentProps extends TimelineProps {
  readonly ids: readonly string[];
  readonly box: React.RefObject<HTMLDivElement | null>;
}

const Segment = memo(function Segment({ ids, box, ...rest }: SegmentProps) {
  const place = useRef<HTMLDivElement>(null);
  const height = useHeightFarAway(place, box);
  const sought = useSignal(rest.story.sought);
  const isDrawn = height === undefined || (sought !== undefined && ids.includes(sought));
  return (
    <div className="segment" ref={place} style={isDrawn ? undefined : { height }}>
      {isDrawn && ids.map((id) => <LiveItem key={id} id={id} {...rest} />)}
    </div>
  );
});

/** Segments this close to the viewport are rendered. */
const NEAR = "1500px 0px";

/** The height that a segment had when it left the viewport; undefined while it is near. A segment with the focus or a selection stays rendered. */
function useHeightFarAway(place: React.RefObject<HTMLDivElement | null>, box: React.RefObject<HTMLDivElement | null>): number | undefined {
  const [height, setHeight] = useState<number>();
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const sight = new IntersectionObserver(
      (entries) => {
        const isNear = entries.at(-1)?.isIntersecting === true;
        const isUsed = element.contains(document.activeElement) || document.getSelection()?.containsNode(element, true) === true;
        if (isNear) setHeight(undefined);
        else if (!isUsed) setHeight((known) => known ?? element.offsetHeight);
      },
      { root: box.current, rootMargin: NEAR },
    );
    sight.observe(element);
    return () => sight.disconnect();
  }, [place, box]);
  return height;
}

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
    let before = element.scrollTop;
    const onScroll = () => {
      const { scrollTop } = element;
      if (isNearEnd(element)) isHeld.current = true;
      // The box may have shrunk, or its content grown, since the user was at its end. Only scrolling up leaves the end.
      else if (scrollTop < before) isHeld.current = false;
      before = scrollTop;
      setAtEnd(isHeld.current);
    };
    const growth = new ResizeObserver(() => {
      // After items are folded, the list may fit into the box, so that the view is at the end without scrolling.
      if (isNearEnd(element)) isHeld.current = true;
      if (isHeld.current) element.scrollTop = element.scrollHeight;
      setAtEnd(isHeld.current);
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

function isNearEnd({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR_END;
}

/** Loads older items when the start comes into view. Keeps the scroll position for browsers without scroll anchoring. */
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
