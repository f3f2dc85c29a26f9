/**
 * Who fetches pixels and links without anybody reading the mail. What is not here counts as a person: GoogleImageProxy
 * and YahooMailProxy fetch a picture when the message is opened, Outlook's "ms-office" is somebody looking at it. Apple's
 * Mail Privacy Protection says "Mozilla/5.0" and nothing else, before anyone has looked; that cannot be told from
 * a person with a shy browser, so it counts.
 */
export const AUTOMATED_READERS: readonly { pattern: RegExp; why: string }[] = [
  { pattern: /barracuda/i, why: 'Barracuda follows links before it delivers' },
  { pattern: /proofpoint|urldefense/i, why: 'Proofpoint URL Defense follows links' },
  { pattern: /mimecast/i, why: 'Mimecast follows links' },
  { pattern: /safe ?links|microsoft-?atp|windows-?defender/i, why: 'Microsoft Defender (Safe Links) follows links' },
  { pattern: /bingpreview|skypeuripreview|microsoftpreview/i, why: 'Microsoft’s previews and Defender fetch as these' },
  {
    pattern: /microsoft office (existence|protocol) discovery/i,
    why: 'Office looks a link up before the browser opens it',
  },
  { pattern: /symantec|messagelabs|cloudmark|ironport|forcepoint|websense/i, why: 'mail gateways follow links' },
  {
    pattern: /trend ?micro|fortiguard|fortinet|fortimail|sophos|zscaler|checkpoint/i,
    why: 'mail gateways follow links',
  },
  { pattern: /google-safety|virustotal|urlscan|phishtank|netcraft/i, why: 'services that look for phishing' },
  { pattern: /facebookexternalhit|facebookcatalog|meta-externalagent/i, why: 'the preview of a shared link' },
  { pattern: /slack-imgproxy|whatsapp|viber|line-poker|snap url preview/i, why: 'the preview of a link in a chat' },
  { pattern: /google-read-aloud|google-inspectiontool|mediapartners-google|feedfetcher/i, why: 'Google’s robots' },
  // "Cubot" is a make of telephones.
  { pattern: /(?<!cu)bot\b/i, why: 'bingbot, Googlebot, Slackbot, Twitterbot, Discordbot, TelegramBot, LinkedInBot …' },
  { pattern: /crawler|spider|scanner|archiver|monitor(ing)?\b/i, why: 'robots by their own word' },
  { pattern: /\bcurl\/|\bwget\/|httpie\/|\bwinhttp/i, why: 'programs of a shell' },
  { pattern: /python-requests|python-urllib|python-httpx|aiohttp|scrapy/i, why: 'libraries of Python' },
  {
    pattern: /go-http-client|libwww-perl|lwp::|guzzlehttp|\bphp\/|\bruby\b|faraday/i,
    why: 'libraries of Go, Perl, PHP, Ruby',
  },
  { pattern: /^java\/|apache-httpclient|jakarta commons/i, why: 'libraries of Java' },
  { pattern: /node-fetch|^node$|undici|axios\//i, why: 'libraries of Node.js' },
  { pattern: /headlesschrome|phantomjs|puppeteer|playwright|selenium|lighthouse/i, why: 'browsers without a person' },
];

const ANY = new RegExp(AUTOMATED_READERS.map(({ pattern }) => `(?:${pattern.source})`).join('|'), 'i');

/** Whether a fetch is a machine's own: by its name, by having none, or because it says that it fetches ahead. */
export function automatedReader(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return isAutomated(headers['user-agent'] ?? '') || AHEAD.some((name) => isAhead(headers[name]));
}

/** Few programs fetch nearly everything, and the long pattern costs as much as the rest of an answer. */
const known = new Map<string, boolean>();
const KNOWN_MAX = 1000;

function isAutomated(name: string | string[]): boolean {
  const agent = String(name).trim();
  let verdict = known.get(agent);
  if (verdict === undefined) {
    verdict = agent === '' || ANY.test(agent);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(agent, verdict);
  }
  return verdict;
}

const isAhead = (said: string | string[] | undefined): boolean =>
  said !== undefined && /prefetch|preview|prerender/i.test(String(said));

const AHEAD = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz'];
