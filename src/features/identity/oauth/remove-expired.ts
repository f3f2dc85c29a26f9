import type { Store } from '../../../platform/store/index.ts';
import { removeAsksBefore } from './asks.store.ts';
import { removeUnusedClients } from './clients.store.ts';
import { removeGrantsBefore } from './grants.store.ts';
import { removeTokensBefore } from './tokens.store.ts';

const DAY_MS = 24 * 3_600_000;
const GRANTS_KEPT_MS = 365 * DAY_MS;
const CLIENTS_KEPT_MS = 30 * DAY_MS;

/** What is not accepted any more. */
export async function removeExpiredOauth({ db, clock }: Store): Promise<void> {
  await removeAsksBefore(db, clock.now());
  await removeTokensBefore(db, clock.now());
}

/** Grants that ended a year ago, and clients that no person has let in for a month. */
export async function removeUnusedOauth({ db, clock }: Store): Promise<void> {
  await removeGrantsBefore(db, clock.now() - GRANTS_KEPT_MS);
  await removeUnusedClients(db, clock.now() - CLIENTS_KEPT_MS);
}
