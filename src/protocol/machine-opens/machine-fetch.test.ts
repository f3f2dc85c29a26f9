import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isMachineFetch, isSoonAfterArrival } from './index.ts';
import { MACHINE_AGENTS } from './machine-opens.ts';

interface Row {
  who: string;
  agent: string;
  countsAs: string;
}

/** The table of docs/audience.md: a row for each name that it gives as an instance. */
const ROWS: Row[] = readFileSync(new URL('../../../docs/audience.md', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => /^\| ([^|]+) \| (`[^|]*`) \| (machine|person) \| [^|]+ \|$/.exec(line))
  .filter((match) => match !== null)
  .flatMap(([, who = '', said = '', countsAs = '']) =>
    [...said.matchAll(/`([^`]+)`/g)].map(([, agent = '']) => ({ who, agent, countsAs })),
  );

const ofAgent = (agent: string, more: Record<string, string> = {}): boolean =>
  isMachineFetch({ method: 'GET', headers: { 'user-agent': agent, ...more } });

describe('the table of docs/audience.md', () => {
  it('has a row for each rule and no other of machines', () => {
    const machines = ROWS.filter(({ countsAs }) => countsAs === 'machine').map(({ who }) => who);
    expect(new Set(machines)).toEqual(new Set(MACHINE_AGENTS.map(({ name }) => name)));
  });

  it.each(ROWS)('$who, $agent: $countsAs', ({ who, agent, countsAs }) => {
    expect(ofAgent(agent)).toBe(countsAs === 'machine');
    const rules = MACHINE_AGENTS.filter(({ pattern }) => pattern.test(agent)).map(({ name }) => name);
    if (countsAs === 'machine') expect(rules).toContain(who);
    else expect(rules).toEqual([]);
  });

  it('every rule is one that letter case does not change', () => {
    expect(new Set(MACHINE_AGENTS.map(({ pattern }) => pattern.flags))).toEqual(new Set(['i']));
  });
});

describe('a fetch is a machine’s', () => {
  const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  it.each(['', '  ', 'BarracudaCentral/1.0', 'TelegramBot (like TwitterBot)', 'CURL/8.5.0'])(
    'by its name: %j',
    (agent) => {
      expect(ofAgent(agent)).toBe(true);
    },
  );
  it('by having no name, or asking for headers alone', () => {
    expect(isMachineFetch({ method: 'GET', headers: {} })).toBe(true);
    expect(isMachineFetch({ method: 'HEAD', headers: { 'user-agent': browser } })).toBe(true);
    expect(isMachineFetch({ method: 'GET', headers: { 'user-agent': browser } })).toBe(false);
  });
  it.each([
    ['purpose', 'prefetch'],
    ['sec-purpose', 'prefetch;anonymous-client-ip'],
    ['x-purpose', 'preview'],
    ['x-moz', 'prefetch'],
  ])('by saying %s: %s', (name, value) => {
    expect([ofAgent(browser, { [name]: value }), ofAgent(browser, { [name]: 'other' })]).toEqual([true, false]);
  });
});

describe('somebody is there sooner than a person', () => {
  it.each([
    ['before anything was sent, as far as is known', 5000, {}, false],
    ['within two seconds of the delivery', 11_999, { sentAt: 0, deliveredAt: 10_000 }, true],
    ['two seconds after it', 12_000, { sentAt: 0, deliveredAt: 10_000 }, false],
    ['before a server said that it has the mail', 9000, { sentAt: 0, deliveredAt: 10_000 }, true],
    ['within two seconds of a try that nobody answered', 1999, { sentAt: 0 }, true],
    ['two seconds after such a try', 2000, { sentAt: 0 }, false],
  ])('%s', (_, at, arrival, expected) => {
    expect(isSoonAfterArrival(at, { sentAt: undefined, deliveredAt: undefined, ...arrival }, 2000)).toBe(expected);
  });
});
