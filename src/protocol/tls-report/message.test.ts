import { expect, test } from 'vitest';
import { composeTlsReportMail } from './message.ts';

const START = new Date('2030-03-05T00:00:00Z');

function compose(policyDomain: string) {
  return composeTlsReportMail({
    policyDomain,
    submitter: 'mail.example.net',
    from: 'TLS reports <tls-reports@mail.example.net>',
    to: 'tls@example.com',
    id: '0195',
    at: START,
    report: {
      organizationName: 'Société',
      start: START,
      end: new Date('2030-03-05T23:59:59Z'),
      contactInfo: 'postmaster@mail.example.net',
      reportId: `20300305.${policyDomain}@mail.example.net`,
      policies: [],
    },
    gzip: Buffer.alloc(1000, 0xff),
  });
}

test('a TLS report mail has a text part and a compressed report, in lines of seven-bit characters', () => {
  const { head, body, subject, messageId } = compose('example.com');
  expect(subject).toBe(
    'Report Domain: example.com Submitter: mail.example.net Report-ID: <20300305.example.com@mail.example.net>',
  );
  expect(messageId).toBe('<0195@mail.example.net>');
  expect(head.split('\r\n')).toContain('TLS-Required: No');
  const text = body.toString('latin1');
  expect(text).toMatch(/^[\r\n\x20-\x7e]*$/);
  expect(text).toContain(' filename="mail.example.net!example.com!1898899200!1898985599.json.gz"\r\n');
  expect(text.match(/^--=_0195(--)?\r$/gm)).toHaveLength(3);
});

test('no header line of a TLS report mail is longer than a line may be, whatever the domain', () => {
  const { head } = compose(`${'a.'.repeat(120)}example.com`);
  for (const line of head.split('\r\n')) expect(line.length).toBeLessThan(998);
});
