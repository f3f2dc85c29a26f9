import { isUniqueViolation, type Page, type Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { readOwnHosts } from '../../tenancy/instance/index.ts';
import { unsubscribeAddress } from './domain-records.ts';
import { maySend } from './domain-state.ts';
import { createVerifiedDomain } from './register-domain.ts';
import type { DomainRow } from './domain-rows.ts';
import {
  findDomainByName,
  isOwnedElsewhere,
  recordsToCheck,
  listDomainRows,
  receivingDomain,
  returnPathOwner,
  sendingNames,
  type SendingName,
} from './domains.store.ts';
import { saveChecks } from './save-checks.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { presentDomainItem } from './present.ts';

/**
 * Finds the domain that a team sends from. With `development.any_sender` a missing one is made, and an unverified one
 * is verified; a name of another team stays with that team, and disabled sending stays disabled.
 */
export async function findSendingDomain(store: Store, teamId: string, name: string): Promise<DomainRow | undefined> {
  const found = await findDomainByName(store.db, teamId, name);
  return mayBeMade(store, found) ? makeSendingDomain(store, teamId, { name, found }) : found;
}

/** Reports whether `makeSendingDomain` would help, for callers that cache domains. */
export const mayBeMade = ({ config }: Pick<Store, 'config'>, found: DomainRow | undefined): boolean =>
  config.development.any_sender && (found === undefined || (!maySend(found) && found.sending === 'enabled'));

export async function makeSendingDomain(
  store: Store,
  teamId: string,
  { name, found }: { name: string; found: DomainRow | undefined },
): Promise<DomainRow | undefined> {
  if (name === '' || (await isOwnedElsewhere(store.db, teamId, name))) return found;
  if (found) {
    const records = await recordsToCheck(store.db, found.id);
    const checks = records.map((record) => ({ record, verdict: 'right' as const, diagnosis: null, found: null }));
    await saveChecks(store, found, checks);
    return findDomainByName(store.db, teamId, name);
  }
  try {
    return await createVerifiedDomain(store, teamId, name);
  } catch (error) {
    // Another email made the domain at the same moment.
    if (!isUniqueViolation(error)) throw error;
    return findDomainByName(store.db, teamId, name);
  }
}

export async function listDomains(ctx: Ctx, page: Page) {
  const { rows, hasMore } = await listDomainRows(ctx.store.db, ctx.teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentDomainItem) };
}

/**
 * Reports whether this installation receives mail for a name: that of its host, a receiving domain or the return paths
 * of a domain.
 */
export async function takesMailHere(
  store: Pick<Store, 'config' | 'clock'> & { db: Executor },
  name: string,
): Promise<boolean> {
  const { db } = store;
  if ((await readOwnHosts(store, db)).all.includes(name)) return true;
  return (await receivingDomain(db, name)) !== undefined || (await returnPathOwner(db, name)) !== undefined;
}

/**
 * Returns the address whose mail unsubscribes contacts of a domain's team, if mail to it provably arrives here: this
 * server receives, the last look-up found the MX of the return path, mail leaves the machine, and the return path is not
 * a domain whose own mail is received.
 */
export async function findUnsubscribeAddress(
  { config, db }: Pick<Store, 'config' | 'db'>,
  domain: Pick<DomainRow, 'name' | 'custom_return_path' | 'verified_at' | 'failing_since'>,
): Promise<string | undefined> {
  if (config.receiving.ports.length === 0 || config.delivery.capture) return undefined;
  if (domain.verified_at === null || domain.failing_since !== null) return undefined;
  const address = unsubscribeAddress(domain);
  return (await receivingDomain(db, address.slice(address.indexOf('@') + 1))) ? undefined : address;
}

/**
 * Returns the origin of links in mail of a domain: its tracking host while DNS points that to this server, otherwise
 * `http.public_url`. Captured mail never leaves the machine, so its links use the latter too.
 */
export async function findLinkOrigin(store: Store, domainId: string): Promise<string> {
  const { delivery, tracking } = store.config;
  const [name] = delivery.capture ? [] : await sendingNames(store.db, [domainId]);
  const host = name?.tracking_host ?? null;
  return host === null ? store.origin() : `${tracking.scheme}://${host}`;
}

/** Says whether a domain tracks opens and clicks. */
export interface Tracked {
  opens: boolean;
  clicks: boolean;
}

/** Returns what is tracked in mail that leaves now: nothing as long as DNS does not point the tracking host to us. */
export function readTracked({ config }: Pick<Store, 'config'>, name: SendingName | undefined): Tracked {
  const isPossible = config.delivery.capture || (name?.tracking_host ?? null) !== null;
  return { opens: isPossible && name?.open_tracking === 1, clicks: isPossible && name?.click_tracking === 1 };
}

/** Finds what is tracked in mail of a domain that leaves now. */
export async function findTracked(store: Store, domainId: string): Promise<Tracked> {
  const [name] = await sendingNames(store.db, [domainId]);
  return readTracked(store, name);
}
