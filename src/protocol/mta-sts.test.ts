import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesStsPattern, readStsPolicy, readStsRecord, stsPolicyId, writeStsPolicy } from './mta-sts.ts';

describe('the MTA-STS record of a domain', () => {
  it.each([
    [['v=STSv1; id=20160831085700Z;'], '20160831085700Z'],
    [['v=STSv1;id=1'], '1'],
    [['v=STSv1 ; id = a1 ; extra=x'], 'a1'],
    [['google-site-verification=x', 'v=STSv1; id=abc'], 'abc'],
    [['v=STSv1; extra=1; id=abc'], 'abc'],
    [['v=STSv10; id=2', 'v=STSv1; id=1'], '1'],
    [[`v=STSv1; id=${'a'.repeat(32)}`], 'a'.repeat(32)],
  ])('is found in %j', (texts, id) => {
    expect(readStsRecord(texts)).toEqual({ id });
  });

  it.each([
    ['there is none', []],
    ['there are two', ['v=STSv1; id=1', 'v=STSv1; id=2']],
    ['the version is another one', ['v=STSv2; id=1']],
    ['the version is not first', ['id=1; v=STSv1']],
    ['the version is in lower case', ['v=stsv1; id=1']],
    ['it has no id', ['v=STSv1;']],
    ['the id is empty', ['v=STSv1; id=;']],
    ['the id has a hyphen', ['v=STSv1; id=2016-08-31']],
    ['the id is longer than 32 characters', [`v=STSv1; id=${'a'.repeat(33)}`]],
    ['it has two ids', ['v=STSv1; id=1; id=2']],
    ['its key is in upper case', ['v=STSv1; ID=1']],
  ])('counts as absent if %s', (_case, texts) => {
    expect(readStsRecord(texts)).toBeUndefined();
  });
});

describe('an MTA-STS policy', () => {
  it('can have CRLF or LF, no final line end, and blanks after a value', () => {
    const lines = [
      'version: STSv1',
      'mode: enforce ',
      'mx: mail.example.com',
      'mx:*.Example.NET\t',
      'max_age:  604800',
    ];
    const policy = { mode: 'enforce', maxAgeSeconds: 604_800, mx: ['mail.example.com', '*.example.net'] };
    expect(readStsPolicy(lines.join('\r\n'))).toEqual(policy);
    expect(readStsPolicy(`${lines.join('\n')}\n\n`)).toEqual(policy);
  });

  it('ignores unknown keys, their order, and all but the first value of a repeated key', () => {
    const text =
      'max_age: 86400\nfuture_key: ä:b\nmode: testing\nmode: enforce\nmx: a.example\nmax_age: x\nversion: STSv1\n';
    expect(readStsPolicy(text)).toEqual({ mode: 'testing', maxAgeSeconds: 86_400, mx: ['a.example'] });
  });

  it('needs no mx if its mode is none', () => {
    expect(readStsPolicy('version: STSv1\nmode: none\nmax_age: 0\n')).toEqual({
      mode: 'none',
      maxAgeSeconds: 0,
      mx: [],
    });
  });

  it('may have internationalized hosts as A-labels, and a final dot', () => {
    const text = 'version: STSv1\nmode: enforce\nmax_age: 31557600\nmx: mx.XN--MNCHEN-3YA.example.\n';
    expect(readStsPolicy(text)).toEqual({
      mode: 'enforce',
      maxAgeSeconds: 31_557_600,
      mx: ['mx.xn--mnchen-3ya.example'],
    });
  });

  const good = 'version: STSv1\nmode: enforce\nmx: mx.example.com\nmax_age: 86400\n';
  it.each([
    ['', 'The policy has no version; the only one is "version: STSv1".'],
    ['<!doctype html>\n<p>Not found', 'Line 1 of the policy is not of the form "key: value".'],
    [good.replace('STSv1', 'STSv2'), 'The version is "STSv2"; the only one is "STSv1".'],
    [good.replace('mode: enforce\n', ''), 'The policy has no mode.'],
    [good.replace('enforce', 'Enforce'), 'The mode is "Enforce"; it must be enforce, testing or none.'],
    [good.replace('max_age: 86400\n', ''), 'The policy has no max_age.'],
    [
      good.replace('86400', '31557601'),
      'The max_age is "31557601"; it must be a number of seconds from 0 to 31557600.',
    ],
    [good.replace('86400', '-1'), 'The max_age is "-1"; it must be a number of seconds from 0 to 31557600.'],
    [good.replace('86400', '1d'), 'The max_age is "1d"; it must be a number of seconds from 0 to 31557600.'],
    [good.replace('86400', ''), 'The max_age is ""; it must be a number of seconds from 0 to 31557600.'],
    [good.replace('mx: mx.example.com\n', ''), 'The policy has no mx, which the mode enforce requires.'],
    [good.replace('mx.example.com', ''), 'The mx "" is neither a host name nor "*." and a domain name.'],
    [good.replace('mx.', '*.*.'), 'The mx "*.*.example.com" is neither a host name nor "*." and a domain name.'],
    [good.replace('mx.', 'm*.'), 'The mx "m*.example.com" is neither a host name nor "*." and a domain name.'],
    [good.replace('mx.', '.'), 'The mx ".example.com" is neither a host name nor "*." and a domain name.'],
    [
      good.replace('mx.', 'münchen.'),
      'The mx "münchen.example.com" is neither a host name nor "*." and a domain name.',
    ],
    [
      good.replace('mx.example.com', '192.0.2.1'),
      'The mx "192.0.2.1" is neither a host name nor "*." and a domain name.',
    ],
    [good + 'mx: a.example\n'.repeat(100), 'The policy has 101 lines with mx; at most 100 are allowed.'],
    [good + 'x'.repeat(65_536), 'The policy has 65599 characters; at most 65536 are allowed.'],
  ])('is refused with the rule that it breaks (%#)', (text, fault) => {
    expect(readStsPolicy(text)).toEqual({ fault });
  });

  it('is the same after it was written and read again', () => {
    const label = fc.string({ unit: fc.constantFrom(...'abcz09'), minLength: 1, maxLength: 8 });
    const host = fc.tuple(fc.constantFrom('', '*.'), label, label).map(([start, a, b]) => `${start}${a}.${b}.example`);
    const policies = fc.record({
      mode: fc.constantFrom('enforce' as const, 'testing' as const, 'none' as const),
      maxAgeSeconds: fc.integer({ min: 0, max: 31_557_600 }),
      mx: fc.array(host, { minLength: 1, maxLength: 10 }),
    });
    fc.assert(
      fc.property(policies, (policy) => {
        expect(readStsPolicy(writeStsPolicy(policy))).toEqual(policy);
      }),
    );
  });

  it('is written with CRLF, and its id changes with its content', () => {
    const policy = { mode: 'testing' as const, maxAgeSeconds: 86_400, mx: ['mx1.example.com', 'mx2.example.com'] };
    const text = writeStsPolicy(policy);
    expect(text).toBe(
      'version: STSv1\r\nmode: testing\r\nmax_age: 86400\r\nmx: mx1.example.com\r\nmx: mx2.example.com\r\n',
    );
    const id = stsPolicyId(text);
    expect(readStsRecord([`v=STSv1; id=${id}`])).toEqual({ id });
    expect(stsPolicyId(text)).toBe(id);
    expect(stsPolicyId(writeStsPolicy({ ...policy, mode: 'enforce' }))).not.toBe(id);
  });

  it('never fails with an exception, whatever its text is', () => {
    const unit = fc.constantFrom(...'version:mode:mx:max_age:STSv1enforce*.-é \r\n\t\0');
    fc.assert(fc.property(fc.string({ unit, maxLength: 200 }), (text) => void readStsPolicy(text)));
  });
});

describe('an MX host', () => {
  it.each([
    ['mail.example.com', ['mail.example.com'], true],
    ['MAIL.Example.com.', ['mail.example.com'], true],
    ['mail.example.com', ['Mail.Example.Com.'], true],
    ['mail.example.com', ['other.example', '*.example.com'], true],
    ['example.com', ['*.example.com'], false],
    ['a.b.example.com', ['*.example.com'], false],
    ['x.h-v1.mx.microsoft', ['*.mx.microsoft'], false],
    ['.example.com', ['*.example.com'], false],
    ['mailexample.com', ['*.example.com'], false],
    ['mail.example.com', ['example.com'], false],
    ['mail.example.com.evil.example', ['mail.example.com'], false],
    ['mail.example.com', [], false],
  ])('%s, compared with %j, is permitted: %s', (host, patterns, isPermitted) => {
    expect(matchesStsPattern(host, patterns)).toBe(isPermitted);
  });
});
