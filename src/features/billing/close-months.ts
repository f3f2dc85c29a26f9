import type { Store } from '../../platform/store.ts';
import { allTerms, closedMonths, isMonthClosed, insertClosedMonth, teamsToClose } from './billing.store.ts';
import { billingZone, closableAt, closeTeamMonth, listDays, monthAfter, monthAt } from './monthly-invoice.ts';
import { createSendSwitch } from '../../tenancy/instance/index.ts';

const TEAMS_AT_ONCE = 200;

/**
 * Closes every month that is over and not closed yet, from the first one with known prices. A restored copy closes none
 * until it is confirmed: its original does. Returns the number of closed team months.
 */
export async function closeMonths(store: Store): Promise<number> {
  const { clock, db } = store;
  if ((await createSendSwitch(store)()).isRestored) return 0;
  const first = (await allTerms(db))[0];
  if (!first) return 0;
  const zone = billingZone(store);
  const done = await closedMonths(db);
  let closed = 0;
  for (let month = monthAt(zone, first.since); closableAt(month, zone) <= clock.now(); month = monthAfter(month)) {
    if (done.has(month)) continue;
    closed += await closeMonth(store, month, listDays(month, zone).at(-1)?.to ?? 0);
    await insertClosedMonth(db, month, clock.now());
  }
  return closed;
}

/** Closes a month team by team, each in its own transaction: after an interruption, it continues with the next team. */
async function closeMonth(store: Store, month: string, end: number): Promise<number> {
  let closed = 0;
  for (;;) {
    const teams = await teamsToClose(store.db, { month, end, limit: TEAMS_AT_ONCE });
    if (teams.length === 0) return closed;
    for (const teamId of teams) if (await closeTeamMonth(store, teamId, month)) closed += 1;
  }
}

/**
 * Reports whether a team may still get an invoice for the month of `at`: anything has a price, and the month is not
 * closed yet.
 */
export async function awaitsInvoice({ db, ...store }: Store, teamId: string, at: number): Promise<boolean> {
  const terms = (await allTerms(db)).map((one) => one.terms);
  if (!terms.some((one) => one.monthly_price_cents > 0 || one.overage_per_1000_cents !== null)) return false;
  return !(await isMonthClosed(db, teamId, monthAt(billingZone(store), at)));
}
