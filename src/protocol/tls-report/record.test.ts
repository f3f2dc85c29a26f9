import { describe, expect, it } from 'vitest';
import { readTlsReportRecord } from './record.ts';

const mailto = (address: string): object => ({ kind: 'mailto', address });
const https = (url: string): object => ({ kind: 'https', url });

describe('the TLS report record of a domain', () => {
  it.each([
    ['v=TLSRPTv1; rua=mailto:tls@example.com', [mailto('tls@example.com')]],
    ['v=TLSRPTv1;rua=mailto:tls@Example.COM;', [mailto('tls@example.com')]],
    [
      'v=TLSRPTv1 ; ext=1 ; rua=mailto:a@example.com , https://example.net/v1/tlsrpt',
      [mailto('a@example.com'), https('https://example.net/v1/tlsrpt')],
    ],
    ['v=TLSRPTv1; rua=mailto:tls%2Bx%21y@example.com?subject=report', [mailto('tls+x!y@example.com')]],
    [
      'v=TLSRPTv1; rua=MAILTO:a@example.com,HTTPS://Example.net/a%2Cb',
      [mailto('a@example.com'), https('https://example.net/a%2Cb')],
    ],
    ['v=TLSRPTv1; rua=mailto:a@example.com,mailto:a@EXAMPLE.com', [mailto('a@example.com')]],
    ['v=TLSRPTv1; rua=mailto:a@example.com; rua=mailto:b@example.com', [mailto('a@example.com')]],
    [`v=TLSRPTv1; rua=https://example.com/${'a'.repeat(980)}`, [https(`https://example.com/${'a'.repeat(980)}`)]],
  ])('is read from %j', (text, rua) => {
    expect(readTlsReportRecord(['other', text])).toEqual({ rua });
  });

  it('keeps its usable targets if others are malformed', () => {
    const record =
      'v=TLSRPTv1; rua=postmaster@example.com,http://example.com/,ftp://a,mailto:%zz@a.example,mailto:a@b@c,' +
      'mailto:x%0d%0aBcc:y@example.com,mailto:%22a%0D%0Ab%22@example.com,https://u:p@example.com/,mailto:ok@example.com';
    expect(readTlsReportRecord([record])).toEqual({ rua: [mailto('ok@example.com')] });
  });

  it('has at most two addresses and two URLs', () => {
    const many = Array.from({ length: 5 }, (_, n) => `mailto:r${n}@example.com,https://r${n}.example.com/`).join(',');
    expect(readTlsReportRecord([`v=TLSRPTv1; rua=${many}`])?.rua).toEqual([
      mailto('r0@example.com'),
      https('https://r0.example.com/'),
      mailto('r1@example.com'),
      https('https://r1.example.com/'),
    ]);
  });

  it.each([
    ['there is none', []],
    ['there are two', ['v=TLSRPTv1; rua=mailto:a@example.com', 'v=TLSRPTv1; rua=mailto:b@example.com']],
    ['the version is another one', ['v=TLSRPTv2; rua=mailto:a@example.com']],
    ['the version is not first', ['rua=mailto:a@example.com; v=TLSRPTv1']],
    ['it has no rua', ['v=TLSRPTv1;']],
    ['no target is usable', ['v=TLSRPTv1; rua=postmaster@example.com']],
    ['the target is longer than 1,000 bytes', [`v=TLSRPTv1; rua=https://example.com/${'a'.repeat(981)}`]],
    ['the target is longer than 1,000 bytes once encoded', [`v=TLSRPTv1; rua=https://example.com/${'é'.repeat(164)}`]],
  ])('counts as absent if %s', (_case, texts) => {
    expect(readTlsReportRecord(texts)).toBeUndefined();
  });
});
