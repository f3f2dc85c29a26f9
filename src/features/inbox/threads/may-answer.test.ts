import { expect, it } from 'vitest';
import { whyNoAutomaticAnswer, type AutomaticAnswerAsk, type NoAutomaticAnswer } from './index.ts';

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
  ['a person', {}, undefined],
  ['a proved person', { mail: { ...MAIL, proof: 'proved' } }, undefined],
  ['the third mail of a day', { counts: { ...COUNTS, toSenderOfDay: 2 } }, undefined],
  ['the fourth mail of a day', { counts: { ...COUNTS, toSenderOfDay: 3 } }, 'limit'],
  ['a limit of none', { limits: { perSenderAndDay: 0 } }, 'limit'],
  ['nobody', { to: '' }, 'no-sender'],
  ['the inbox itself', { to: 'support@shop.example' }, 'own-inbox'],
  ['another inbox here, which has marked nothing', { to: 'sales@shop.example' }, 'own-inbox'],
  ['a machine', { signs: ['auto-submitted', 'suppressed'] }, 'auto-submitted'],
  ['a list', { signs: ['list'] }, 'list'],
  ['spam', { isSpam: true }, 'spam'],
  ['a forged sender', { mail: { ...MAIL, proof: 'forged' } }, 'forged-sender'],
  ['a hidden copy', { named: ['list@l.example'] }, 'not-addressed'],
  ['a mail that another inbox has answered', { counts: { ...COUNTS, toMessage: 1 } }, 'answered'],
  ['a thread that has its answer', { counts: { ...COUNTS, inThread: 1 } }, 'answered-thread'],
];

it.each(rows)('an automatic answer to %s', (_name, ask, because) => {
  expect(whyNoAutomaticAnswer({ ...ASK, ...ask })).toBe(because);
});
