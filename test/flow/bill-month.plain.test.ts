import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findTimeZone } from '../../src/protocol/time-zone.ts';
import '../rig/seed.ts';
import { billMonth, type MonthOfTeam, type Terms } from '../../src/features/billing/monthly-invoice.ts';

const QUARTER = 900_000;
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Kiritimati', 'Etc/GMT+12', 'Asia/Kathmandu'];
const MORE_ZONES = ['Australia/Lord_Howe', 'America/Santiago', 'Africa/Cairo', 'Asia/Kolkata'];
const CODES = ['free', 'small', 'big'] as const;

/** The date that the clocks of a zone show, asked of Intl each time. */
function dates(zone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  return (at) => format.format(at);
}

/** Returns the price in force at a moment: the last of the list that began by then. */
const lastAt = <T extends { since: number }>(list: readonly T[], at: number): T | undefined =>
  list.filter(({ since }) => since <= at).at(-1);

/** The same bill, slowly: every quarter of an hour is looked at, every email is counted one by one, and cents are fractions. */
function slowly({ month, held, terms, sent }: MonthOfTeam, zone: string): Record<string, bigint> {
  const dateAt = dates(zone);
  const [year = 0, number = 1] = month.split('-').map(Number);
  const seen = new Map<string, Map<string, number>>();
  const ends = new Map<string, number>();
  for (let at = Date.UTC(year, number - 1, 1) - 2 * 86_400_000; at < Date.UTC(year, number, 3); at += QUARTER) {
    const date = dateAt(at);
    if (!date.startsWith(month)) continue;
    const had = lastAt(held, at);
    const codes = seen.get(date) ?? new Map<string, number>();
    // The position in the history tells which of two plans is the later one.
    if (had) codes.set(had.code, held.indexOf(had));
    seen.set(date, codes);
    ends.set(date, at + QUARTER);
  }
  const days = [...seen.keys()].sort();
  const parts = new Map<string, { terms: Terms; days: bigint; emails: bigint }>();
  let count = 0;
  for (const date of days) {
    const priced = [...(seen.get(date) ?? [])].flatMap(([code, at]) => {
      const found = lastAt(
        terms.filter((one) => one.code === code),
        (ends.get(date) ?? 0) - 1,
      );
      return found ? [{ code, at, terms: found.terms }] : [];
    });
    priced.sort((a, b) => a.terms.monthly_price_cents - b.terms.monthly_price_cents || a.at - b.at);
    const plan = priced.at(-1);
    // When more emails cost nothing, the number of included emails is no part of the price.
    const isFlat = plan?.terms.overage_per_1000_cents === null;
    const key = plan
      ? `${plan.code} ${JSON.stringify(isFlat ? { ...plan.terms, included_emails: 0 } : plan.terms)}`
      : '';
    const part = plan && (parts.get(key) ?? { terms: plan.terms, days: 0n, emails: 0n });
    if (part) part.days += 1n;
    for (let email = 0; email < (sent.get(date) ?? 0); email++) {
      count += 1;
      if (part && count > part.terms.included_emails) part.emails += 1n;
    }
    if (part) parts.set(key, part);
  }
  const bill: Record<string, bigint> = {};
  for (const [key, part] of parts) {
    const price = BigInt(part.terms.monthly_price_cents) * part.days;
    const whole = BigInt(days.length);
    // A fraction is rounded by hand: its half or more is one more.
    const cents = price / whole + ((price % whole) * 2n >= whole ? 1n : 0n);
    if (part.terms.monthly_price_cents > 0) bill[`plan ${key}`] = cents;
    let thousands = 0n;
    for (let rest = part.emails; rest > 0n; rest -= 1000n) thousands += 1n;
    const each = part.terms.overage_per_1000_cents;
    if (each !== null && thousands > 0n) bill[`overage ${key}`] = thousands * BigInt(each);
  }
  return bill;
}

const terms = fc.record({
  name: fc.constantFrom('A', 'B'),
  monthly_price_cents: fc.constantFrom(0, 1, 999, 2000, 2000, 123_457),
  included_emails: fc.constantFrom(0, 10, 1500),
  overage_per_1000_cents: fc.constantFrom(null, 1, 40),
});
const month = fc.constantFrom('2024-02', '2026-02', '2026-03', '2026-04', '2026-10', '2026-11', '2027-01', '2100-02');
/** Whole quarters, so that the slow calculation looks at each of them; some before the month, some behind it. */
const moments = (of: string): fc.Arbitrary<number> =>
  fc.integer({ min: -600, max: 3600 }).map((quarters) => Date.parse(`${of}-01T00:00:00Z`) + quarters * QUARTER);

const cases = month.chain((of) =>
  fc.record({
    month: fc.constant(of),
    zone: fc.constantFrom(...ZONES, ...MORE_ZONES),
    held: fc.uniqueArray(fc.record({ code: fc.constantFrom(...CODES), since: moments(of) }), {
      minLength: 0,
      maxLength: 6,
      selector: ({ since }) => since,
    }),
    terms: fc.uniqueArray(fc.record({ code: fc.constantFrom(...CODES), since: moments(of), terms }), {
      minLength: 0,
      maxLength: 8,
      selector: ({ since }) => since,
    }),
    sent: fc.array(fc.record({ day: fc.integer({ min: 1, max: 31 }), emails: fc.integer({ min: 0, max: 3000 }) }), {
      maxLength: 6,
    }),
  }),
);

it('a month is charged as a slow calculation charges it, in any time zone, with any changes of plans and prices', () => {
  fc.assert(
    fc.property(cases, ({ zone: name, sent, ...given }) => {
      const zone = findTimeZone(name);
      if (!zone) throw new Error(`no zone ${name}`);
      const bySince = (a: { since: number }, b: { since: number }): number => a.since - b.since;
      const input = {
        month: given.month,
        zone,
        held: given.held.toSorted(bySince),
        terms: given.terms.toSorted(bySince),
        sent: new Map(sent.map(({ day, emails }) => [`${given.month}-${String(day).padStart(2, '0')}`, emails])),
      };
      const lines = billMonth(input);
      const sum = (kind: string, code: string): bigint =>
        lines
          .filter((line) => line.kind === kind && line.plan_code === code)
          .reduce((total, line) => total + BigInt(line.amount_cents), 0n);
      const slow = Object.entries(slowly(input, name));
      for (const kind of ['plan', 'overage']) {
        for (const code of CODES) {
          const wanted = slow.filter(([key]) => key.startsWith(`${kind} ${code} `));
          expect(sum(kind, code)).toBe(wanted.reduce((total, [, cents]) => total + cents, 0n));
        }
      }
      expect(lines).toHaveLength(slow.length);
    }),
  );
});

const big: Terms = { name: 'Big', monthly_price_cents: 3000, included_emails: 5000, overage_per_1000_cents: null };
const small: Terms = { name: 'Small', monthly_price_cents: 300, included_emails: 100, overage_per_1000_cents: 10 };
const begin = Date.parse('2026-01-01T00:00:00Z');
const both = [
  { code: 'big', since: begin, terms: big },
  { code: 'small', since: begin, terms: small },
];
const bill = (
  held: [code: string, since: string][],
  { of = '2026-11', sent = {}, zone = 'UTC' }: { of?: string; sent?: Record<string, number>; zone?: string } = {},
) => {
  const clocks = findTimeZone(zone);
  if (!clocks) throw new Error(`no zone ${zone}`);
  const since = held.map(([code, at]) => ({ code, since: Date.parse(at) }));
  const input = { month: of, zone: clocks, held: since, terms: both, sent: new Map(Object.entries(sent)) };
  return billMonth(input).map(({ description, amount_cents: cents }) => `${description}: ${cents}`);
};

it.each([
  ['a whole month', '2026-11', ['Big, 30 of 30 days: 3000']],
  ['February', '2027-02', ['Big, 28 of 28 days: 3000']],
  ['February of a leap year', '2028-02', ['Big, 29 of 29 days: 3000']],
])('%s costs the full price', (_, of, lines) => expect(bill([['big', '2026-10-05T12:00:00Z']], { of })).toEqual(lines));

it('a team that was created on the 31st pays for one day', () =>
  expect(bill([['big', '2026-12-31T23:59:59Z']], { of: '2026-12' })).toEqual(['Big, 1 of 31 days: 97']));

it('a day with several plans costs as much as the most expensive one', () => {
  const held: [string, string][] = [
    ['small', '2026-10-01T00:00:00Z'],
    ['big', '2026-11-10T08:00:00Z'],
    ['small', '2026-11-10T09:00:00Z'],
    ['big', '2026-11-10T10:00:00Z'],
    ['small', '2026-11-10T11:00:00Z'],
  ];
  expect(bill(held)).toEqual(['Small, 29 of 30 days: 290', 'Big, 1 of 30 days: 100']);
});

it('the first moment of a day belongs to that day, by the clock of the time zone', () => {
  const held: [string, string][] = [
    ['small', '2026-01-01T00:00:00Z'],
    ['big', '2026-11-14T23:00:00Z'],
  ];
  expect(bill(held, { zone: 'Europe/Berlin' })).toEqual(['Small, 14 of 30 days: 140', 'Big, 16 of 30 days: 1600']);
  expect(bill(held)).toEqual(['Small, 13 of 30 days: 130', 'Big, 17 of 30 days: 1700']);
});

it('emails are charged when the month has more than the plan of their day includes', () => {
  const held: [string, string][] = [
    ['big', '2026-01-01T00:00:00Z'],
    ['small', '2026-11-30T00:00:00Z'],
  ];
  const sent = { '2026-11-03': 4000, '2026-11-30': 1001, '2026-12-01': 9000 };
  expect(bill(held, { sent })).toEqual([
    'Big, 29 of 30 days: 2900',
    'Small, 1 of 30 days: 10',
    'Small, 1001 emails beyond the included ones, by 1,000: 20',
  ]);
});

it('a change of terms without a new price adds no second line to the invoice', () => {
  const zone = findTimeZone('UTC');
  if (!zone) throw new Error('no zone');
  const at = (day: number): number => Date.UTC(2026, 10, day);
  const lines = billMonth({
    month: '2026-11',
    zone,
    held: [{ code: 'big', since: at(1) }],
    sent: new Map(),
    terms: [
      { code: 'big', since: at(1), terms: big },
      { code: 'big', since: at(5), terms: { ...big, included_emails: 1000 } },
    ],
  });
  expect(lines).toMatchObject([{ quantity: 30, amount_cents: 3000 }]);
});
