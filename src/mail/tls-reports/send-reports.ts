import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isoTime } from '../../platform/clock.ts';
import { eachLimit } from '../../platform/limits/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import { formatMailbox, parseAddress } from '../../protocol/address/index.ts';
import {
  composeTlsReportMail,
  readTlsReportRecord,
  writeTlsReport,
  type TlsReport,
  type TlsReportTarget,
} from '../../protocol/tls-report/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { createSendSwitch } from '../../tenancy/instance/index.ts';
import { acceptWithin, logAccepted, mustBeAllowedBySandbox, prepareOwnMessage } from '../accept/index.ts';
import { findDomainByName, maySend, type DomainRow } from '../domains/index.ts';
import { buildReport } from './build-report.ts';
import { chooseWithinLimits, readTargetDomain, REPORTS_MAX } from './report-limits.ts';
import { DAY_MS } from './session-counts.ts';
import {
  endLookUps,
  forgetTlsReports,
  insertOutgoingReports,
  listAddressedReports,
  listCountedDomains,
  listDueReports,
  listSessionCounts,
  noteReport,
  removeSessionCounts,
  takeReport,
  type OutgoingReportRow,
} from './tls-reports.store.ts';

const MINUTE_MS = 60_000;
/** Longer than other processes take to write their last counts of the day. */
const BEGIN_MS = 5 * MINUTE_MS;
/** RFC 8460 §4.1 asks for a random delay, so that receivers do not get the reports of all senders at once; mox takes four hours. */
const SPREAD_MS = 4 * 60 * MINUTE_MS;
/** The delays before further attempts to look up a record or to post a report; less than 24 hours in all (RFC 8460 §5.5). */
const RETRY_MS = [15, 60, 240, 480].map((minutes) => minutes * MINUTE_MS);
const KEPT_MS = 3 * DAY_MS;
const BATCH = 50;
const AT_ONCE = 10;
const PLAN_BATCH = 500;
/** Many more than get a report, because few domains have a record. */
const LOOK_UPS_MAX = 20_000;
const POST_MS = 30_000;
/** The response says nothing that is read. */
const RESPONSE_BYTES_MAX = 64 * 1024;
const REASON_CHARS_MAX = 200;
const LOCAL_PART = 'tls-reports';
const NAME = 'TLS reports';
const TOO_MANY = 'too many reports';
/** The outcome while a report is being posted. */
const POSTING = 'posting';
/** A post that has not ended after this time never will: its process did. */
const POST_ENDED_MS = 4 * POST_MS;

const compress = promisify(gzip);

/** Where reports leave from: an address at a verified domain of a team. */
export interface ReportSender {
  teamId: string;
  address: string;
}

interface Parts {
  findSender(): Promise<ReportSender | undefined>;
}

/** What one run has done. */
export interface ReportsSent {
  looked_up: number;
  mailed: number;
  posted: number;
}

/**
 * Creates the job that sends the reports of the day that ended last. The records of the domains are looked up first, those
 * with the most sessions before others, because the reports of a day are limited. Then each domain has its time within four
 * hours. A row per target is written before anything is sent, and a mail is accepted in the transaction that records it, so
 * that a report is sent once, also if the process is killed or two nodes run the job. A post whose end nobody saw is not
 * repeated, and the log says so.
 */
export function createReportSending(
  world: World,
  { findSender }: Parts,
): (stopping?: AbortSignal) => Promise<ReportsSent | undefined> {
  const { clock, config, db, fetch, log, resolver } = world;
  const { send: isOn, without_failures: withoutFailures, organization, contact } = config.tls_reports;
  const suppressed = new Set(config.tls_reports.suppress.map((entry) => entry.toLowerCase()));
  const sendSwitch = createSendSwitch(world);
  let plannedDay: number | undefined;

  /** Writes when the record of each domain with counts is looked up: a millisecond each keeps them in their order. */
  async function plan(day: number): Promise<void> {
    const domains = await listCountedDomains(db, { day, limit: LOOK_UPS_MAX, failuresOnly: !withoutFailures });
    if (domains.length > 0 && (await findSendingDomain()) === undefined) {
      log.info({ day: isoTime(day) }, 'no TLS reports are sent: no domain of this installation can send mail');
      return;
    }
    const rows = domains
      .filter((domain) => !suppressed.has(domain))
      .map((domain, rank) => ({ day, domain, target: '', next_at: day + DAY_MS + BEGIN_MS + rank }));
    for (let at = 0; at < rows.length; at += PLAN_BATCH)
      await insertOutgoingReports(db, rows.slice(at, at + PLAN_BATCH));
  }

  async function findSendingDomain(): Promise<DomainRow | undefined> {
    const sender = await findSender();
    const parsed = sender && parseAddress(sender.address);
    if (!sender || !parsed?.ok) return undefined;
    const domain = await findDomainByName(db, sender.teamId, parsed.mailbox.domain);
    return domain && maySend(domain) ? domain : undefined;
  }

  /** Looks up the record of a domain; returns undefined if DNS does not answer, or another node asks. */
  async function lookUp(row: OutgoingReportRow): Promise<readonly string[] | undefined> {
    // The next attempt is stored first, in case the process dies during this one.
    const nextAt = chooseNext(row, clock.now());
    if (!(await takeReport(db, row, { nextAt, outcome: nextAt === null ? 'no answer of DNS' : null })))
      return undefined;
    const answer = await resolver.txt(`_smtp._tls.${row.domain}`);
    if (answer.kind === 'failed') return undefined;
    return answer.kind === 'found' ? answer.records : [];
  }

  /** Stores who wants the report, within the limits of the day; returns whether all of them are. */
  async function storeTargets(row: OutgoingReportRow, record: readonly string[]): Promise<boolean> {
    const { day, domain } = row;
    const wanted = readTlsReportRecord(record);
    return db.tx(async (tx) => {
      if (wanted === undefined) {
        await noteReport(tx, row, { nextAt: null, outcome: 'not wanted' });
        await removeSessionCounts(tx, day, domain);
        return true;
      }
      const stored = await listAddressedReports(tx, day);
      const targets = wanted.rua.map(writeTarget).filter((target) => !isSuppressed(target));
      const chosen = chooseWithinLimits(
        stored,
        targets.map((target) => ({ domain, target })),
      );
      const isWithin = chosen.length === targets.length;
      const outcome = isWithin ? `${chosen.length} targets` : `${TOO_MANY}; ${chosen.length} targets`;
      await noteReport(tx, row, { nextAt: null, outcome });
      const nextAt = Math.max(clock.now(), day + DAY_MS + BEGIN_MS + chooseDelay(domain));
      await insertOutgoingReports(
        tx,
        chosen.map(({ target }) => ({ day, domain, target, next_at: nextAt })),
      );
      if (stored.length + chosen.length < REPORTS_MAX) return isWithin;
      return (await endLookUps(tx, day, TOO_MANY)) === 0 && isWithin;
    });
  }

  function isSuppressed(target: string): boolean {
    const address = /^mailto:(.*)$/s.exec(target)?.[1];
    return suppressed.has(readTargetDomain(target)) || (address !== undefined && suppressed.has(address.toLowerCase()));
  }

  async function loadReport({ day, domain }: OutgoingReportRow, submitter: string): Promise<TlsReport | undefined> {
    const counts = await listSessionCounts(db, day, domain);
    if (counts.length === 0) return undefined;
    return buildReport({
      day,
      domain,
      submitter,
      counts,
      organization: organization === '' ? config.instance.host : organization,
      contact: contact === '' ? `postmaster@${submitter}` : contact,
    });
  }

  /** Accepts the mail with a report, like all mail; returns whether it was. */
  async function mail(row: OutgoingReportRow, target: string): Promise<boolean> {
    const to = parseAddress(target);
    const sending = await findSendingDomain();
    const report = sending && (await loadReport(row, sending.name));
    if (!to.ok || !sending || !report) return end(row, report ? 'no valid address' : 'nothing to send');
    const id = world.ids.uuid();
    const composed = composeTlsReportMail({
      policyDomain: row.domain,
      submitter: sending.name,
      from: `${NAME} <${LOCAL_PART}@${sending.name}>`,
      // A non-ASCII address is only in the envelope, so that every program can read the mail.
      to: /^[!-~]+$/.test(to.mailbox.address) ? formatMailbox(to.mailbox) : 'undisclosed-recipients:;',
      id,
      at: new Date(clock.now()),
      report,
      gzip: await compress(writeTlsReport(report)),
    });
    const ctx: Ctx = {
      store: world,
      teamId: sending.team_id,
      actor: { kind: 'job', name: 'TLS reports' },
      requestId: world.ids.prefixed('req_'),
    };
    const prepared = prepareOwnMessage({
      domain: sending,
      local: LOCAL_PART,
      name: NAME,
      to: to.mailbox,
      composed,
      tags: [{ name: 'tls_report', value: isoTime(row.day).slice(0, 10) }],
    });
    try {
      const find = (name: string): Promise<DomainRow | undefined> => findDomainByName(db, sending.team_id, name);
      await mustBeAllowedBySandbox(ctx, { draft: prepared.draft, domain: sending, find });
    } catch (error) {
      if (error instanceof Refusal) return end(row, error.message);
      throw error;
    }
    const accepted = await db.tx(async (tx) =>
      (await takeReport(tx, row, { nextAt: null, outcome: 'mailed' }))
        ? acceptWithin(world, tx, ctx, [prepared], { kind: 'notice' })
        : [],
    );
    logAccepted(world, ctx, accepted);
    return accepted.length > 0;
  }

  async function end(row: OutgoingReportRow, outcome: string): Promise<false> {
    await takeReport(db, row, { nextAt: null, outcome: outcome.slice(0, REASON_CHARS_MAX) });
    return false;
  }

  /** Posts a report; returns whether the receiver took it. */
  async function post(row: OutgoingReportRow, url: URL, stopping: AbortSignal | undefined): Promise<boolean> {
    const submitter = (await findSendingDomain())?.name;
    const report = submitter === undefined ? undefined : await loadReport(row, submitter);
    if (!report) return end(row, 'nothing to send');
    const isOurs = await takeReport(db, row, { nextAt: clock.now() + POST_ENDED_MS, outcome: POSTING });
    if (!isOurs) return false;
    const body = await compress(writeTlsReport(report));
    const headers = { 'content-type': 'application/tlsrpt+gzip' };
    let left = RESPONSE_BYTES_MAX;
    const timeout = AbortSignal.timeout(POST_MS);
    const answer = await fetch.send(
      { method: 'POST', url, headers, body },
      {
        signal: stopping ? AbortSignal.any([timeout, stopping]) : timeout,
        mayTake: (bytes) => (left -= bytes) >= 0,
      },
    );
    // Whether the receiver took it is not known, which the next process reports.
    if (stopping?.aborted && answer.kind === 'failed') return false;
    const isTaken = answer.kind === 'answered' && answer.status >= 200 && answer.status < 300;
    const failure = answer.kind === 'answered' ? `status ${answer.status}` : answer.fault.kind;
    await noteReport(db, row, {
      nextAt: isTaken ? null : chooseNext(row, clock.now()),
      outcome: isTaken ? 'posted' : `not posted: ${failure}`,
    });
    if (!isTaken) log.info({ domain: row.domain, url: url.href, failure }, 'a TLS report could not be posted');
    return isTaken;
  }

  /** Ends a report whose post was under way when its process ended: a second post might be a second report. */
  async function endInDoubt(row: OutgoingReportRow): Promise<void> {
    const { domain, target: url } = row;
    await end(row, 'in doubt');
    log.warn(
      { domain, url },
      'the server ended while it posted a TLS report, which may have arrived and is not repeated',
    );
  }

  async function sendReport(
    row: OutgoingReportRow,
    sent: ReportsSent,
    stopping: AbortSignal | undefined,
  ): Promise<void> {
    const address = /^mailto:(.*)$/s.exec(row.target)?.[1];
    if (address === undefined) {
      if (await post(row, new URL(row.target), stopping)) sent.posted += 1;
    } else if (await mail(row, address)) sent.mailed += 1;
  }

  /**
   * Looks up many records at once, and stores their targets in the order of the rows; returns whether all are within the
   * limits of the day.
   */
  async function lookUpAll(
    rows: readonly OutgoingReportRow[],
    sent: ReportsSent,
    stopping: AbortSignal | undefined,
  ): Promise<boolean> {
    const found = new Map<OutgoingReportRow, readonly string[]>();
    await eachLimit(rows, AT_ONCE, (row) =>
      attempt(row, stopping, async () => {
        const record = await lookUp(row);
        sent.looked_up += 1;
        if (record !== undefined) found.set(row, record);
      }),
    );
    if (found.size === 0) return true;
    let areWithin = true;
    for (const row of rows) {
      const record = found.get(row);
      if (record === undefined) continue;
      // What was looked up is stored although the process stops, because this attempt counts.
      await attempt(row, undefined, async () => {
        if (!(await storeTargets(row, record))) areWithin = false;
      });
    }
    return areWithin;
  }

  /** Works on a row that is due. A failure is logged, and must not keep the others waiting. */
  async function attempt(
    row: OutgoingReportRow,
    stopping: AbortSignal | undefined,
    work: () => Promise<void>,
  ): Promise<void> {
    if (stopping?.aborted) return;
    try {
      if (row.outcome === POSTING) await endInDoubt(row);
      else if (clock.now() >= row.day + 2 * DAY_MS) await end(row, 'too late');
      else await work();
    } catch (err) {
      log.error({ err, domain: row.domain }, 'a TLS report could not be sent');
      // If the database is the reason, this fails too and ends the run.
      await takeReport(db, row, { nextAt: chooseNext(row, clock.now()), outcome: 'failed' });
    }
  }

  return async (stopping) => {
    // A restored copy sends nothing either until an operator confirms it.
    if (!isOn || !(await sendSwitch()).isOn) return undefined;
    const now = clock.now();
    const today = now - (now % DAY_MS);
    const day = today - DAY_MS;
    if (plannedDay !== day && now >= today + BEGIN_MS) {
      await forgetTlsReports(db, today - KEPT_MS);
      await plan(day);
      plannedDay = day;
    }
    const sent: ReportsSent = { looked_up: 0, mailed: 0, posted: 0 };
    let areWithin = true;
    for (;;) {
      const rows = await listDueReports(db, clock.now(), BATCH);
      if (rows.length === 0 || stopping?.aborted) break;
      if (!(await lookUpAll(rows.filter(isLookUp), sent, stopping))) areWithin = false;
      const reports = rows.filter((row) => !isLookUp(row));
      await eachLimit(reports, AT_ONCE, (row) => attempt(row, stopping, () => sendReport(row, sent, stopping)));
    }
    if (!areWithin) log.warn({ day: isoTime(day) }, 'TLS reports beyond the limits of a day are not sent');
    return sent;
  };
}

const isLookUp = ({ target }: OutgoingReportRow): boolean => target === '';

/** Gives each domain the same time every day. */
const chooseDelay = (domain: string): number =>
  createHash('sha256').update(domain).digest().readUInt32BE(0) % SPREAD_MS;

/** Returns when a report is tried again; null if this attempt is the last. */
function chooseNext({ attempts }: Pick<OutgoingReportRow, 'attempts'>, now: number): number | null {
  const delay = RETRY_MS[attempts];
  return delay === undefined ? null : now + delay;
}

const writeTarget = (target: TlsReportTarget): string =>
  target.kind === 'https' ? target.url : `mailto:${target.address}`;
