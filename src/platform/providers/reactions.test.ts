import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ReplyParser, type Reply, type ReplyCause } from '../../protocol/smtp-reply/index.ts';
import { loadConfig } from '../config/index.ts';
import { classifyReply } from '../reply-rules/index.ts';
import { createProviderPolicies } from './index.ts';
import { readReactions } from './reactions.ts';

const FILE = readFileSync(new URL('../../../config/providers.toml', import.meta.url), 'utf8');
const RULES = readReactions(FILE);
const { config } = loadConfig({ env: {} });
const policies = createProviderPolicies(config);
const NAMES = [...Object.keys(config.providers), undefined];

function parse(line: string): Reply {
  const [reply] = new ReplyParser().push(Buffer.from(`${line}\r\n`));
  if (reply === undefined) throw new Error(`${line} is no reply`);
  return reply;
}

/** Classifies a reply as one of a mail server of this provider. */
function findCause(provider: string | undefined, reply: Reply): ReplyCause | undefined {
  const suffix = provider === undefined ? undefined : config.providers[provider]?.mx[0];
  return classifyReply({ reply, stage: 'the greeting', mx: suffix === undefined ? undefined : `mx1${suffix}` }).cause;
}

function reactTo(provider: string | undefined, line: string): string[] {
  const reply = parse(line);
  return policies.reactionsTo(provider, reply, findCause(provider, reply)).map(({ id }) => id);
}

/** Providers that say the same, because one company runs both. */
const SAME_TEXTS = [
  ['microsoft-consumer', 'microsoft-365'],
  ['yahoo', 'yahoo-japan'],
  ['orange', 'laposte'],
];

/** Words that many providers use in the same sense. */
const COMMON_WORDS = /too many connections|temporary server error/i;

const shareTexts = (one: string | undefined, other: string | undefined): boolean =>
  SAME_TEXTS.some((names) => names.includes(one ?? '') && names.includes(other ?? ''));

describe('a reaction', () => {
  it.each(RULES)('is triggered by its own sample: $id by $sample', ({ id, provider, sample }) => {
    expect(reactTo(provider, sample)).toContain(id);
  });

  it('to one provider is not triggered by the replies of another provider', () => {
    const confused = RULES.flatMap(({ provider, sample }) =>
      Object.keys(config.providers)
        .filter((other) => provider !== undefined && other !== provider && !shareTexts(provider, other))
        .flatMap((other) => reactTo(other, sample).map((id) => ({ other, sample, id })))
        .filter(({ other, id }) => RULES.some((rule) => rule.id === id && rule.provider === other && rule.text)),
    );
    expect(confused.filter(({ sample }) => !COMMON_WORDS.test(sample))).toEqual([]);
  });

  it('has an id of its own, which does not depend on its place in the file', () => {
    expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
    const [head = '', ...blocks] = FILE.split('[[reactions]]\n');
    const turned = readReactions([head, ...blocks.toReversed().map((block) => `${block}\n`)].join('[[reactions]]\n'));
    expect(turned.map(({ id }) => id)).toEqual(RULES.map(({ id }) => id).toReversed());
  });
});

describe('no reaction is triggered by', () => {
  /** Replies of real mail servers about one recipient or one message, by the words of the table. */
  const harmless = readFileSync(new URL('../reply-rules/replies.tsv', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([wanted = '']) => ['unknown', 'inactive', 'full', 'size', 'greylist', 'policy', 'relay'].includes(wanted))
    .map((fields) =>
      fields
        .slice(1, 4)
        .filter((part) => part !== '')
        .join(' '),
    );

  it.each([
    ...harmless,
    '450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
    '450 4.2.1 <x@example.com>: Mailbox received too much email in a short period of time (G30)',
    '451 Internal resource temporarily unavailable - https://community.mimecast.com/docs/DOC-1369#451',
    '421 4.7.1 Greylisted, messages from 192.0.2.1 temporarily deferred',
    '554 Reject due to policy restrictions (header based)',
    '250 2.0.0 OK, [TSS04] was seen',
  ])('%s', (line) => {
    for (const provider of NAMES) expect([provider, reactTo(provider, line)]).toEqual([provider, []]);
  });

  // A stored outcome quotes the reply that was its reason, and would otherwise prolong the reaction to it.
  it.each([
    (reply: string) => `Not tried, because a moment ago: mx1.example.com replied to MAIL FROM with ${reply}`,
    (reply: string) => `mail to Yahoo is suspended until 2026-11-29 12:30 UTC because of ${reply}`,
    (reply: string) => `mail from example.com to Yahoo is suspended until 12:30 UTC because of ${reply}`,
    (reply: string) => `Gmail limits us to 10 messages a minute until 2026-11-29 12:30 UTC because of ${reply}`,
    (reply: string) => `Gmail limits mail from example.com to 1 connection until 12:30 UTC because of ${reply}`,
    (reply: string) => `Gmail limits us to 2 messages per connection until 12:30 UTC because of ${reply}`,
    (reply: string) => `Gmail is limited to 60 messages per minute because of ${reply}`,
    (reply: string) => `The relay main is limited to 60 messages per minute; before that ${reply}`,
  ])('what this program writes itself: %s', (write) => {
    for (const { provider, sample } of RULES) {
      const line = `450 4.7.0 ${write(sample)}`;
      expect([line, reactTo(provider, line)]).toEqual([line, []]);
    }
  });

  it.each([
    'mx1.example.com: no connection after 30000 ms',
    'mx1.example.com: no reply within 300000 ms',
    'closed two connections in a row before it accepted MAIL FROM',
    'this server is stopping, try again later',
    'The relay main: mx1.example.com has no address in DNS',
    'not ready for mail within the 120000 ms that opening a connection may take',
    'the dialogue before the content took longer than 600 s',
    'The best mail exchanger of example.com is this host: mail would loop',
  ])('the text %s of this program', (text) => {
    const texts = RULES.filter((rule) => rule.text?.test(`450 4.7.0 ${text}`) === true);
    expect(texts).toEqual([]);
  });

  // Exchange takes 5.7.1 and 5.7.900 to 5.7.999 for the rules of an administrator.
  it.each(RULES.map(({ sample }) => sample))('a refusal that a customer of the receiver writes: %s', (sample) => {
    const text = sample.replace(/^\d{3} (?:\d\.\d+\.\d+ )?/, '');
    for (const provider of ['google', 'microsoft-365', 'mimecast', 'proofpoint', 'cisco', undefined])
      for (const start of ['550 5.7.1', '550 5.7.0', '550 5.7.999', '554', '550'])
        expect([start, reactTo(provider, `${start} ${text}`)]).toEqual([start, []]);
  });

  it('the refusal of a customer that Barracuda quotes', () => {
    const line =
      '550 permanent failure for one or more recipients (x@example.com:550 5.7.1 (y@example.com:blocked) Barracuda Reputation)';
    expect(reactTo('barracuda', line)).toEqual([]);
  });
});

describe('of the reactions that a reply matches', () => {
  it('there is one for each kind and scope, and the rule of the provider counts before a general one', () => {
    const line = '451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (AS77712344)';
    const reply = parse(line);
    const found = policies.reactionsTo('microsoft-365', reply, findCause('microsoft-365', reply));
    expect(
      found.map(({ provider, action, scope, matches, durationMs }) => ({
        provider,
        action,
        scope,
        matches,
        minutes: durationMs / 60_000,
      })),
    ).toEqual([
      {
        provider: 'microsoft-365',
        action: { kind: 'rate', messagesPerMinute: 1 },
        scope: 'provider',
        matches: 3,
        minutes: 15,
      },
      { provider: 'microsoft-365', action: { kind: 'suspend' }, scope: 'provider', matches: 5, minutes: 30 },
      {
        provider: undefined,
        action: { kind: 'connections', connections: 1 },
        scope: 'provider',
        matches: 1,
        minutes: 90,
      },
    ]);
    expect(policies.reactionsTo(undefined, reply, undefined).map(({ action }) => action.kind)).toEqual([
      'rate',
      'connections',
    ]);
    expect(policies.reactionsTo('nobody', reply, undefined)).toEqual(policies.reactionsTo(undefined, reply, undefined));
  });

  it.each([
    ['google', '421 4.7.28 Gmail has detected an unusual rate of unsolicited mail containing one of your URL domains.'],
    ['google', '421 4.7.0 Our system has detected that this message is suspicious due to the nature of the content.'],
    ['google', '421 4.7.32 This mail has been rate limited because there is no DMARC alignment'],
    ['qq', '550 Domain frequency limited. http://service.mail.qq.com/'],
    ['netease', '421 MI:SFQ 163 smtp'],
    ['apple', '450 4.7.1 Your email was rejected due to having a domain present in the Spamhaus DBL.'],
  ])('only those for the sending domain remain at %s if it is the reason: %s', (provider, line) => {
    const reply = parse(line);
    const found = policies.reactionsTo(provider, reply, findCause(provider, reply));
    expect([...new Set(found.map(({ scope }) => scope))]).toEqual(['sender']);
  });

  it('a general one by the cause counts for a provider only if no rule of the provider matches', () => {
    const rate = {
      code: 421,
      lines: ['The mail server [192.0.2.1] has exceeded maximum number of messages per connection'],
    };
    const kinds = (provider: string | undefined): string[] =>
      policies.reactionsTo(provider, rate, 'rate').map(({ action }) => action.kind);
    expect(kinds('microsoft-365')).toEqual(['messages_per_connection']);
    expect(kinds('google')).toEqual(['connections']);
    expect(kinds(undefined)).toEqual(['connections']);
  });
});

// Quadratic work would take minutes, which is longer than a test may take.
describe('the patterns take linear time for 64 KB of', () => {
  const pieces = [
    ...new Set(RULES.flatMap(({ sample }) => [sample, `${sample.slice(0, -5)} `, ...sample.split(/[ .]/).slice(2, 5)])),
    'messages from ',
    'messages from 192.0.2.1 ',
    'messages from [1.1.1.1',
    'IP=192.0.2.1 - ',
    'IP=1',
    'unusual rate of ',
    'client host blocked for spamming issues',
    'permanent failure for one or more recipients (',
    '554 reject due to policy restrictions',
    '(',
    '[',
    ' ',
    'a',
    '5.7.6',
    '421 too many',
  ].filter((piece) => piece !== '');

  it.each(pieces)('%j', (piece) => {
    const text = piece.repeat(Math.ceil(65_536 / piece.length));
    for (const start of ['', '550 permanent failure for one or more recipients (', '554 ', '421 '])
      for (const { text: pattern, enhanced } of RULES) {
        pattern?.test(start + text);
        enhanced?.test(start + text);
      }
    const reply: Reply = { code: 450, lines: [text] };
    for (const provider of NAMES) expect(policies.reactionsTo(provider, reply, 'rate').length).toBeLessThan(10);
  });
});

describe('a fault in the file is refused with the number of the reaction:', () => {
  const sound = `provider = "acme"\ntext = 'slow down'\ncodes = "4yz"\naction = "suspend"\nminutes = 5\nsource = "PG"\nsample = "421 slow down"`;
  const load = (reaction: string, head = 'customer_texts = ["big"]'): unknown =>
    readReactions(
      `${head}\n[providers.acme]\nmx = [".acme.example."]\n[providers.big]\nmx = [".big.example"]\n[[reactions]]\n${reaction}`,
    );

  it('none', () => {
    expect(load(sound)).toHaveLength(1);
  });

  it.each([
    ['has the unknown key stage', `${sound}\nstage = "DATA"`],
    ['names the unknown provider gmail', sound.replace('"acme"', '"gmail"')],
    ['names the unknown cause weather', `${sound}\ncause = "weather"`],
    ['names the unknown cause constructor', `${sound}\ncause = "constructor"`],
    ['names the cause greylist, which less mail does not help', `${sound}\ncause = "greylist"`],
    ['names the cause recipient_rate', `${sound}\ncause = "recipient_rate"`],
    ['names the cause recipient_unknown', `${sound}\ncause = "recipient_unknown"`],
    ['has no sample or no source', sound.replace('source = "PG"', '')],
    ['has no sample or no source', sound.replace('sample = "421 slow down"', '')],
    ['has a sample that is no reply: slow down', sound.replace('"421 slow', '"slow')],
    ['does not match its sample: 421 hurry', sound.replace('421 slow down', '421 hurry')],
    ['does not match its sample: 550 slow down', sound.replace('421 slow down', '550 slow down')],
    ['has no condition', sound.replace("text = 'slow down'\n", '')],
    ['has a doubled backslash in slow\\\\s', sound.replace("'slow down'", String.raw`'slow\\s'`)],
    ['has a doubled backslash in \\\\[HCM1', sound.replace("'slow down'", String.raw`'\\[HCM1\\]'`)],
    ['has an invalid pattern', sound.replace("'slow down'", "'slow ('")],
    ['has the unknown action pause', sound.replace('"suspend"', '"pause"')],
    ['has the unknown action constructor', sound.replace('"suspend"', '"constructor"')],
    ['has the unknown scope team', `${sound}\nscope = "team"`],
    ['has connections, which its action suspend does not use', `${sound}\nconnections = 1`],
    ['must have an integer from 1 to 100000 as its messages_per_minute', sound.replace('"suspend"', '"rate"')],
    ['must have an integer from 1 to 1440 as its minutes', sound.replace('minutes = 5', 'minutes = 0')],
    ['must have an integer from 1 to 1440 as its minutes', sound.replace('minutes = 5\n', '')],
    ['has matches but no within_minutes', `${sound}\nmatches = 3`],
    ['has within_minutes but no matches', `${sound}\nwithin_minutes = 60`],
    ['must have "4yz" or a list of reply codes', sound.replace('"4yz"', '"5yz"')],
    ['must have "4yz" or a list of reply codes', sound.replace('"4yz"', '[42]')],
    ['must have codes = "4yz" or an enhanced code', sound.replace('"acme"', '"big"').replace('codes = "4yz"\n', '')],
    ['must have codes = "4yz" or an enhanced code', sound.replace('"4yz"', '[421, 550]').replace('"acme"', '"big"')],
    [
      'must have codes = "4yz" or an enhanced code',
      sound.replace('provider = "acme"\n', '').replace('codes = "4yz"\n', ''),
    ],
    [
      'must have codes = "4yz" or an enhanced code',
      `${sound.replace('"acme"', '"big"').replace('codes = "4yz"', "enhanced = '^5'")}`,
    ],
  ])('%s', (says, reaction) => {
    expect(() => load(reaction)).toThrow(says);
    expect(() => load(reaction)).toThrow(/^config\/providers\.toml: reaction 1 /);
  });

  it('a reaction that repeats another', () => {
    expect(() => load(`${sound}\n[[reactions]]\n${sound.replace('minutes = 5', 'minutes = 9')}`)).toThrow(
      'config/providers.toml: reaction 2 repeats reaction 1',
    );
  });

  it('a text that a receiver could quote from its customers', () => {
    const quoting = sound.replace('"acme"', '"big"').replace('codes = "4yz"\n', '');
    expect(() => load(quoting, 'customer_quotes = ["big"]')).toThrow(
      'config/providers.toml: reaction 1 (big) must have codes = "4yz", or a text that begins with ^',
    );
    const anchored = quoting.replace("'slow down'", "'^421 slow down'");
    expect(load(anchored, 'customer_quotes = ["big"]')).toHaveLength(1);
  });

  it('an unknown table, or an unknown provider whose customers write refusals', () => {
    expect(() => load(sound, '[reaction]')).toThrow('config/providers.toml: unknown table reaction');
    expect(() => load(sound, 'customer_texts = ["gmail"]')).toThrow(
      'config/providers.toml: customer_texts names the unknown provider gmail',
    );
  });
});
