import { isoTime } from '../../platform/clock.ts';
import type { Store } from '../../platform/store.ts';
import { findTimeZone, type TimeZone } from '../../protocol/time-zone.ts';
import { findTeam, plansOfTeam } from '../../tenancy/teams/index.ts';
import { dailyEmails } from '../../tenancy/usage/index.ts';
import { allTerms, claimTeamMonth, insertInvoice, nextNumber } from './billing.store.ts';
import type { InvoiceContent } from './read-billing.ts';
import type { InvoiceObject } from '../../contract/index.ts';
import type { Plan } from '../../platform/config/index.ts';

const DAY_MS = 86_400_000;
/** Mail that was accepted in the last moments of a month may be committed, and counted, a little later. */
const SETTLING_MS = 3_600_000;

const firstDay = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

/** Returns the month after one, as `2026-12`. */
export function monthAfter(month: string): string {
  const first = new Date(firstDay(month));
  return new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1)).toISOString().slice(0, 7);
}

/** Returns the local month in a zone. */
export const monthAt = (zone: TimeZone, at: number): string =>
  new Date(at + zone.offsetMs(at)).toISOString().slice(0, 7);

/** A day of a month, as `2026-11-30`, and its start and end in the zone. */
interface Day {
  date: string;
  from: number;
  to: number;
}

/** Returns all days of the calendar month, including one that a zone skips. */
export function listDays(month: string, zone: TimeZone): Day[] {
  const first = firstDay(month);
  const end = firstDay(monthAfter(month));
  return Array.from({ length: (end - first) / DAY_MS }, (_, index) => {
    const local = first + index * DAY_MS;
    return {
      date: new Date(local).toISOString().slice(0, 10),
      from: zone.toMoment(local),
      to: zone.toMoment(local + DAY_MS),
    };
  });
}

/** Returns when a month may be closed: after its end in the zone and in UTC, by which emails are counted. */
export const closableAt = (month: string, zone: TimeZone): number =>
  Math.max(zone.toMoment(firstDay(monthAfter(month))), firstDay(monthAfter(month))) + SETTLING_MS;

export function billingZone({ config }: Pick<Store, 'config'>): TimeZone {
  const zone = findTimeZone(config.billing.time_zone);
  if (!zone) throw new Error(`there is no time zone ${config.billing.time_zone}`);
  return zone;
}

/**
 * Closes the month of one team in one transaction, only once however often it is called; makes an invoice if there is
 * something to pay. Returns whether this call closed it.
 */
export async function closeTeamMonth(store: Store, teamId: string, month: string): Promise<boolean> {
  const { clock, config, db, ids } = store;
  return db.tx(async (tx) => {
    const closedAt = clock.now();
    if (!(await claimTeamMonth(tx, { teamId, month, closedAt }))) return false;
    const team = await findTeam(tx, teamId);
    const held = await plansOfTeam(tx, teamId);
    const terms = await allTerms(tx);
    const sent = await dailyEmails(tx, teamId, month);
    if (!team) throw new Error(`there is no team ${teamId}`);
    const lines = billMonth({ month, zone: billingZone(store), held, terms, sent });
    const total = sumLines(lines);
    if (total === 0) return true;
    const { series } = config.billing;
    const number = `${series}-${String(await nextNumber(tx, series)).padStart(6, '0')}`;
    const content = buildContent(store, { month, lines, total, team: team.name });
    await insertInvoice(tx, {
      id: ids.uuid(),
      team_id: teamId,
      number,
      month,
      issued_at: closedAt,
      content: JSON.stringify(content),
    });
    return true;
  });
}

const sumLines = (lines: readonly InvoiceLine[]): number => lines.reduce((sum, line) => sum + line.amount_cents, 0);

function buildContent(
  store: Store,
  { month, lines, total, team }: { month: string; lines: InvoiceLine[]; total: number; team: string },
): InvoiceContent {
  const { currency, time_zone: timeZone, issuer } = store.config.billing;
  const days = listDays(month, billingZone(store));
  return {
    month,
    period_start: isoTime(days[0]?.from ?? 0),
    period_end: isoTime(days.at(-1)?.to ?? 0),
    time_zone: timeZone,
    issuer: issuer === '' ? null : issuer,
    billed_to: team,
    currency,
    total_cents: total,
    lines,
  };
}

/** Fields of a plan that affect an invoice. */
export type Terms = Pick<Plan, 'name' | 'monthly_price_cents' | 'included_emails' | 'overage_per_1000_cents'>;
type InvoiceLine = InvoiceObject['lines'][number];

export interface MonthOfTeam {
  /** Month, as `2026-11`. */
  month: string;
  zone: TimeZone;
  /** Plans that the team has had, oldest first. */
  held: readonly { code: string; since: number }[];
  /** Terms of the plans, oldest first. Nothing is charged for a code before its first entry. */
  terms: readonly { code: string; since: number; terms: Terms }[];
  /** Emails that counted towards the quota, by UTC day. */
  sent: ReadonlyMap<string, number>;
}

interface Charge {
  code: string;
  terms: Terms;
  days: number;
  overage: number;
}

/**
 * Returns the invoice lines for a team's month. A day is charged by the most expensive plan that the team had on it. An
 * email is overage if it exceeds the number that the plan of its day includes, counted over the month like the quota.
 */
export function billMonth(input: MonthOfTeam): InvoiceLine[] {
  const days = listDays(input.month, input.zone);
  const charges = new Map<string, Charge>();
  let sent = 0;
  for (const day of days) {
    const before = sent;
    sent += input.sent.get(day.date) ?? 0;
    const plan = dearestOn(day, input);
    if (!plan) continue;
    const { name, monthly_price_cents: price, included_emails: included, overage_per_1000_cents: each } = plan.terms;
    // The included number matters to a price only if overage costs something.
    const key = JSON.stringify([plan.code, name, price, each === null ? null : included, each]);
    const charge = charges.get(key) ?? { ...plan, days: 0, overage: 0 };
    charge.days += 1;
    charge.overage += Math.max(0, sent - Math.max(before, included));
    charges.set(key, charge);
  }
  return [...charges.values()].flatMap((charge) => buildLines(charge, days.length));
}

function dearestOn(day: Day, { held, terms }: MonthOfTeam): { code: string; terms: Terms } | undefined {
  const begins = held.findLastIndex(({ since }) => since <= day.from);
  const codes = held.slice(Math.max(0, begins)).filter(({ since }) => since < day.to);
  let dearest: { code: string; terms: Terms } | undefined;
  for (const { code } of codes) {
    const found = terms.findLast((one) => one.code === code && one.since < day.to);
    if (!found) continue;
    // If two cost the same, the later one counts: the team has chosen it.
    if (!dearest || found.terms.monthly_price_cents >= dearest.terms.monthly_price_cents) {
      dearest = { code, terms: found.terms };
    }
  }
  return dearest;
}

function buildLines({ code, terms, days, overage }: Charge, daysInMonth: number): InvoiceLine[] {
  const { name, monthly_price_cents: price, overage_per_1000_cents: each } = terms;
  const about = { plan_code: code, plan_name: name };
  const lines: InvoiceLine[] = [];
  if (price > 0) {
    lines.push({
      kind: 'plan',
      ...about,
      description: `${name}, ${days} of ${daysInMonth} days`,
      quantity: days,
      unit: 'days',
      price_cents: price,
      amount_cents: computeShare(price, days, daysInMonth),
    });
  }
  if (each !== null && overage > 0) {
    const thousands = Math.ceil(overage / 1000);
    lines.push({
      kind: 'overage',
      ...about,
      description: `${name}, ${overage} emails beyond the included ones, by 1,000`,
      quantity: thousands,
      unit: 'thousands',
      price_cents: each,
      amount_cents: thousands * each,
    });
  }
  return lines;
}

/** Returns the share of a monthly price for some days, in whole cents; half a cent is rounded up. */
const computeShare = (price: number, days: number, daysInMonth: number): number =>
  Math.floor((2 * price * days + daysInMonth) / (2 * daysInMonth));
