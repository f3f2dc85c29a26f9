import { listStalePolicies } from '../../../mail/tls-policies/index.ts';
import { listThrottles } from '../../../mail/throttles/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Store } from '../../../platform/store.ts';
import { backupsTooOldSince, readBackupNotes } from '../../../tenancy/instance/index.ts';
import { buildFinding, type Finding } from '../../../platform/finding.ts';
import type { CertificateStatus } from '../../../platform/server-tls.ts';

const DAY_MS = 86_400_000;
/** Renewals come weeks before the end; short-lived certificates are renewed at two thirds of their lifetime. */
const EXPIRING_MS = 14 * DAY_MS;
const EXPIRING_SHARE = 1 / 5;

const here = (words: string) => ({ words: `On the server’s machine, ${words}`, command: null });

const STATUS = { words: 'As an operator, see why it was not renewed', command: 'rasket tls status' };

/** Returns findings about the certificate that our ports present. */
export function certificateFindings(
  { file, isIssued, startsAt, endsAt, fault }: CertificateStatus,
  { now, isCapturing }: { now: number; isCapturing: boolean },
): Finding[] {
  const subjects = file === '' ? [] : [file];
  const named = file === '' ? '' : ` ${file}`;
  if (fault !== undefined) {
    const unusable = { summary: `${fault}.`, subjects, advice: here('correct its files') };
    return [buildFinding('certificate_unusable', unusable), ...expiry()];
  }
  return expiry();

  function expiry(): Finding[] {
    // No certificate is ordered if no mail leaves the machine.
    if (endsAt === undefined) return file === '' && !isCapturing ? [buildFinding('certificate_self_signed')] : [];
    if (endsAt <= now) {
      const summary = `The certificate${named} expired at ${isoTime(endsAt)}.`;
      const advice = isIssued ? STATUS : here('replace it with a renewed one');
      return [buildFinding('certificate_expired', { summary, subjects, since: endsAt, advice })];
    }
    const lifeMs = startsAt === undefined ? Infinity : endsAt - startsAt;
    if (endsAt - now > Math.min(EXPIRING_MS, lifeMs * EXPIRING_SHARE)) return [];
    const summary = `The certificate${named} expires at ${isoTime(endsAt)}.`;
    const advice = isIssued ? STATUS : here('renew it');
    return [buildFinding('certificate_expiring', { summary, subjects, advice })];
  }
}

/** A relay that holds up mail until the operator corrects something. */
interface RelayTrouble {
  relay: string;
  detail: string;
  since: number;
}

/** Returns findings about the relays that a process sends through. */
export function relayFindings(troubles: readonly RelayTrouble[]): Finding[] {
  const [first] = troubles.toSorted((a, b) => a.since - b.since);
  if (!first) return [];
  const { relay, detail, since } = first;
  const words =
    'On the server’s machine, see what the relay replies, then correct its section in the settings or its password';
  return [
    buildFinding('relay_misconfigured', {
      summary: `The relay ${relay} does not accept mail from this server: ${detail}`,
      subjects: troubles.map((trouble) => trouble.relay),
      since,
      advice: { words, command: `rasket relays test ${relay}` },
    }),
  ];
}

/** Returns findings about providers that suspended our mail by a reply. */
export async function providerFindings({ db, clock, config }: Store): Promise<Finding[]> {
  const now = clock.now();
  const suspended = (await listThrottles(db)).filter(
    (row) =>
      row.kind === 'suspend' &&
      row.until_at > now &&
      row.reaction !== '' &&
      row.sender_domain === '' &&
      row.provider !== '',
  );
  const [first] = suspended.toSorted((a, b) => a.started_at - b.started_at);
  if (!first) return [];
  const names = [...new Set(suspended.map(({ provider }) => provider))];
  const title = config.providers[first.provider]?.title ?? first.provider;
  return [
    buildFinding('provider_suspended', {
      summary: `Nothing is sent to ${title} until ${isoTime(first.until_at)} because of its reply: ${first.reason}`,
      subjects: names,
      since: first.started_at,
      advice: {
        words: `As an operator, see what waits. Mail is sent again after that time, or once you end the suspension (rasket providers resume ${first.provider})`,
        command: `rasket providers get ${first.provider}`,
      },
    }),
  ];
}

const STALE_POLICIES_MAX = 20;

/** Returns findings about MTA-STS policies of recipients' domains that can no longer be fetched. */
export async function policyFindings({ db, clock, config }: Store): Promise<Finding[]> {
  const { mta_sts: isFollowed, tls_exceptions: exceptions } = config.delivery;
  if (!isFollowed) return [];
  const exempt = new Set(exceptions.map((name) => name.toLowerCase()));
  const all = await listStalePolicies(db, clock.now(), STALE_POLICIES_MAX + exempt.size);
  const stale = all.filter(({ domain }) => !exempt.has(domain)).slice(0, STALE_POLICIES_MAX);
  const [first] = stale;
  if (!first) return [];
  const { domain, fetched_at: fetchedAt, expires_at: expiresAt, failure } = first;
  const summary = `The MTA-STS policy of ${domain} was last fetched at ${isoTime(fetchedAt)}, and holds until ${isoTime(expiresAt)}. The last attempt failed: ${failure}`;
  return [buildFinding('tls_policy_stale', { summary, subjects: stale.map((row) => row.domain), since: fetchedAt })];
}

/** Returns findings about backups. If none was ever made, nothing new can be said here. */
export async function backupFindings(store: Store): Promise<Finding[]> {
  const { madeAt, failing } = await readBackupNotes(store.db);
  const last = madeAt === null ? 'There is no backup.' : `The last one was made at ${isoTime(madeAt)}.`;
  const oldSince = backupsTooOldSince(store, madeAt);
  return [
    ...(failing
      ? [
          buildFinding('backup_failed', {
            summary: `A backup failed: ${failing.reason}. ${last}`,
            since: failing.since,
          }),
        ]
      : []),
    ...(oldSince === undefined
      ? []
      : [buildFinding('backup_old', { summary: `${formatSummary(oldSince)} ${last}`, since: oldSince })]),
  ];
}

const formatSummary = (oldSince: number | null): string =>
  oldSince === null
    ? 'The last backup is dated in the future, because the clock was ahead then or is behind now; its age is unknown.'
    : 'The last backup is too old.';
