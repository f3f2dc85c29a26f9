// every kind of mail that is sent --> what SpamAssassin and rspamd of a receiver say of it
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApi } from '../rig/api.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { sendSamples, type Sample } from './mail-samples.ts';
import { describePeers } from './peers.ts';
import { startRspamd, startSpamAssassin, type Arrival, type SpamFilter } from './spam-filters.ts';

/** The address from which the mail comes: one that no filter takes for a private or an impossible one. */
const IP = '198.18.0.25';

/** The rules that may fire, each with the reason why it says nothing about the form of the mail. */
interface Allowed {
  /** The rules that must fire: without them mail is not authenticated. */
  required: readonly string[];
  always: Record<string, string>;
  kinds: Record<string, Record<string, string>>;
}

const FEW_WORDS = 'there is an image, and the sender has few words beside it';
const EMPTY = 'the sender says nothing';

const SPAMASSASSIN: Allowed = {
  required: ['DKIM_SIGNED', 'DKIM_VALID', 'DKIM_VALID_AU', 'SPF_HELO_PASS'],
  always: {
    DKIM_SIGNED: 'it is signed',
    DKIM_VALID: 'the signature is valid',
    DKIM_VALID_AU: 'the signature is of the domain in From',
    SPF_PASS: 'the domain of the return path names our address',
    SPF_HELO_PASS: 'the host names its address',
    HTML_MESSAGE: 'there is HTML, which weighs nothing',
  },
  kinds: {
    'inline images': { HTML_IMAGE_ONLY_08: FEW_WORDS },
    'an image alone': {
      HTML_IMAGE_ONLY_04: FEW_WORDS,
      MPART_ALT_DIFF: 'the text says what the image shows, which is not compared',
    },
    tracked: { HTML_IMAGE_ONLY_12: FEW_WORDS, T_REMOTE_IMAGE: 'open tracking is an image' },
    'an empty text': { EMPTY_MESSAGE: EMPTY },
    'HTML whose sender wants no text': { MIME_HTML_ONLY: 'the sender asks for it by an empty text' },
  },
};

const RETURN_PATH = 'bounces come back to a return path of its own';
const BOUNCE = 'a notice says what it is';
const BYTES = 'of a text file every byte arrives only in base64: readers change the line ends of other text';
const TEXT_FILE = { MIME_BASE64_TEXT: BYTES, MIME_BASE64_TEXT_BOGUS: BYTES };

const RSPAMD: Allowed = {
  required: ['DMARC_POLICY_ALLOW', 'R_DKIM_ALLOW', 'R_SPF_ALLOW'],
  always: {
    DMARC_POLICY_ALLOW: 'DMARC passes',
    R_DKIM_ALLOW: 'the signature is valid',
    R_SPF_ALLOW: 'the domain of the return path, or the host where there is none, names our address',
    MIME_GOOD: 'the types of its parts are well known',
    ...informs('ARC_NA', 'DKIM_TRACE', 'MIME_TRACE', 'RCPT_COUNT_ONE', 'RCPT_COUNT_THREE'),
    ...informs('RCVD_COUNT_ZERO', 'RCVD_COUNT_TWO', 'RCVD_TLS_ALL', 'RCVD_VIA_SMTP_AUTH'),
    ...informs('FROM_HAS_DN', 'FROM_NO_DN', 'TO_DN_ALL', 'TO_DN_NONE', 'TO_DN_SOME'),
    ...informs('TO_DOM_EQ_FROM_DOM', 'TO_MATCH_ENVRCPT_ALL', 'MID_RHS_MATCH_FROM'),
    ...informs('HAS_ATTACHMENT', 'HAS_LIST_UNSUB', 'HAS_REPLYTO', 'REPLYTO_DN_EQ_FROM_DN', 'REPLYTO_DOM_EQ_FROM_DOM'),
    FORGED_SENDER: RETURN_PATH,
    FROM_NEQ_ENVFROM: RETURN_PATH,
  },
  kinds: {
    'characters beyond Latin': { MIME_BASE64_TEXT: 'most of the text is beyond ASCII, for which base64 is shortest' },
    'an image alone': { R_EMPTY_IMAGE: FEW_WORDS },
    attachments: TEXT_FILE,
    'a calendar invitation': TEXT_FILE,
    'a forward from an inbox': TEXT_FILE,
    'HTML whose sender wants no text': { MIME_HTML_ONLY: 'the sender asks for it by an empty text' },
    'a notice of failure': { BOUNCE, SUBJ_BOUNCE_WORDS: BOUNCE },
    'a notice of failure with the whole message': { BOUNCE, SUBJ_BOUNCE_WORDS: BOUNCE },
    'a notice of success': { BOUNCE },
  },
};

function informs(...rules: readonly string[]): Record<string, string> {
  return Object.fromEntries(rules.map((rule) => [rule, 'it counts or describes, and weighs nothing']));
}

/** Faults that a filter sees, each with what the two say: rules that the samples must not set off, and do not. */
const FAULTS: { fault: string; change: (text: string) => string; spamAssassin?: string; rspamd?: string }[] = [
  {
    fault: 'without its Date',
    change: (text) => text.replace(/^Date: .*\r\n/m, ''),
    spamAssassin: 'MISSING_DATE',
    rspamd: 'MISSING_DATE',
  },
  {
    fault: 'without its Message-ID',
    change: (text) => text.replace(/^Message-ID: .*\r\n/m, ''),
    spamAssassin: 'MISSING_MID',
    rspamd: 'MISSING_MID',
  },
  {
    fault: 'without its To',
    change: (text) => text.replace(/^To: .*\r\n/m, ''),
    spamAssassin: 'MISSING_HEADERS',
    rspamd: 'MISSING_TO',
  },
  {
    fault: 'with a text that is not that of its HTML',
    change: (text) => text.replace(/Dear Maria Keller,[^<]*?\r\n--/, 'Lorem ipsum dolor sit amet\r\n--'),
    spamAssassin: 'MPART_ALT_DIFF',
    rspamd: 'R_PARTS_DIFFER',
  },
  {
    fault: 'with its text in base64 for no reason',
    change: (text) =>
      text.replace(
        /(text\/plain; charset=utf-8\r\nContent-Transfer-Encoding: )7bit\r\n\r\n([^<]*?)\r\n--/,
        (_, head: string, words: string) => `${head}base64\r\n\r\n${Buffer.from(words).toString('base64')}\r\n--`,
      ),
    rspamd: 'MIME_BASE64_TEXT_BOGUS',
  },
  {
    fault: 'with a word that was not signed',
    change: (text) => text.replace('the total is', 'the sum is').replace('The total is', 'The sum is'),
    spamAssassin: 'DKIM_INVALID',
    rspamd: 'R_DKIM_REJECT',
  },
];

describePeers('spam filters for our mail', ['spamd', 'rspamd', 'Mail::DKIM', 'Mail::SPF'], () => {
  let scene: Scene;
  let spamAssassin: SpamFilter;
  let rspamd: SpamFilter;
  let samples: Sample[];
  beforeAll(async () => {
    scene = await startScene({
      roles: ['http', 'scheduler', 'delivery', 'submission', 'receiving'],
      config: { accounts: { sign_up: 'open' }, http: { port: 0, public_url: 'https://rasket.test' } },
    });
    scene.api = createApi(`http://127.0.0.1:${scene.app.http?.port}`);
    // The host is set up as it should be, and its name server answers whole keys to clients that accept them.
    scene.dns.set('rasket.test', 'A', [IP]);
    scene.dns.set('rasket.test', 'TXT', ['v=spf1 a -all']);
    scene.dns.set(`${IP.split('.').toReversed().join('.')}.in-addr.arpa`, 'PTR', ['rasket.test']);
    scene.dns.udpBytesMax = 4096;
    samples = await sendSamples(scene);
    spamAssassin = await startSpamAssassin(scene.dns.port);
    rspamd = await startRspamd(scene.dns.port);
  });
  afterAll(async () => {
    await rspamd?.close();
    await spamAssassin?.close();
    await scene?.close();
  });

  const buildArrival = ({ message }: Sample): Arrival => ({ ip: IP, helo: 'rasket.test', ...message });

  /** Lists, by kind, the rules that fire and may not, and after a minus sign those that do not and must. */
  async function findFaults(
    filter: SpamFilter,
    { required, always, kinds }: Allowed,
  ): Promise<Record<string, string[]>> {
    const found: Record<string, string[]> = {};
    const waiting = samples.values();
    const judgeOn = async (): Promise<void> => {
      for (const sample of waiting) {
        const fired = await filter.judge(buildArrival(sample));
        const allowed = { ...always, ...kinds[sample.kind] };
        const faults = [
          ...fired.filter((rule) => !Object.hasOwn(allowed, rule)),
          ...required.filter((rule) => !fired.includes(rule)).map((rule) => `-${rule}`),
        ];
        if (faults.length > 0) found[sample.kind] = faults;
      }
    };
    // There is one for each worker of spamd.
    await Promise.all([judgeOn(), judgeOn()]);
    return found;
  }

  it('include SpamAssassin, which finds DKIM and SPF valid in every kind of mail, and no fault in its form', async () => {
    expect(await findFaults(spamAssassin, SPAMASSASSIN)).toEqual({});
  });

  it('include rspamd, which finds DKIM, SPF and DMARC valid in every kind of mail, and no fault in its form', async () => {
    expect(await findFaults(rspamd, RSPAMD)).toEqual({});
  });

  it.each(FAULTS)('both detect a message $fault', async ({ change, spamAssassin: one, rspamd: other }) => {
    const arrival = buildArrival(samples.find(({ kind }) => kind === 'HTML and text')!);
    const data = Buffer.from(change(arrival.data.toString('latin1')), 'latin1');
    expect(data.equals(arrival.data)).toBe(false);
    if (one !== undefined) expect(await spamAssassin.judge({ ...arrival, data })).toContain(one);
    if (other !== undefined) expect(await rspamd.judge({ ...arrival, data })).toContain(other);
  });

  it('both detect a message from an address that its domain does not name', async () => {
    const arrival = { ...buildArrival(samples[0]!), ip: '198.18.0.26' };
    expect(await spamAssassin.judge(arrival)).toContain('SPF_SOFTFAIL');
    expect(await rspamd.judge(arrival)).toContain('R_SPF_SOFTFAIL');
  });
});
