/** The text of a ChatGPT plan's usage limit, with the way out that the plan has. */
export function usageLimitText({ planType, resetsAt }: { readonly planType: unknown; readonly resetsAt: unknown }): string {
  const again = typeof resetsAt === "number" ? `try again at ${readableTime(new Date(resetsAt * 1000), new Date())}` : "try again later";
  const more = "visit https://chatgpt.com/codex/settings/usage to purchase more credits";
  switch (planType) {
    case "plus":
      return `You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing), ${more} or ${again}.`;
    case "pro":
      return `You've hit your usage limit. To go on now, ${more} or ${again}.`;
    default:
      return `You've hit your usage limit. Please ${again}.`;
  }
}

/** "Jan 1st, 2100 12:00 AM" in local time; only the clock for a moment of today. */
export function readableTime(at: Date, now: Date): string {
  const hour = at.getHours();
  const clock = `${hour % 12 === 0 ? 12 : hour % 12}:${String(at.getMinutes()).padStart(2, "0")} ${hour < 12 ? "AM" : "PM"}`;
  if (at.toDateString() === now.toDateString()) return clock;
  const month = at.toLocaleString("en-US", { month: "short" });
  return `${month} ${at.getDate()}${ordinal(at.getDate())}, ${at.getFullYear()} ${clock}`;
}

function ordinal(day: number): string {
  if (day >= 11 && day <= 13) return "th";
  return { 1: "st", 2: "nd", 3: "rd" }[day % 10] ?? "th";
}
