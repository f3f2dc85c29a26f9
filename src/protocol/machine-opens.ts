interface Agent {
  /** As the table of docs/audience.md calls it. */
  name: string;
  pattern: RegExp;
}

/** Programs that fetch pictures and links without anybody reading the mail. The table of docs/audience.md has an example of each. */
export const MACHINE_AGENTS: readonly Agent[] = [
  // Nothing else: browsers go on after it.
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
  { name: 'Google’s robots', pattern: /google-read-aloud|google-inspectiontool|mediapartners-google|feedfetcher/i },
  // "Cubot" is a make of telephones.
  { name: 'bots', pattern: /(?<!cu)bot\b/i },
  { name: 'self-declared robots', pattern: /crawler|spider|scanner|archiver|monitor(ing)?\b/i },
  { name: 'programs of a shell', pattern: /\bcurl\/|\bwget\/|httpie\/|\bwinhttp/i },
  { name: 'libraries of Python', pattern: /python-requests|python-urllib|python-httpx|aiohttp|scrapy/i },
  { name: 'libraries of Go', pattern: /go-http-client/i },
  { name: 'libraries of Perl, PHP and Ruby', pattern: /libwww-perl|lwp::|guzzlehttp|\bphp\/|\bruby\b|faraday/i },
  { name: 'libraries of Java', pattern: /^java\/|^ahc\/|^jetty\/|apache-httpclient|jakarta commons/i },
  { name: 'libraries of Node.js', pattern: /node-fetch|^node$|undici|axios\//i },
  { name: 'caches', pattern: /^amazon cloudfront$/i },
  { name: 'browsers without a person', pattern: /headlesschrome|phantomjs|puppeteer|playwright|selenium|lighthouse/i },
];

const ANY = new RegExp(MACHINE_AGENTS.map(({ pattern }) => `(?:${pattern.source})`).join('|'), 'i');

/** Few programs fetch nearly everything, and the long pattern costs as much as the rest of an answer. */
const known = new Map<string, boolean>();
const KNOWN_MAX = 1000;

/** Whether a program of this name, or without one, reads for no person. */
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

/** Whether a request says itself that a program made it: by its program, by asking for headers alone, or by fetching ahead. */
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

export interface Arrival {
  /** When it was first handed off; undefined while it was not. */
  sentAt: number | undefined;
  /** When the first recipient's server had it; undefined where no server has said so. */
  deliveredAt: number | undefined;
}

/**
 * Whether somebody is there sooner than a person could be. Gateways also look before they say that they have a mail. Where
 * no server ever says so, a person may have it nevertheless, and the first try counts.
 */
export function isSoonAfterArrival(at: number, { sentAt, deliveredAt }: Arrival, withinMs: number): boolean {
  const arrivedAt = deliveredAt ?? sentAt;
  return arrivedAt !== undefined && at - arrivedAt < withinMs;
}
