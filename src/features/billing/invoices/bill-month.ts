/** What a team owes for a month. Pure: integers of cents in, lines of an invoice out. */
import type { InvoiceObject } from '../../../contract/index.ts';
import type { Plan } from '../../../platform/config/index.ts';
import type { TimeZone } from '../../../protocol/time-zone/index.ts';
import { daysOf, type Day } from './month.ts';

/** What of a plan an invoice depends on. */
export type Terms = Pick<Plan, 'name' | 'monthly_price_cents' | 'included_emails' | 'overage_per_1000_cents'>;
export type InvoiceLine = InvoiceObject['lines'][number];

export interface MonthOfTeam {
  /** As `2026-11`. */
  month: string;
  zone: TimeZone;
  /** The plans that the team has had, oldest first. */
  held: readonly { code: string; since: number }[];
  /** What the plans were, oldest first. Before the first of a code nothing is charged for it. */
  terms: readonly { code: string; since: number; terms: Terms }[];
  /** Emails that counted towards the quota, by day of UTC. */
  sent: ReadonlyMap<string, number>;
}

interface Charge {
  code: string;
  terms: Terms;
  days: number;
  overage: number;
}

/**
 * A day is charged by the dearest plan that the team had on it. An email is beyond the included ones when more of the month
 * were sent than the plan of its day includes, as the quota has it.
 */
export function billMonth(input: MonthOfTeam): InvoiceLine[] {
  const days = daysOf(input.month, input.zone);
  const charges = new Map<string, Charge>();
  let sent = 0;
  for (const day of days) {
    const before = sent;
    sent += input.sent.get(day.date) ?? 0;
    const plan = dearestOn(day, input);
    if (!plan) continue;
    const { name, monthly_price_cents: price, included_emails: included, overage_per_1000_cents: each } = plan.terms;
    // How many are included is part of a price only where more of them cost something.
    const key = JSON.stringify([plan.code, name, price, each === null ? null : included, each]);
    const charge = charges.get(key) ?? { ...plan, days: 0, overage: 0 };
    charge.days += 1;
    charge.overage += Math.max(0, sent - Math.max(before, included));
    charges.set(key, charge);
  }
  return [...charges.values()].flatMap((charge) => linesOf(charge, days.length));
}

function dearestOn(day: Day, { held, terms }: MonthOfTeam): { code: string; terms: Terms } | undefined {
  const begins = held.findLastIndex(({ since }) => since <= day.from);
  const codes = held.slice(Math.max(0, begins)).filter(({ since }) => since < day.to);
  let dearest: { code: string; terms: Terms } | undefined;
  for (const { code } of codes) {
    const found = terms.findLast((one) => one.code === code && one.since < day.to);
    if (!found) continue;
    // Of two that cost the same the later one: the team has chosen it.
    if (!dearest || found.terms.monthly_price_cents >= dearest.terms.monthly_price_cents) {
      dearest = { code, terms: found.terms };
    }
  }
  return dearest;
}

function linesOf({ code, terms, days, overage }: Charge, daysInMonth: number): InvoiceLine[] {
  const { name, monthly_price_cents: price, overage_per_1000_cents: each } = terms;
  const about = { plan_code: code, plan_name: name };
  const lines: InvoiceLine[] = [];
  if (price > 0) {
    lines.push({
      ...{ kind: 'plan', ...about, description: `${name}, ${days} of ${daysInMonth} days` },
      ...{ quantity: days, unit: 'days', price_cents: price, amount_cents: partOf(price, days, daysInMonth) },
    });
  }
  if (each !== null && overage > 0) {
    const thousands = Math.ceil(overage / 1000);
    lines.push({
      ...{ kind: 'overage', ...about, description: `${name}, ${overage} emails beyond the included ones, by 1,000` },
      ...{ quantity: thousands, unit: 'thousands', price_cents: each, amount_cents: thousands * each },
    });
  }
  return lines;
}

/** Of a price for a month, the days of it, in whole cents; half a cent is rounded up. */
const partOf = (price: number, days: number, daysInMonth: number): number =>
  Math.floor((2 * price * days + daysInMonth) / (2 * daysInMonth));
