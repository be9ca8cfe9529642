import { useId } from "react";

interface PlotProps {
  readonly title: string;
  /** Oldest first; undefined where nothing is known. */
  readonly values: readonly (number | undefined)[];
  readonly format: (value: number) => string;
}

const WIDTH = 240;
const HEIGHT = 56;

/** One metric over the last minutes. The scale begins at zero. */
export function Plot({ title, values, format }: PlotProps) {
  const id = useId();
  const known = values.filter((value) => value !== undefined);
  const now = known.at(-1);
  const most = Math.max(...known, 0);
  const scale = most === 0 ? 1 : most;
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values
    .map((value, index) =>
      value === undefined ? undefined : `${(index * step).toFixed(1)},${(HEIGHT - 1 - (value / scale) * (HEIGHT - 4)).toFixed(1)}`,
    )
    .filter((point) => point !== undefined);
  const [firstX, lastX] = [points[0]?.split(",")[0], points.at(-1)?.split(",")[0]];
  const said = now === undefined ? "no value yet" : `${format(now)} now, at most ${format(most)}`;
  return (
    <figure className="plot">
      <figcaption>
        <span>{title}</span> <strong>{now === undefined ? "–" : format(now)}</strong>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-labelledby={id}>
        <title id={id}>{`${title}: ${said}`}</title>
        <line x1="0" y1={HEIGHT - 1} x2={WIDTH} y2={HEIGHT - 1} className="axis" />
        {points.length > 1 && <polygon className="area" points={[`${firstX},${HEIGHT}`, ...points, `${lastX},${HEIGHT}`].join(" ")} />}
        {points.length > 1 && <polyline points={points.join(" ")} />}
      </svg>
      <span className="quiet plot-most">most {format(most)}</span>
    </figure>
  );
}
