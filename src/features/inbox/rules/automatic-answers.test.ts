import { expect, it } from 'vitest';
import {
  findNoAnswerReason,
  type AutomaticAnswerAsk,
  type NoAutomaticAnswer,
  findAnswerLoop,
  type Passed,
} from './automatic-answers.ts';

const MINUTE = 60_000;
const rounds = (count: number, everyMs: number, to = ['Ada <Ada@example.org>']): Passed[] =>
  Array.from({ length: count }, (_, i): Passed[] => [
    { direction: 'inbound', at: i * everyMs, to: [] },
    { direction: 'outbound', at: i * everyMs + 1, to },
  ]).flat();

it('ten automatic answers within an hour are a loop, until the first of them is an hour old', () => {
  expect(findAnswerLoop(rounds(9, MINUTE), 9 * MINUTE)).toBeUndefined();
  const loop = { address: 'ada@example.org', until: 60 * MINUTE + 1, rounds: 10, within: 'an hour' };
  expect(findAnswerLoop(rounds(10, MINUTE), 10 * MINUTE)).toEqual(loop);
  expect(findAnswerLoop(rounds(10, MINUTE), 60 * MINUTE)).toEqual(loop);
  expect(findAnswerLoop(rounds(10, MINUTE), 60 * MINUTE + 1)).toBeUndefined();
});

it('thirty automatic answers within a day are a loop', () => {
  expect(findAnswerLoop(rounds(29, 20 * MINUTE), 29 * 20 * MINUTE)).toBeUndefined();
  expect(findAnswerLoop(rounds(30, 20 * MINUTE), 30 * 20 * MINUTE)).toMatchObject({ rounds: 30, within: 'a day' });
});

it('messages without new mail before them, or to other people, are no loop', () => {
  const many = Array.from({ length: 40 }, (_, i): Passed => ({
    direction: 'outbound',
    at: i,
    to: ['ada@example.org'],
  }));
  expect(findAnswerLoop([{ direction: 'inbound', at: 0, to: [] }, ...many], 100)).toBeUndefined();
  expect(findAnswerLoop(many, 100)).toBeUndefined();
  const each = rounds(20, MINUTE).map((one, i) => ({ ...one, to: [`c${i}@example.org`] }));
  expect(findAnswerLoop(each, 20 * MINUTE)).toBeUndefined();
  const both = rounds(10, MINUTE, ['bob@example.org', 'no address', 'ada@example.org', 'ADA@example.org']);
  expect(findAnswerLoop(both, 10 * MINUTE)).toMatchObject({ address: 'bob@example.org' });
});

const COUNTS = { toSenderOfDay: 0, toMessage: 0, inThread: 0 };
const OWN = new Set(['support@shop.example']);
const MAIL = { proof: 'unknown' as const, ownAddresses: OWN };
const ASK: AutomaticAnswerAsk = {
  mail: MAIL,
  to: 'ann@home.example',
  named: ['support@shop.example'],
  signs: [],
  isSpam: false,
  isInboxHere: (address) => address.endsWith('@shop.example'),
  counts: COUNTS,
  limits: { perSenderAndDay: 3 },
};

const rows: [name: string, ask: Partial<AutomaticAnswerAsk>, because: NoAutomaticAnswer | undefined][] = [
  ['is sent to a person', {}, undefined],
  ['is sent to an authenticated person', { mail: { ...MAIL, proof: 'proved' } }, undefined],
  ['is sent to the third mail of a day', { counts: { ...COUNTS, toSenderOfDay: 2 } }, undefined],
  ['is not sent to the fourth mail of a day', { counts: { ...COUNTS, toSenderOfDay: 3 } }, 'limit'],
  ['is not sent with a limit of zero', { limits: { perSenderAndDay: 0 } }, 'limit'],
  ['is not sent without a sender', { to: '' }, 'no-sender'],
  ['is not sent to the inbox itself', { to: 'support@shop.example' }, 'own-inbox'],
  ['is not sent to another inbox of this server, even without a mark', { to: 'sales@shop.example' }, 'own-inbox'],
  ['is not sent to a machine', { signs: ['auto-submitted', 'suppressed'] }, 'auto-submitted'],
  ['is not sent to a mailing list', { signs: ['list'] }, 'list'],
  ['is not sent to spam', { isSpam: true }, 'spam'],
  ['is not sent to a forged sender', { mail: { ...MAIL, proof: 'forged' } }, 'forged-sender'],
  ['is not sent to mail that does not name the inbox', { named: ['list@l.example'] }, 'not-addressed'],
  ['is not sent to mail that another inbox has answered', { counts: { ...COUNTS, toMessage: 1 } }, 'answered'],
  ['is not sent twice in a thread', { counts: { ...COUNTS, inThread: 1 } }, 'answered-thread'],
];

it.each(rows)('an automatic answer %s', (_name, ask, because) => {
  expect(findNoAnswerReason({ ...ASK, ...ask })).toBe(because);
});
