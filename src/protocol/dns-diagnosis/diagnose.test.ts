import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countSpfLookups,
  diagnose,
  furtherQuestions,
  compareAnswer,
  permitsIssuer,
  questionKey,
  shown,
  decodeText,
  type Answer,
  type Observations,
  type Wanted,
  type ServerObservation,
} from './index.ts';

const KEY = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA' + 'x'.repeat(348);
const WANTED: Wanted[] = [
  {
    record: 'DKIM',
    type: 'TXT',
    name: 's._domainkey.m.example.com',
    value: `v=DKIM1; k=rsa; p=${KEY}`,
    priority: null,
  },
  { record: 'SPF', type: 'TXT', name: 'send.m.example.com', value: 'v=spf1 a:host.test ~all', priority: null },
  { record: 'SPF', type: 'MX', name: 'send.m.example.com', value: 'host.test', priority: 10 },
  { record: 'Receiving', type: 'MX', name: 'm.example.com', value: 'host.test', priority: 10 },
  { record: 'Tracking', type: 'CNAME', name: 'track.m.example.com', value: 'host.test', priority: null },
  { record: 'TrackingCAA', type: 'CAA', name: 'm.example.com', value: '0 issue "ca.test"', priority: null },
  { record: 'DMARC', type: 'TXT', name: '_dmarc.m.example.com', value: 'v=DMARC1; p=none', priority: null },
  { record: 'Claim', type: 'TXT', name: 'm.example.com', value: 'rasket-claim=abc', priority: null },
].map((wanted) => ({ ...wanted, domain: 'm.example.com' }) as Wanted);

const found = (...records: string[]): Answer => ({ kind: 'found', records, aliases: [] });
const wantedFor = (record: Wanted['record'], type?: Wanted['type']): Wanted => {
  const wanted = WANTED.find((one) => one.record === record && (type === undefined || one.type === type));
  if (!wanted) throw new Error(record);
  return wanted;
};

/** Almost valid fragments, so that generated texts get past the first rule. */
const fragments = fc.constantFrom(
  'v=spf1',
  'v=DKIM1;',
  'k=rsa;',
  'p=',
  KEY,
  KEY.slice(0, 99),
  '" "',
  '"',
  '“',
  '\\;',
  ';',
  '=',
  ' ',
  '\t',
  'a:host.test',
  'include:',
  'include:loop.test',
  'redirect=loop.test',
  '~all',
  '+all',
  'v=DMARC1;',
  'p=none',
  'aspf=s',
  'host.test',
  'm.example.com',
  '10 ',
  '0 .',
  '.',
  '0 issue ',
  'ca.test',
  'IN TXT',
  '\u001b[2J',
  '\u202e',
  '\0',
  '%{i}',
  '__proto__=',
);
const texts = fc.oneof(
  fc.array(fragments, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 300 }),
);
const answers: fc.Arbitrary<Answer> = fc.oneof(
  fc.record({
    kind: fc.constant('found' as const),
    records: fc.array(texts, { maxLength: 5 }),
    aliases: fc.array(texts, { maxLength: 2 }),
    ttlSeconds: fc.option(fc.integer({ min: 0, max: 0xffff_ffff }), { nil: undefined }),
  }),
  fc.record({
    kind: fc.constant('none' as const),
    why: fc.constantFrom('nxdomain' as const, 'nodata' as const),
    aliases: fc.array(texts, { maxLength: 2 }),
    ttlSeconds: fc.option(fc.integer({ min: 0, max: 0xffff_ffff }), { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('failed' as const), reason: texts }),
);
const servers = fc.record({
  host: texts,
  state: fc.constantFrom('answers', 'silent', 'garbled', 'failing', 'lame', 'nameless', 'private'),
  answer: fc.option(answers, { nil: undefined }),
}) as fc.Arbitrary<NonNullable<Observations['zone']>['servers'][number]>;

describe('for any DNS response, the diagnosis', () => {
  it('is a verdict and one short harmless sentence, and never an exception', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...WANTED),
        answers,
        fc.option(answers, { nil: undefined }),
        fc.option(
          fc.record({
            name: fc.constantFrom('example.com', 'm.example.com', 'com', '.'),
            servers: fc.array(servers, { maxLength: 4 }),
          }),
          { nil: undefined },
        ),
        fc.array(answers, { maxLength: 20 }),
        fc.constantFrom(0, 1_763_600_000_000, Number.MAX_SAFE_INTEGER),
        (wanted, checked, resolver, zone, others, nowMs) => {
          const questions = furtherQuestions(wanted, zone?.name ?? 'example.com', checked, 'x1');
          const further = new Map(questions.map((question, at) => [questionKey(question), others[at] ?? checked]));
          const siblings = WANTED.map((one, at) => ({ wanted: one, isRight: at % 2 === 0 }));
          const { verdict, sentence } = diagnose(wanted, { nowMs, checked, resolver, zone, further, siblings }, 'x1');
          expect(['right', 'wrong', 'absent', 'unknown']).toContain(verdict);
          if (verdict !== 'right') expect(sentence).not.toBeNull();
          expect(Array.from(sentence ?? '').length).toBeLessThanOrEqual(600);
          expect(sentence ?? '').not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
        },
      ),
      { numRuns: 5 * (fc.readConfigureGlobal()?.numRuns ?? 100) },
    );
  });

  it('asks at most fourteen further questions, each of a valid length', () => {
    fc.assert(
      fc.property(fc.constantFrom(...WANTED), answers, (wanted, answer) => {
        const questions = furtherQuestions(wanted, 'example.com', answer, 'x1');
        expect(questions.length).toBeLessThanOrEqual(14);
        expect(new Set(questions.map(questionKey)).size).toBe(questions.length);
      }),
    );
  });

  it('of the largest responses takes no time', () => {
    for (const unit of ['"', ' ', '\\', ';', 'p=', 'a:', '" "', 'v=spf1 include:x ', 'IN TXT ', '\u00a0']) {
      const huge = found(...Array.from({ length: 60 }, () => unit.repeat(30_000)));
      for (const wanted of WANTED) diagnose(wanted, { nowMs: 0, checked: huge });
      countSpfLookups(`v=spf1 ${unit.repeat(30_000)}`, new Map());
    }
  });
});

describe('a record that matches what was requested is right', () => {
  it.each(WANTED)('for $record $type', (wanted) => {
    const value = wanted.type === 'MX' ? `10 ${wanted.value}` : wanted.value;
    expect(compareAnswer(wanted, found(value))).toEqual({ verdict: 'right', sentence: null });
  });

  it.each([
    ['DKIM', `k=rsa; p=${KEY}`, 'the version may be left out'],
    ['DKIM', `v=DKIM1;t=s; k = rsa ;p=${KEY.slice(0, 100)} ${KEY.slice(100)};`, 'folding and other tags'],
    ['SPF', 'V=SPF1 +A:HOST.test include:x.test -all', 'capitals and senders of the team'],
    ['DMARC', 'v=DMARC1;p=reject;rua=mailto:x@y.test', 'a stricter policy'],
    ['TrackingCAA', '128 ISSUE "CA.test; account=7"', 'parameters, capitals and the critical flag'],
  ] as [Wanted['record'], string, string][])('for %s: %s (%s)', (record, text) => {
    expect(compareAnswer(wantedFor(record), found(text)).verdict).toBe('right');
  });
});

describe('a wrong record is explained without further queries', () => {
  it.each([
    {
      wanted: wantedFor('DKIM'),
      records: [`v=DKIM1; k=rsa; p=${KEY}tail`],
      says: 'goes on after its end: 396 characters where 392 are asked for',
    },
    { wanted: wantedFor('DKIM'), records: ['v=DKIM1; k=rsa'], says: 'has no p= tag and so no key' },
    {
      wanted: wantedFor('DKIM'),
      records: [`v=DKIM1; k=rsa; p=${KEY}`, 'v=DKIM1; p=AAAA'],
      says: 'There are 2 keys at',
    },
    { wanted: wantedFor('DKIM'), records: [`v=DMARC1; p=${KEY}`], says: 'must begin with v=DKIM1' },
    {
      wanted: wantedFor('DMARC'),
      records: ['v=DMARC1; rua=mailto:a@b.test'],
      says: 'has no p= tag; p must be none, quarantine or reject',
    },
    {
      wanted: wantedFor('DMARC'),
      records: ['"v=DMARC1; p=none"'],
      says: 'has quotation marks that are part of the text',
    },
    {
      wanted: wantedFor('SPF', 'TXT'),
      records: ['v=spf1\u00a0a:host.test ~all'],
      says: 'has invisible or unusual blanks in it',
    },
    { wanted: wantedFor('Claim'), records: [' rasket-claim=abc'], says: 'has a blank before its first character' },
    {
      wanted: wantedFor('Claim'),
      records: ['rasket-claim=abd'],
      says: 'says "rasket-claim=abd"; it must be the value shown',
    },
    {
      wanted: wantedFor('Receiving'),
      records: ['10 host.test', '10 mx.other.test'],
      says: 'has the same priority as host.test (10), so mail may go there',
    },
    { wanted: wantedFor('Tracking'), records: ['https://host.test/'], says: 'points to a web address' },
    { wanted: wantedFor('TrackingCAA'), records: ['128 newtag "x"'], says: 'has the critical tag newtag' },
  ])('with the sentence “$says”', ({ wanted, records, says }) => {
    expect(compareAnswer(wanted, found(...records)).sentence).toContain(says);
  });

  it('and unrelated records next to ours are no fault', () => {
    for (const record of ['SPF', 'DMARC', 'Claim'] as const) {
      expect(compareAnswer(wantedFor(record, 'TXT'), found('other-proof=1')).verdict).toBe('absent');
    }
  });
});

describe('the count of SPF lookups', () => {
  it('includes every term that queries DNS, wherever it is, and does not follow macros', () => {
    const names = new Map([['inner.test', found('v=spf1 mx a ptr exists:%{i}.x.test -all')]]);
    const cost = countSpfLookups('v=spf1 a:h.test ip4:192.0.2.1 include:inner.test include:%{d}.y.test ~all', names);
    expect(cost).toEqual({ lookups: 7, missing: [], broken: [] });
  });

  it('reports names that are still unknown, and ends although a record includes itself', () => {
    expect(countSpfLookups('v=spf1 include:a.test redirect=b.test', new Map()).missing).toEqual(['a.test', 'b.test']);
    const loop = new Map([['a.test', found('v=spf1 include:a.test include:a.test -all')]]);
    expect(countSpfLookups('v=spf1 include:a.test', loop).lookups).toBeLessThanOrEqual(30);
  });
});

it.each([
  { records: [], permits: true },
  { records: ['0 iodef "mailto:a@b.test"'], permits: true },
  { records: ['0 issuewild "other.test"'], permits: true },
  { records: ['0 issue "other.test"'], permits: false },
  { records: ['0 issue ";"'], permits: false },
  { records: ['0 issue "other.test"', '0 issue "CA.test; x=1"'], permits: true },
  { records: ['128 unknown "x"', '0 issue "ca.test"'], permits: false },
])('CAA records $records permit the issuer as expected', ({ records, permits }) => {
  expect(permitsIssuer(records, 'ca.test')).toBe(permits);
});

it.each([
  { records: [], permits: true },
  { records: ['0 issue "ca.test"'], permits: true },
  { records: ['0 issue "other.test"'], permits: false },
  { records: ['0 issue "ca.test"', '0 issuewild "other.test"'], permits: false },
  { records: ['0 issue "ca.test"', '0 issuewild ";"'], permits: false },
  { records: ['0 issue ";"', '0 issuewild "ca.test"'], permits: true },
])('CAA records $records permit the issuer of a wildcard as expected', ({ records, permits }) => {
  expect(permitsIssuer(records, 'ca.test', { isWildcard: true })).toBe(permits);
});

it('a quoted value is short, has only whole characters, and contains no control characters', () => {
  expect(shown('a\u001b[31m\u0000\u202eb\u200bc')).toBe('a\uFFFD[31m\uFFFD\uFFFDb\uFFFDc');
  expect(Array.from(shown('😀'.repeat(500)))).toHaveLength(70);
  expect(decodeText(Buffer.from('“é”').toString('latin1'))).toBe('“é”');
  expect(decodeText('\xff\xfe')).toBe('\xff\xfe');
});

const SILENT_WANTED: Wanted = {
  record: 'SPF',
  type: 'TXT',
  name: 'send.m.example.com',
  value: 'v=spf1 a:host.test ~all',
  priority: null,
  domain: 'm.example.com',
};
const NONE: Answer = { kind: 'none', why: 'nxdomain', aliases: [] };
const LATE: Answer = { kind: 'failed', reason: 'timeout' };
const SERVFAIL: Answer = { kind: 'failed', reason: 'servfail' };
const silent: ServerObservation = { host: 'ns1.example.com', state: 'silent' };
const lame: ServerObservation = { host: 'ns2.example.com', state: 'lame' };

const say = (seen: Partial<Observations>, servers: ServerObservation[]): string | null =>
  diagnose(SILENT_WANTED, { nowMs: 0, checked: NONE, zone: { name: 'example.com', servers }, ...seen }).sentence;

describe('the diagnosis of name servers that did not answer in time', () => {
  it.each([
    ['finds nothing', { resolver: NONE }],
    ['found nothing a moment ago and is slow now', { resolver: LATE }],
  ])('does not call slow name servers dead when our resolver %s', (_, seen) => {
    expect(say(seen, [silent])).toBe(
      'Our resolver finds no TXT record at send.m.example.com, and of the name servers of example.com, ns1.example.com did not answer in time; publish the record shown, and if it is published, ask again in a minute.',
    );
  });

  it('does not call slow name servers dead when our resolver is as slow', () => {
    expect(say({ checked: LATE, resolver: LATE }, [silent, lame])).toBe(
      'Of the name servers of example.com, ns1.example.com did not answer in time; ns2.example.com does not know the zone (lame delegation), and our resolver gave no answer about send.m.example.com either (timeout); ask again in a minute.',
    );
  });

  it('calls slow name servers dead when our resolver cannot reach them either', () => {
    expect(say({ checked: SERVFAIL, resolver: SERVFAIL }, [silent])).toBe(
      'Of the name servers of example.com, ns1.example.com does not answer, so nobody can look send.m.example.com up; mend it or change the delegation at the registrar.',
    );
  });

  it('does not contradict what our resolver finds', () => {
    expect(say({ resolver: found('v=spf1 -all') }, [silent])).toContain('lacks a:host.test');
    expect(say({ resolver: found(SILENT_WANTED.value) }, [silent])).toContain('is published as asked for by now');
  });

  it('does not quote a record that was found a moment ago, because it may come from an alias', () => {
    const sentence = say({ checked: found('v=spf1 secret'), resolver: LATE }, [silent]);
    expect(sentence).toContain('did not answer in time');
    expect(sentence).not.toContain('secret');
  });

  it('does not advise to remove a slow server next to one that has the record while our resolver is slow', () => {
    const answers: ServerObservation = {
      host: 'ns3.example.com',
      state: 'answers',
      answer: found(SILENT_WANTED.value),
    };
    expect(say({ checked: LATE, resolver: LATE }, [silent, answers])).toBe(
      'The TXT record at send.m.example.com is published as asked for, but our resolver gave no answer (timeout); it is asked again with the next check.',
    );
    expect(say({ checked: SERVFAIL, resolver: SERVFAIL }, [silent, answers])).toContain('take it out or mend it');
  });
});
