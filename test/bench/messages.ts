import { createHash } from 'node:crypto';

/** The load: one message as JSON, in several variants so that not all mail goes to one destination. */
export interface Load {
  bodies: string[];
  recipients: number;
  /** Messages that the sink gets for one email: one for each destination. */
  deliveries: number;
}

export const SENDER_DOMAIN = 'news.sender.test';
/** Ten domains at one mail server, as the customers of one provider have them. */
const DESTINATIONS = Array.from({ length: 10 }, (_, i) => `mail${i}.reader.test`);

/** Ten domains with a mail server each. */
const SITES = Array.from({ length: 10 }, (_, i) => ({
  domain: `site${i}.readers.test`,
  mailServer: `mx.site${i}.readers.test`,
  address: `127.0.1.${i + 1}`,
}));
export const MAIL_SERVER_ADDRESSES = SITES.map(({ address }) => address);

/** Returns the DNS entries of the ten domains that have a mail server each. */
export const sitesInDns = (): Record<string, { MX: string[] } | { A: string[] }> =>
  Object.fromEntries(
    SITES.flatMap(({ domain, mailServer, address }) => [
      [domain, { MX: [`10 ${mailServer}`] }],
      [mailServer, { A: [address] }],
    ]),
  );

/** Returns about `bytes` of html and text together, of words that do not compress to nothing. */
export function smallLoad(bytes: number): Load {
  const text = formatWords(Math.round(bytes * 0.3));
  const html = buildPage(Math.round(bytes * 0.7));
  const bodies = DESTINATIONS.map((destination, i) =>
    JSON.stringify({ ...envelope(), to: [`Reader ${i} <reader${i}@${destination}>`], html, text }),
  );
  return { bodies, recipients: 1, deliveries: 1 };
}

/** Returns a 4 KB message with an attachment that makes it `bytes` long on the wire. */
export function attachmentLoad(bytes: number): Load {
  const { bodies } = smallLoad(4096);
  const content = randomLike(Math.round((bytes - 4096) * (3 / 4)));
  const attachments = [
    { filename: 'invoice.pdf', content: content.toString('base64'), content_type: 'application/pdf' },
  ];
  return {
    bodies: bodies.map((body) => JSON.stringify({ ...(JSON.parse(body) as object), attachments })),
    recipients: 1,
    deliveries: 1,
  };
}

/** Returns one message to fifty people in ten domains, which share one mail server or have one each. */
export function fanOutLoad(bytes: number, mailServers: 'one' | 'ten'): Load {
  const { bodies } = smallLoad(bytes);
  const domains = mailServers === 'one' ? DESTINATIONS : SITES.map(({ domain }) => domain);
  const to = domains.flatMap((domain) => Array.from({ length: 5 }, (_, i) => `reader${i}@${domain}`));
  const body = JSON.stringify({ ...(JSON.parse(bodies[0] ?? '{}') as object), to });
  return { bodies: [body], recipients: to.length, deliveries: domains.length };
}

const envelope = () => ({
  from: `The Sender <hello@${SENDER_DOMAIN}>`,
  subject: 'Your order has left our house and will be with you on Thursday',
  reply_to: `help@${SENDER_DOMAIN}`,
  tags: [{ name: 'kind', value: 'order-sent' }],
});

const WORDS =
  'the order parcel left house today will arrive on Thursday between noon and four please keep this number for your records and write to us if anything is missing thank you very much with kind regards from all of our shop'.split(
    ' ',
  );

function formatWords(bytes: number): string {
  const words: string[] = [];
  for (let length = 0, i = 0; length < bytes; i++) {
    const word = WORDS[(i * 7 + (i >> 4)) % WORDS.length] ?? '';
    words.push(i % 14 === 13 ? `${word}.\n` : word);
    length += word.length + 1;
  }
  return words.join(' ').slice(0, bytes);
}

function buildPage(bytes: number): string {
  const head = '<!doctype html><html><body style="font-family:sans-serif;color:#222"><h1>On its way</h1>';
  const foot = '<p style="font-size:12px">© The Sender – <a href="https://sender.test/help">help</a></p></body></html>';
  const room = bytes - head.length - foot.length;
  const paragraphs = formatWords(room)
    .split('\n')
    .map((line) => `<p style="margin:0 0 12px">${line}</p>\n`);
  return `${head}${paragraphs.join('').slice(0, room)}${foot}`;
}

/** Returns the same incompressible bytes in every run. */
function randomLike(bytes: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(bytes / 32) }, (_, i) => createHash('sha256').update(`${i}`).digest());
  return Buffer.concat(blocks).subarray(0, bytes);
}
