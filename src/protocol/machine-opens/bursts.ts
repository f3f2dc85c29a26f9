export interface TimedClick {
  id: string;
  at: number;
  link: string;
}

/** So many different links of one email within the time of a burst are more than a person follows. */
export const BURST_LINKS = 3;

/** Of the clicks in one email, the ids of those that belong to a burst: within `windowMs` of each other, on that many links. */
export function burstsAmong(clicks: readonly TimedClick[], windowMs: number): Set<string> {
  const inOrder = [...clicks].sort((a, b) => a.at - b.at);
  const found = new Set<string>();
  const links = new Map<string, number>();
  let first = 0;
  let next = 0;
  for (const [last, click] of inOrder.entries()) {
    links.set(click.link, (links.get(click.link) ?? 0) + 1);
    for (let left = inOrder[first]; left && click.at - left.at > windowMs; left = inOrder[++first]) {
      const count = (links.get(left.link) ?? 0) - 1;
      if (count === 0) links.delete(left.link);
      else links.set(left.link, count);
    }
    if (links.size < BURST_LINKS) continue;
    // Those before `next` are in it already.
    for (next = Math.max(next, first); next <= last; next++) found.add(inOrder[next]?.id ?? '');
  }
  return found;
}
