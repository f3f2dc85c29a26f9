import type { StsResult, StsState } from '../deliver/index.ts';
import { BoundedMap, createSemaphore, eachLimit } from '../../platform/limits/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { World } from '../../platform/world.ts';
import { readStsPolicy, readStsRecord, writeStsPolicy, type StsPolicy } from '../../protocol/mta-sts.ts';
import {
  findStsPolicy,
  forgetStsPolicies,
  noteStsFailure,
  noteStsUse,
  putStsPolicy,
  stsPoliciesToRefresh,
  type StsPolicyRow,
} from './sts-policies.store.ts';

/** What was found is believed for this long; the record of a domain, which names its policy, is looked up again after it. */
const KNOWN_MS = 60_000;
const KNOWN_MAX = 50_000;
/** RFC 8461 §3.3: after a failure, the same policy is not fetched again before this time. */
const RETRY_MS = 300_000;
/** Limits of one fetch, which mail waits for (RFC 8461 §3.2 and §3.3 suggest a minute and 64 KB). */
const FETCH_MS = 15_000;
const BYTES_MAX = 64 * 1024;
const FETCHES_MAX = 100;
const REFRESHES_MAX = 10;
const DAY_MS = 86_400_000;
/** RFC 8461 §10.2 suggests a refresh each day. */
const REFRESH_AFTER_MS = DAY_MS / 2;
const UNUSED_MS = 180 * DAY_MS;
const BATCH = 100;

export interface StsPolicies {
  /**
   * Finds the policy of a domain. One that has not expired holds even if its record or file is gone, since whoever can
   * suppress those could otherwise turn it off (RFC 8461 §3.3).
   */
  find(domain: string, teamId: string): Promise<StsState>;
  /** Fetches the policies in use again, before they expire, and forgets those of domains that get no mail. */
  refresh(stopping?: AbortSignal): Promise<void>;
}

interface Known {
  state: Promise<StsState>;
  until: number;
  /** The team that waits for the answer; undefined once it has come. */
  waits: string | undefined;
}

export function createStsPolicies(world: World): StsPolicies {
  const { config, db, clock, log, resolver } = world;
  const known = new BoundedMap<string, Known>(KNOWN_MAX);
  const gate = createSemaphore(FETCHES_MAX);

  function find(domain: string, teamId: string): Promise<StsState> {
    const before = known.get(domain);
    // A team does not wait for a fetch that stands in the queue of another one.
    const isShared = before && (before.waits === undefined || before.waits === teamId);
    if (isShared && before.until > clock.now()) return before.state;
    const state = look(domain, teamId);
    const entry: Known = { state, until: clock.now() + KNOWN_MS, waits: teamId };
    known.set(domain, entry);
    state.then(
      () => (entry.waits = undefined),
      () => {
        if (known.get(domain) === entry) known.delete(domain);
      },
    );
    return state;
  }

  async function look(domain: string, teamId: string): Promise<StsState> {
    const [row, announced] = await Promise.all([findStsPolicy(db, domain), findId(domain)]);
    const id = announced === 'unknown' ? undefined : announced.id;
    const stored = row && readStored(row);
    const today = clock.now() - (clock.now() % DAY_MS);
    if (row && row.used_at < today) await noteStsUse(db, domain, today);
    if (id === undefined || (stored && row.policy_id === id)) return stored ?? { kind: 'none' };
    const sinceFailureMs = row?.failed_id === id ? clock.now() - (row.failed_at ?? 0) : Infinity;
    // A clock that was ahead may have written a time that has not come.
    if (row && sinceFailureMs >= 0 && sinceFailureMs < RETRY_MS) return stored ?? describeFailure(row.failure ?? '');
    const fetched = await fetchPolicy(domain, id, { tenant: teamId, usedAt: today });
    return fetched.kind === 'policy' ? fetched : (stored ?? fetched);
  }

  /** Returns the id of the policy that a domain announces; undefined if it announces none, "unknown" if DNS does not say. */
  async function findId(domain: string): Promise<{ id: string | undefined } | 'unknown'> {
    const answer = await resolver.txt(`_mta-sts.${domain}`);
    if (answer.kind === 'failed') return 'unknown';
    return { id: answer.kind === 'found' ? readStsRecord(answer.records)?.id : undefined };
  }

  function readStored({ content, expires_at }: StsPolicyRow): Extract<StsState, { kind: 'policy' }> | undefined {
    if (expires_at <= clock.now()) return undefined;
    const policy = readStsPolicy(content);
    return 'fault' in policy ? undefined : { kind: 'policy', policy };
  }

  /** Fetches the policy and stores it, or why that failed. */
  async function fetchPolicy(
    domain: string,
    id: string,
    { tenant, usedAt }: { tenant?: string; usedAt: number },
  ): Promise<Exclude<StsState, { kind: 'none' }>> {
    // Hosts that answer slowly keep nobody waiting but the team whose mail goes there.
    const fetched = await gate.run(() => fetchStsPolicy(world, domain, AbortSignal.timeout(FETCH_MS)), { tenant });
    const now = clock.now();
    if ('fault' in fetched) {
      const failure = `${fetched.result}: ${fetched.fault}`;
      await noteStsFailure(db, { domain, failed_id: id, failed_at: now, failure });
      log.debug({ domain, failure }, 'an MTA-STS policy could not be fetched');
      const { fault, result } = fetched;
      return { kind: 'unreadable', fault, result };
    }
    const { policy } = fetched;
    await putStsPolicy(db, {
      domain,
      policy_id: id,
      content: writeStsPolicy(policy),
      fetched_at: now,
      expires_at: now + policy.maxAgeSeconds * 1000,
      failed_id: null,
      failed_at: null,
      failure: null,
      used_at: usedAt,
    });
    return { kind: 'policy', policy };
  }

  /**
   * Fetches a policy again, also while DNS announces none: whoever can suppress the record could otherwise make the policy
   * expire, and a domain that withdraws its policy serves one of the mode none (RFC 8461 §3.3). One that fails must not
   * keep the others from being refreshed.
   */
  async function refreshOne({
    domain,
    policy_id: storedId,
    expires_at: expires,
    used_at: usedAt,
  }: StsPolicyRow): Promise<void> {
    const expiresAt = isoTime(expires);
    try {
      const announced = await findId(domain);
      const id = (announced === 'unknown' ? undefined : announced.id) ?? storedId;
      const fetched = await fetchPolicy(domain, id, { usedAt });
      if (fetched.kind === 'unreadable')
        log.warn({ domain, fault: fetched.fault, expiresAt }, 'an MTA-STS policy could not be refreshed');
    } catch (err) {
      log.error({ err, domain, expiresAt }, 'an MTA-STS policy could not be refreshed');
    }
  }

  async function refresh(stopping?: AbortSignal): Promise<void> {
    if (!config.delivery.mta_sts) return;
    const now = clock.now();
    await forgetStsPolicies(db, { unusedSince: now - UNUSED_MS, now });
    let after = '';
    for (;;) {
      const rows = await stsPoliciesToRefresh(db, { fetchedBefore: now - REFRESH_AFTER_MS, now, after, limit: BATCH });
      await eachLimit(rows, REFRESHES_MAX, async (row) => {
        if (!stopping?.aborted) await refreshOne(row);
      });
      const last = rows.at(-1);
      if (!last || rows.length < BATCH || stopping?.aborted) return;
      after = last.domain;
    }
  }

  return { find, refresh };
}

/** A policy, or the reason that its file cannot be used, with the word that reports have for it. */
export type FetchedSts = { policy: StsPolicy } | { fault: string; result: StsResult; isTimeout?: true };

/** Fetches the policy of a domain from its policy host. */
export async function fetchStsPolicy(
  { config, fetch }: Pick<World, 'config' | 'fetch'>,
  domain: string,
  signal: AbortSignal,
): Promise<FetchedSts> {
  const { mta_sts_port: port } = config.delivery;
  const url = URL.parse(`https://mta-sts.${domain}:${port}/.well-known/mta-sts.txt`);
  if (!url) return { fault: 'the domain has no valid URL', result: 'sts-policy-fetch-error' };
  let left = BYTES_MAX;
  const limits = { signal, mayTake: (bytes: number) => (left -= bytes) >= 0 };
  const answer = await fetch.send({ method: 'GET', url, headers: { accept: 'text/plain' } }, limits);
  if (answer.kind === 'failed') {
    const { fault } = answer;
    if (fault.kind === 'tls')
      return { fault: `${url.href}: no valid certificate (${fault.code})`, result: 'sts-webpki-invalid' };
    return {
      fault: `${url.href}: ${WORDS[fault.kind] ?? fault.kind}`,
      result: 'sts-policy-fetch-error',
      ...(fault.kind === 'timeout' ? { isTimeout: true } : {}),
    };
  }
  // RFC 8461 §3.3: a redirect is not followed, and no other status counts.
  if (answer.status !== 200)
    return { fault: `${url.href}: the status is ${answer.status}`, result: 'sts-policy-fetch-error' };
  const type = answer.headers['content-type'] ?? '';
  // RFC 8461 §3.2: on a host with files of its users, others could publish a policy.
  if (!/^text\/plain\s*(;|$)/i.test(type)) {
    const fault = `${url.href}: the content type is ${JSON.stringify(type.slice(0, 60))} and not text/plain`;
    return { fault, result: 'sts-policy-invalid' };
  }
  const policy = readStsPolicy(answer.body.toString('utf8'));
  return 'fault' in policy ? { fault: `${url.href}: ${policy.fault}`, result: 'sts-policy-invalid' } : { policy };
}

const RESULTS: readonly StsResult[] = ['sts-policy-fetch-error', 'sts-policy-invalid', 'sts-webpki-invalid'];

/** Reads a stored failure, which begins with its result. */
function describeFailure(failure: string): StsState {
  const result = RESULTS.find((one) => failure.startsWith(`${one}: `)) ?? 'sts-policy-fetch-error';
  return { kind: 'unreadable', fault: failure.slice(result.length + 2), result };
}

const WORDS: Partial<Record<string, string>> = {
  blocked: 'the host has no public address',
  unreachable: 'the host cannot be reached',
  timeout: `no answer within ${FETCH_MS / 1000} s`,
  interrupted: 'the connection broke',
  too_large: `the file has more than ${BYTES_MAX} bytes`,
  encoded: 'the file is compressed',
};
