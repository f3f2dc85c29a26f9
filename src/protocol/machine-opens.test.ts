import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import {
  isMachineFetch,
  isSoonAfterArrival,
  burstsAmong,
  BURST_LINKS,
  type TimedClick,
  MACHINE_AGENTS,
} from './machine-opens.ts';

const WINDOW = 5000;
const clicks = (...given: [at: number, link: string][]): TimedClick[] =>
  given.map(([at, link], n) => ({ id: String(n), at, link }));
const burst = (...given: [at: number, link: string][]): string => [...burstsAmong(clicks(...given), WINDOW)].join('');

describe('clicks in one email', () => {
  it.each<[string, [number, string][], string]>([
    [
      'three links within five seconds are a burst',
      [
        [0, 'a'],
        [2000, 'b'],
        [5000, 'c'],
      ],
      '012',
    ],
    [
      'the third link a millisecond later makes no burst',
      [
        [0, 'a'],
        [2000, 'b'],
        [5001, 'c'],
      ],
      '',
    ],
    [
      'two links are no burst, however often they are clicked',
      [
        [0, 'a'],
        [1, 'b'],
        [2, 'a'],
        [3, 'b'],
        [4, 'a'],
      ],
      '',
    ],
    [
      'one link that is clicked often is no burst',
      [
        [0, 'a'],
        [1, 'a'],
        [2, 'a'],
        [3, 'a'],
      ],
      '',
    ],
    [
      'repeats within a burst belong to it',
      [
        [0, 'a'],
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
      ],
      '0123',
    ],
    [
      'clicks long before and after a burst are those of a person',
      [
        [0, 'a'],
        [9000, 'a'],
        [9001, 'b'],
        [9002, 'c'],
        [20_000, 'b'],
      ],
      '123',
    ],
    [
      'a burst may be longer than its window',
      [
        [0, 'a'],
        [3000, 'b'],
        [5000, 'c'],
        [8000, 'd'],
        [13_001, 'a'],
      ],
      '0123',
    ],
  ])('are grouped: %s', (_, given, expected) => expect(burst(...given)).toBe(expected));

  it('are classified the same in any order, and as a check of every window classifies them', () => {
    const some = fc.array(fc.tuple(fc.integer({ min: 0, max: 30_000 }), fc.constantFrom('a', 'b', 'c', 'd')), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(some, (given) => {
        const all = clicks(...given);
        const expected = new Set<string>();
        for (const { at: from } of all) {
          const within = all.filter(({ at }) => at >= from && at - from <= WINDOW);
          if (new Set(within.map(({ link }) => link)).size >= BURST_LINKS)
            for (const { id } of within) expected.add(id);
        }
        expect(burstsAmong(all, WINDOW)).toEqual(expected);
        expect(burstsAmong(all.toReversed(), WINDOW)).toEqual(expected);
      }),
    );
  });
});

interface Row {
  who: string;
  agent: string;
  countsAs: string;
}

/** The table of docs/audience.md: a row for each example name in it. */
const ROWS: Row[] = readFileSync(new URL('../../docs/audience.md', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => /^\| ([^|]+) \| (`[^|]*`) \| (machine|person) \| [^|]+ \|$/.exec(line))
  .filter((match) => match !== null)
  .flatMap(([, who = '', said = '', countsAs = '']) =>
    [...said.matchAll(/`([^`]+)`/g)].map(([, agent = '']) => ({ who, agent, countsAs })),
  );

const ofAgent = (agent: string, more: Record<string, string> = {}): boolean =>
  isMachineFetch({ method: 'GET', headers: { 'user-agent': agent, ...more } });

describe('the table in docs/audience.md', () => {
  it('has one row for each rule, and no other row of machines', () => {
    const machines = ROWS.filter(({ countsAs }) => countsAs === 'machine').map(({ who }) => who);
    expect(new Set(machines)).toEqual(new Set(MACHINE_AGENTS.map(({ name }) => name)));
  });

  it.each(ROWS)('classifies $who with the user agent $agent as $countsAs', ({ who, agent, countsAs }) => {
    expect(ofAgent(agent)).toBe(countsAs === 'machine');
    const rules = MACHINE_AGENTS.filter(({ pattern }) => pattern.test(agent)).map(({ name }) => name);
    if (countsAs === 'machine') expect(rules).toContain(who);
    else expect(rules).toEqual([]);
  });

  it('only has rules that ignore letter case', () => {
    expect(new Set(MACHINE_AGENTS.map(({ pattern }) => pattern.flags))).toEqual(new Set(['i']));
  });
});

describe('a fetch counts as one of a machine', () => {
  const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  it.each(['', '  ', 'BarracudaCentral/1.0', 'TelegramBot (like TwitterBot)', 'CURL/8.5.0'])(
    'by its user agent %j',
    (agent) => {
      expect(ofAgent(agent)).toBe(true);
    },
  );
  it('by a missing user agent, or by the method HEAD', () => {
    expect(isMachineFetch({ method: 'GET', headers: {} })).toBe(true);
    expect(isMachineFetch({ method: 'HEAD', headers: { 'user-agent': browser } })).toBe(true);
    expect(isMachineFetch({ method: 'GET', headers: { 'user-agent': browser } })).toBe(false);
  });
  it.each([
    ['purpose', 'prefetch'],
    ['sec-purpose', 'prefetch;anonymous-client-ip'],
    ['x-purpose', 'preview'],
    ['x-moz', 'prefetch'],
  ])('by its header %s: %s', (name, value) => {
    expect([ofAgent(browser, { [name]: value }), ofAgent(browser, { [name]: 'other' })]).toEqual([true, false]);
  });
});

describe('an open is checked for being too soon', () => {
  it.each([
    ['before any known sending it counts as a person', 5000, {}, false],
    ['within two seconds of the delivery it counts as a machine', 11_999, { sentAt: 0, deliveredAt: 10_000 }, true],
    ['two seconds after the delivery it counts as a person', 12_000, { sentAt: 0, deliveredAt: 10_000 }, false],
    ['before a server accepted the mail it counts as a machine', 9000, { sentAt: 0, deliveredAt: 10_000 }, true],
    ['within two seconds of an attempt without a reply it counts as a machine', 1999, { sentAt: 0 }, true],
    ['two seconds after an attempt without a reply it counts as a person', 2000, { sentAt: 0 }, false],
  ])('%s', (_, at, arrival, expected) => {
    expect(isSoonAfterArrival(at, { sentAt: undefined, deliveredAt: undefined, ...arrival }, 2000)).toBe(expected);
  });
});
