import { describe, expect, it } from 'vitest';
import { compareAnswer, type Answer, type Wanted } from './index.ts';

const KEY = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA' + 'x'.repeat(348);
const domain = 'm.example.com';
const DKIM: Wanted = {
  record: 'DKIM',
  type: 'TXT',
  name: 's._domainkey.m.example.com',
  value: `v=DKIM1; k=rsa; p=${KEY}`,
  priority: null,
  domain,
};
const SPF: Wanted = { ...DKIM, record: 'SPF', name: 'send.m.example.com', value: 'v=spf1 a:host.test ~all' };
const DMARC: Wanted = { ...DKIM, record: 'DMARC', name: '_dmarc.m.example.com', value: 'v=DMARC1; p=none' };
const CLAIM: Wanted = { ...DKIM, record: 'Claim', name: domain, value: 'rasket-claim=abc' };

const found = (...records: string[]): Answer => ({ kind: 'found', records, aliases: [] });
const RIGHT = { verdict: 'right', sentence: null };

describe('a DKIM key that may sign our mail is right', () => {
  it.each([
    `v=DKIM1; h=sha256; k=rsa; p=${KEY}`,
    `v=DKIM1; p=${KEY}; k=rsa; s=*; h=sha1:sha256`,
    `v=DKIM1; h = sha1 :\r\n SHA256 ; s = other : email; p=${KEY}`,
    `p=${KEY}; s=*:other; t=s; n=a note with h=sha1 and s=other; x=y`,
    `v=DKIM1; t=s:other; H=sha1; S=other; p=${KEY};`,
  ])('when it is %s', (text) => {
    expect(compareAnswer(DKIM, found(text))).toEqual(RIGHT);
  });
});

describe('a DKIM key that no receiver takes for our mail is wrong', () => {
  it.each([
    ['h=sha1', 'allows only h=sha1, and our mail is signed with sha256'],
    ['h=sha1:sha512', 'allows only h=sha1:sha512, and'],
    ['h=', 'allows only h=, and'],
    ['s=other', 'is for s=other only and not for email'],
    ['s=tlsrpt : x', 'is for s=tlsrpt:x only and not for email'],
  ])('with %s', (tag, says) => {
    for (const text of [`v=DKIM1; k=rsa; ${tag}; p=${KEY}`, `v=DKIM1; k=rsa; p=${KEY}; ${tag}`]) {
      const { verdict, sentence } = compareAnswer(DKIM, found(text));
      expect([verdict, sentence]).toEqual(['wrong', expect.stringContaining(says)]);
    }
  });

  it('a different DKIM key is reported before its restrictions', () => {
    expect(compareAnswer(DKIM, found('v=DKIM1; h=sha1; p=AAAA')).sentence).toContain('Another DKIM key stands at');
  });
});

it.each(['t=y', 't=s:y', 't = Y : s'])('a DKIM key in test mode (%s) is right, with advice', (tag) => {
  const { verdict, sentence } = compareAnswer(DKIM, found(`v=DKIM1; k=rsa; ${tag}; p=${KEY}`));
  expect([verdict, sentence]).toEqual(['right', expect.stringContaining('is in test mode (t=y)')]);
});

describe('an SPF record that receivers can read is right', () => {
  it.each([
    'ip4:192.0.2.1',
    'ip4:192.0.2.0/24 ip4:0.0.0.0/0 ip4:192.0.2.1/32',
    'ip6:2001:db8::1 ip6:2001:DB8::/32 ip6:::/0 ip6:::1/128',
    'ip6:::ffff:192.0.2.1 ip6:::ffff:192.0.2.0/120 ip6:2001:db8:1:2:3:4:5:6',
    'a mx a/24 mx//64 a/24//64 a:h.test/0 mx:h.test//128 -a:h.test. ?ptr ptr:h.test',
    'include:_spf.h.test exists:%{i}._spf.%{d2}.test exists:%{l1r+-/}.%{o}.test a:%{d1r/} a:%{d}/24',
    'exp=e.%{d} redirect=h.test',
    'x-note=100%% y=%_%- z= ip4=999 a.b_c-d=%{S}',
  ])('with the terms %s', (terms) => {
    expect(compareAnswer(SPF, found(`v=spf1 a:host.test ${terms} ~all`))).toEqual(RIGHT);
    expect(compareAnswer(SPF, found(`v=spf1 ${terms}  +a:host.test -all `))).toEqual(RIGHT);
  });

  it('when it is long, whatever precedes the cut', () => {
    for (const end of ['', '.', '..', '...', '....', '.....', '......']) {
      const many = Array.from({ length: 150 }, (_, i) => `ip4:192.0.2.${i}/32`).join(' ');
      expect(compareAnswer(SPF, found(`v=spf1 a:host.test x=${end} ${many} ~all`)).verdict).toBe('right');
    }
  });
});

describe('an SPF record with an unreadable term is wrong', () => {
  it.each([
    'ip4:999.1.1.1',
    'ip4:192.0.2',
    'ip4:192.0.2.1/33',
    'ip4:192.0.2.1/',
    'ip4:192.0.2.1/024',
    'ip4:192.0.2.1/24/24',
    'ip4:2001:db8::1',
    'ip4:h.test',
    'ip6:192.0.2.1',
    'ip6::::::',
    'ip6:2001:db8::1/129',
    'ip6:fe80::1%eth0',
    'ip6:[::1]',
    'a:',
    'a:h.test/33',
    'mx//129',
    'a/24/64',
    'a:h.test/x',
    'include:',
    'include',
    'exists:',
    'redirect=',
    'exp=',
    '+redirect=h.test',
    'exists:%{q}.h.test',
    'exists:%i.h.test',
    'x=100%',
    'all.',
    'inlcude:h.test',
    'ip4:192.0.2.1;',
    'a:h.tést',
  ])('with the term %s', (term) => {
    const { verdict, sentence } = compareAnswer(SPF, found(`v=spf1 a:host.test ${term} ~all`));
    expect([verdict, sentence]).toEqual(['wrong', expect.stringContaining(`has the term "${term}"`)]);
    expect(sentence).toContain('makes every check fail (RFC 7208 §4.6)');
  });

  it.each(['redirect', 'exp'])('with two %s= terms', (name) => {
    const text = `v=spf1 a:host.test ${name}=a.test ${name}=b.test`;
    expect(compareAnswer(SPF, found(text))).toEqual({
      verdict: 'wrong',
      sentence: `The SPF record at send.m.example.com has 2 ${name}= terms, and more than one makes every check fail (RFC 7208 §6); keep one.`,
    });
  });

  it('with an unusual blank between two terms', () => {
    const { verdict, sentence } = compareAnswer(SPF, found('v=spf1 a:host.test\u00a0~all'));
    expect([verdict, sentence]).toEqual(['wrong', expect.stringContaining('invisible or unusual blanks')]);
  });
});

describe('a record is found at any position among many others of its name', () => {
  const many = Array.from({ length: 200 }, (_, i) => `site-proof-${i}=abc`);
  it.each([DKIM, SPF, DMARC, CLAIM])('when it is a record for $record', (wanted) => {
    expect(compareAnswer(wanted, found(...many, wanted.value))).toEqual(RIGHT);
  });

  it('and so is a second one that makes it invalid', () => {
    expect(compareAnswer(SPF, found(SPF.value, ...many, 'v=spf1 -all')).verdict).toBe('wrong');
    expect(compareAnswer(DMARC, found(DMARC.value, ...many, 'v=DMARC1; p=reject')).verdict).toBe('wrong');
  });
});
