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
export function isMachineAgent(name: string): boolean {
  const agent = name.trim();
  let verdict = known.get(agent);
  if (verdict === undefined) {
    verdict = agent === '' || ANY.test(agent);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(agent, verdict);
  }
  return verdict;
}
