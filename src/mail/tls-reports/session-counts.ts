import { createHash } from 'node:crypto';
import { repeat } from '../../platform/clock.ts';
import type { Executor } from '../../platform/db/index.ts';
import { createAddressGuard } from '../../platform/network/index.ts';
import type { Store } from '../../platform/store.ts';
import { cleanReportText } from '../../protocol/report-text.ts';
import type { TlsPolicyType, TlsResultType } from '../../protocol/tls-report/index.ts';
import type { CountedPolicy, SessionFault, TlsSession } from '../deliver/index.ts';
import { addSessionCounts, listCountKeys, type SessionCountRow } from './tls-reports.store.ts';

export const DAY_MS = 86_400_000;
const WRITE_MS = 10_000;
/** Different counts that wait to be written, and their length; sessions beyond them are not counted. */
const PENDING_MAX = 20_000;
const PENDING_CHARS_MAX = 16 * 1024 * 1024;
/** Limits of one domain on one day, so that a domain with ever new policies or failures cannot fill the table. */
const DETAILED_MAX = 100;
const COUNTS_MAX = 130;
/** A policy may have a hundred names of mail servers, and be of any size. */
const POLICY_CHARS_MAX = 8192;
const LINE_CHARS_MAX = 500;
const REASON_CHARS_MAX = 200;

/** The stored form of a policy. */
export interface StoredPolicy {
  type: TlsPolicyType;
  strings: string[];
  mxHosts: string[];
}

/** The stored form of a failure. Beyond the limits of a domain, only the kind is kept. */
export interface StoredFailure {
  kind: TlsResultType;
  localAddress?: string | undefined;
  host?: string | undefined;
  address?: string | undefined;
  reason?: string | undefined;
}

export interface SessionCounts {
  /** Counts how TLS went with a mail server, under each policy of the recipient's domain. */
  noteSession(session: TlsSession): void;
  /** Writes what was counted. A crash loses some seconds of it, which only reports show. */
  flush(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

/** Counts TLS sessions by day, domain, policy and failure, for the reports that their domains may ask for. */
export function createSessionCounts({ config, clock, db, log }: Store): SessionCounts {
  const isCounting = config.tls_reports.send;
  // An address of a private network says nothing to others, and is not theirs to know.
  const isShown = createAddressGuard([...config.network.mail_allow_private]);
  let pending = new Map<string, SessionCountRow>();
  let pendingChars = 0;
  let stopWriting = (): void => {};

  function add(row: SessionCountRow): void {
    const key = toKey(row);
    const before = pending.get(key);
    if (before) {
      before.sessions += row.sessions;
    } else if (pending.size < PENDING_MAX && pendingChars < PENDING_CHARS_MAX) {
      pending.set(key, row);
      pendingChars += row.policy.length + (row.failure?.length ?? 0);
    }
  }

  async function flush(): Promise<void> {
    if (pending.size === 0) return;
    const rows = [...pending.values()];
    pending = new Map();
    pendingChars = 0;
    try {
      await db.txUnsynced((tx) => writeCounts(tx, rows));
    } catch (err) {
      for (const row of rows) add(row);
      log.warn({ err }, 'the counts of TLS sessions could not be stored; they are tried again');
    }
  }

  return {
    noteSession({ domain, host, address, localAddress, results }) {
      if (!isCounting) return;
      const now = clock.now();
      const where = {
        localAddress: localAddress !== undefined && isShown(localAddress) ? localAddress : undefined,
        host,
        address,
      };
      for (const { policy, fault } of results) {
        const policyText = JSON.stringify(toStoredPolicy(policy));
        const failureText = fault === undefined ? null : JSON.stringify(toStoredFailure(fault, where));
        add({
          day: now - (now % DAY_MS),
          domain,
          policy_digest: digest(policyText),
          failure_digest: failureText === null ? '' : digest(failureText),
          policy: policyText,
          failure: failureText,
          sessions: 1,
        });
      }
    },
    flush,
    start() {
      if (isCounting) stopWriting = repeat(clock, WRITE_MS, flush);
    },
    async stop() {
      stopWriting();
      await flush();
    },
  };
}

const toKey = (row: Pick<SessionCountRow, 'day' | 'domain' | 'policy_digest' | 'failure_digest'>): string =>
  `${row.day} ${row.domain} ${row.policy_digest} ${row.failure_digest}`;

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);

function toStoredPolicy({ type, strings, mxHosts }: CountedPolicy): StoredPolicy {
  return { type, strings: limitTexts(strings), mxHosts: limitTexts(mxHosts) };
}

/** Leaves out what would make a policy longer than it may be. */
function limitTexts(texts: readonly string[]): string[] {
  let left = POLICY_CHARS_MAX;
  return texts
    .map((text) => cleanReportText(text, LINE_CHARS_MAX))
    .filter((text) => {
      left -= text.length;
      return left >= 0;
    });
}

function toStoredFailure(
  { kind, words }: SessionFault,
  { localAddress, host, address }: Omit<StoredFailure, 'kind' | 'reason'>,
): StoredFailure {
  const reason = words === undefined ? undefined : cleanReportText(words, REASON_CHARS_MAX);
  return { kind, localAddress, host, address, reason };
}

/** Adds counts to the stored ones, within the limits of each domain. */
async function writeCounts(tx: Executor, rows: readonly SessionCountRow[]): Promise<void> {
  for (const [day, ofDay] of Map.groupBy(rows, (row) => row.day)) {
    const domains = [...new Set(ofDay.map(({ domain }) => domain))];
    const known = Map.groupBy(await listCountKeys(tx, day, domains), ({ domain }) => domain);
    const fitting = new Map<string, SessionCountRow>();
    for (const [domain, ofDomain] of Map.groupBy(ofDay, (row) => row.domain)) {
      const keys = new Set((known.get(domain) ?? []).map((key) => toKey({ ...key, day })));
      for (const row of ofDomain) {
        const fit = fitIn(keys, row);
        if (fit === undefined) continue;
        const same = fitting.get(toKey(fit));
        if (same) same.sessions += fit.sessions;
        else fitting.set(toKey(fit), { ...fit });
      }
    }
    await addSessionCounts(tx, [...fitting.values()]);
  }
}

/** Returns the form in which a count is kept, with fewer details if its domain has many; undefined if it has too many. */
function fitIn(keys: Set<string>, row: SessionCountRow): SessionCountRow | undefined {
  const forms = [
    { form: row, max: DETAILED_MAX },
    { form: withoutDetails(row), max: COUNTS_MAX },
  ];
  for (const { form, max } of forms) {
    if (!keys.has(toKey(form)) && keys.size >= max) continue;
    keys.add(toKey(form));
    return form;
  }
  return undefined;
}

function withoutDetails(row: SessionCountRow): SessionCountRow {
  if (row.failure === null) return row;
  const { kind } = JSON.parse(row.failure) as StoredFailure;
  const failure = JSON.stringify({ kind });
  return { ...row, failure, failure_digest: digest(failure) };
}
