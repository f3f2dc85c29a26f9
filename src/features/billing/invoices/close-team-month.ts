import { isoTime } from '../../../platform/clock/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { findTimeZone, type TimeZone } from '../../../protocol/time-zone/index.ts';
import { findTeam, plansOfTeam } from '../../../tenancy/teams/index.ts';
import { dailyEmails } from '../../../tenancy/usage/index.ts';
import { billMonth, type InvoiceLine } from './bill-month.ts';
import { allTerms, claimTeamMonth, insertInvoice, nextNumber } from './billing.store.ts';
import { daysOf } from './month.ts';
import type { InvoiceContent } from './present.ts';

export function billingZone({ config }: Pick<Store, 'config'>): TimeZone {
  const zone = findTimeZone(config.billing.time_zone);
  if (!zone) throw new Error(`there is no time zone ${config.billing.time_zone}`);
  return zone;
}

/**
 * Closes the month of one team in one transaction, once, however often it is called: with an invoice if there is something to pay. Answers
 * whether this call closed it.
 */
export async function closeTeamMonth(store: Store, teamId: string, month: string): Promise<boolean> {
  const { clock, config, db, ids } = store;
  return db.tx(async (tx) => {
    const closedAt = clock.now();
    if (!(await claimTeamMonth(tx, { teamId, month, closedAt }))) return false;
    const [team, held, terms, sent] = [
      await findTeam(tx, teamId),
      await plansOfTeam(tx, teamId),
      await allTerms(tx),
      await dailyEmails(tx, teamId, month),
    ];
    if (!team) throw new Error(`there is no team ${teamId}`);
    const lines = billMonth({ month, zone: billingZone(store), held, terms, sent });
    const total = totalOf(lines);
    if (total === 0) return true;
    const { series } = config.billing;
    const number = `${series}-${String(await nextNumber(tx, series)).padStart(6, '0')}`;
    const content = contentOf(store, { month, lines, total, team: team.name });
    await insertInvoice(tx, {
      ...{ id: ids.uuid(), team_id: teamId, number, month, issued_at: closedAt },
      content: JSON.stringify(content),
    });
    return true;
  });
}

const totalOf = (lines: readonly InvoiceLine[]): number => lines.reduce((sum, line) => sum + line.amount_cents, 0);

function contentOf(
  store: Store,
  { month, lines, total, team }: { month: string; lines: InvoiceLine[]; total: number; team: string },
): InvoiceContent {
  const { currency, time_zone: timeZone, issuer } = store.config.billing;
  const days = daysOf(month, billingZone(store));
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
