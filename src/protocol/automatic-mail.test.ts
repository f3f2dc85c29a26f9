import { describe, expect, it } from 'vitest';
import { readMessage } from './read-message/index.ts';
import { headersOfAutomaticAnswer, isNoReply, isWrittenByMachine, machineSigns } from './automatic-mail.ts';

const LIMITS = { depthMax: 20, headerBytesMax: 2 * 1024 * 1024, partsMax: 100 };
const OWN = new Set(['support@shop.example']);

async function findSigns(fields: readonly string[], mailFrom = 'ann@home.example') {
  const head = ['From: ann@home.example', 'To: support@shop.example', ...fields];
  const reading = await readMessage(Buffer.from([...head, '', 'Hello'].join('\r\n')), LIMITS);
  return machineSigns(reading, { mailFrom, ownAddresses: OWN });
}

const rows: [name: string, fields: string[], signs: string[], isMachine: boolean][] = [
  ['mail of a person', ['Subject: Printer'], [], false],
  ['mail that says it is not automatic', ['Auto-Submitted: no'], [], false],
  ['mail that says with a comment that it is not automatic', ['Auto-Submitted: no (really)'], [], false],
  ['RFC 3834', ['Auto-Submitted: auto-replied; owner-email="a@b.example"'], ['auto-submitted'], true],
  ['a program', ['Auto-Submitted: auto-generated'], ['auto-submitted'], true],
  ['a word that nobody knows', ['Auto-Submitted: nonsense'], ['auto-submitted'], true],
  ['a header from before RFC 3834', ['X-Autoreply: yes'], ['answer-header'], true],
  ['a subject alone', ['Subject: Automatische Antwort: Drucker'], ['subject'], true],
  ['a subject alone, without a colon', ['Subject: Out of Office'], ['subject'], true],
  ['a subject alone, in Japanese', ['Subject: =?utf-8?B?6Ieq5YuV6L+U5L+hOiBIZWxsbw==?='], ['subject'], true],
  ['an answer of a person to it', ['Subject: Re: Office is out of paper'], [], false],
  ['bulk mail', ['Precedence: bulk'], ['bulk'], false],
  ['a mail of first class', ['Precedence: first-class'], [], false],
  ['a list', ['List-Id: <a.example>', 'List-Post: <mailto:a@b.example>'], ['list'], false],
  ['a newsletter', ['List-Unsubscribe: <https://a.example>'], ['list'], false],
  ['Exchange that wants none', ['X-Auto-Response-Suppress: DR, OOF, AutoReply'], ['suppressed'], false],
  ['Exchange that wants no reports', ['X-Auto-Response-Suppress: DR, NDR, RN, NRN'], [], false],
  ['answers to nobody', ['Reply-To: Nobody <no-reply@shop.example>'], ['no-reply'], false],
  ['our own answer, back again', ['X-Loop: <Support@Shop.example>'], ['loop'], false],
  ['a loop of somebody else', ['X-Loop: list@a.example'], [], false],
];

describe('the signs of automatic mail', () => {
  it.each(rows)('are read as expected for %s', async (_name, fields, signs, isMachine) => {
    const found = await findSigns(fields);
    expect(found).toEqual(signs);
    expect(isWrittenByMachine(found)).toBe(isMachine);
  });

  it('include a null sender', async () => {
    expect(await findSigns([], '')).toEqual(['null-sender']);
  });

  it('are present in our own automatic answer', async () => {
    const own = headersOfAutomaticAnswer('support@shop.example').map(([name, value]) => `${name}: ${value}`);
    expect(await findSigns(own)).toEqual(['auto-submitted', 'suppressed', 'loop']);
  });

  it('are read only from the start of a header of a megabyte', async () => {
    const fields = [`Precedence: ${'a'.repeat(1_000_000)}`, `X-Loop: ${'a@b '.repeat(1000)}`];
    expect(await findSigns(fields)).toEqual([]);
  });
});

it.each([
  'noreply',
  'no-reply',
  'No_Reply',
  'no.reply',
  'donotreply',
  'do-not-reply',
  'noreply+abc',
  'noreply-42',
  'shop-noreply',
  'ne-pas-repondre',
  'nicht-antworten',
  'keineantwort',
  'noresponder',
  'nao-responda',
  'non-rispondere',
  'ej-svara',
  'MAILER-DAEMON',
  'postmaster',
  'bounces+123=x',
  'bounce-17',
  'autoreply',
])('the address %s takes no answers', (local) => {
  expect(isNoReply(`Shop <${local}@shop.example>`)).toBe(true);
});

it.each(['ann', 'noreplyann', 'renoreply', 'reply', 'norah', 'bouncer', 'robotics', 'nobodys'])(
  'the address %s may take answers',
  (local) => {
    expect(isNoReply(`${local}@noreply.example`)).toBe(false);
  },
);
