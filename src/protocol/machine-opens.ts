interface Agent {
  /** The name used in the table of docs/audience.md. */
  name: string;
  pattern: RegExp;
}

/**
 * Programs that fetch images and links without anybody reading the mail. The table of docs/audience.md has an example
 * of each.
 */
export const MACHINE_AGENTS: readonly Agent[] = [
  // Must match the whole string: browsers continue after it.
  { name: 'Apple Mail Privacy Protection', pattern: /^mozilla\/5\.0$/i },
  { name: 'Gmail, ahead of a reader', pattern: /edge\/12\.246 mozilla\/5\.0$/i },
  { name: 'Microsoft Defender, Safe Links', pattern: /safe ?links|microsoft-?atp|windows-?defender/i },
  { name: 'Microsoft previews', pattern: /bingpreview|skypeuripreview|microsoftpreview/i },
  { name: 'Office', pattern: /microsoft office (existence|protocol) discovery/i },
  { name: 'Barracuda', pattern: /barracuda/i },
  { name: 'Proofpoint', pattern: /proofpoint|urldefense/i },
  { name: 'Mimecast', pattern: /mimecast/i },
  { name: 'Cisco', pattern: /ironport|cisco ?secure ?email|cisco-?talos/i },
  { name: 'Symantec', pattern: /symantec|messagelabs/i },
  {
    name: 'other mail gateways',
    pattern:
      /cloudmark|forcepoint|websense|trend ?micro|fortiguard|fortinet|fortimail|sophos|zscaler|checkpoint|sonicwall|fireeye|kaspersky|mcafee/i,
  },
  { name: 'phishing checks', pattern: /google-safety|virustotal|urlscan|phishtank|netcraft/i },
  { name: 'previews of social networks', pattern: /facebookexternalhit|facebookcatalog|meta-externalagent/i },
  { name: 'previews of chats', pattern: /slack-imgproxy|whatsapp|viber|line-poker|snap url preview/i },
  { name: 'Google’s bots', pattern: /google-read-aloud|google-inspectiontool|mediapartners-google|feedfetcher/i },
  // "Cubot" is a brand of phones.
  { name: 'bots', pattern: /(?<!cu)bot\b/i },
  { name: 'crawlers and scanners', pattern: /crawler|spider|scanner|archiver|monitor(ing)?\b/i },
  { name: 'command-line tools', pattern: /\bcurl\/|\bwget\/|httpie\/|\bwinhttp/i },
  { name: 'Python libraries', pattern: /python-requests|python-urllib|python-httpx|aiohttp|scrapy/i },
  { name: 'Go libraries', pattern: /go-http-client/i },
  { name: 'Perl, PHP and Ruby libraries', pattern: /libwww-perl|lwp::|guzzlehttp|\bphp\/|\bruby\b|faraday/i },
  { name: 'Java libraries', pattern: /^java\/|^ahc\/|^jetty\/|apache-httpclient|jakarta commons/i },
  { name: 'Node.js libraries', pattern: /node-fetch|^node$|undici|axios\//i },
  { name: 'caches', pattern: /^amazon cloudfront$/i },
  { name: 'headless browsers', pattern: /headlesschrome|phantomjs|puppeteer|playwright|selenium|lighthouse/i },
];

const ANY = new RegExp(MACHINE_AGENTS.map(({ pattern }) => `(?:${pattern.source})`).join('|'), 'i');

/**
 * Cached, because few programs make nearly all requests, and matching the long pattern costs as much as everything else
 * in a response.
 */
const known = new Map<string, boolean>();
const KNOWN_MAX = 1000;

/** Reports whether the user agent is a known program that no person reads with, or is missing. */
function isMachineAgent(name: string): boolean {
  const agent = name.trim();
  let verdict = known.get(agent);
  if (verdict === undefined) {
    verdict = agent === '' || ANY.test(agent);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(agent, verdict);
  }
  return verdict;
}

interface Fetch {
  method?: string | undefined;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * Reports whether a request shows that a program made it: by its user agent, by asking for headers only, or by
 * prefetching.
 */
export const isMachineFetch = ({ method, headers }: Fetch): boolean =>
  method === 'HEAD' ||
  isMachineAgent(String(headers['user-agent'] ?? '')) ||
  AHEAD.some((name) => isAhead(headers[name]));

const AHEAD = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz'];

const isAhead = (said: string | string[] | undefined): boolean =>
  said !== undefined && /prefetch|preview|prerender/i.test(String(said));

export interface TimedClick {
  id: string;
  at: number;
  link: string;
}

/** Clicks on this many different links of one email within the time of a burst are more than a person makes. */
export const BURST_LINKS = 3;

/**
 * Returns the ids of the clicks in one email that belong to a burst: on at least BURST_LINKS links within `windowMs`.
 */
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
    // Clicks before `next` are included already.
    for (next = Math.max(next, first); next <= last; next++) found.add(inOrder[next]?.id ?? '');
  }
  return found;
}

export interface Arrival {
  /** Time of the first hand-off; undefined before it. */
  sentAt: number | undefined;
  /** Time at which the first recipient's server accepted the mail; undefined if no server has reported it. */
  deliveredAt: number | undefined;
}

/**
 * Reports whether an open or click came sooner after arrival than a person could cause it. Gateways also check links
 * before they accept a mail. If no server ever reports acceptance, a person may have the mail nevertheless, so the
 * first attempt counts.
 */
export function isSoonAfterArrival(at: number, { sentAt, deliveredAt }: Arrival, withinMs: number): boolean {
  const arrivedAt = deliveredAt ?? sentAt;
  return arrivedAt !== undefined && at - arrivedAt < withinMs;
}
