import { createHash } from 'node:crypto';
import type { Store } from '../../platform/store.ts';
import { parseMailbox } from '../../protocol/address/index.ts';
import type { MessagePart, MessageReading } from '../../protocol/read-message/index.ts';
import { unpackReport } from '../../protocol/report-archive.ts';
import type { Authentication } from '../received-emails/index.ts';
import { countReportsOfDay, insertReport, type ReportRow } from './domain-reports.store.ts';
import {
  readDomainReport,
  withoutAddresses,
  withoutHosts,
  type DomainReport,
  type ReportParts,
} from './read-report.ts';

/** The domain whose address got a message. */
export interface ReportedDomain {
  id: string;
  name: string;
  /** The name of its return path, where the address is. */
  returnPath: string;
}

/**
 * `not_a_report`: nothing in the message looks like one. `too_many`: the domain has as many as it may; the sender should
 * try again later.
 */
export type ReportReceipt = 'accepted' | 'not_a_report' | 'too_many';

const DAY_MS = 24 * 3_600_000;
/** Unpacked; reports of large providers about large domains have some megabytes. */
const UNPACKED_BYTES_MAX = 10 * 1024 * 1024;
/** A report has one attachment. */
const ATTACHMENTS_MAX = 5;
/** A domain with much mail gets some hundreds in a day. */
const REPORTS_OF_DAY_MAX = 2000;
/** Anybody can send these. */
const UNAUTHENTICATED_OF_DAY_MAX = 100;
/** Beyond this, sources and hosts are counted together. */
const PARTS_OF_DAY_MAX = 20_000;
/** Clocks of others may be ahead by some hours. */
const AHEAD_MS = DAY_MS;

/**
 * Stores the report in a message to the report address of a domain; when this resolves, it is synced. A report that
 * cannot be read, is about another domain or too old is logged and discarded: its sender could not do anything about
 * it. Rejects with a Refusal if too many reports wait to be parsed.
 */
export async function receiveDomainReport(
  store: Store,
  domain: ReportedDomain,
  message: { reading: MessageReading; authentication: Authentication; mailFrom: string },
): Promise<ReportReceipt> {
  const { reading, authentication, mailFrom } = message;
  const discard = (because: string): ReportReceipt => {
    const about = { domainId: domain.id, domain: domain.name, mailFrom, because };
    store.log.info(about, 'discarded a report about a domain');
    return 'accepted';
  };
  if (!reading.isRead) return discard(`The message could not be read: ${reading.because}.`);
  const candidates = findAttachments(reading);
  if (candidates.length === 0) return 'not_a_report';
  const found = await unpackFirst(candidates);
  if ('fault' in found) return discard(found.fault);
  const report = await store.texts.run(
    // A tenant of its own, so that reports take no places of its team's requests.
    { teamId: `reports of ${domain.id}`, chars: found.content.length, task: readDomainReport },
    { content: found.content, subject: describeSubject(store, domain) },
  );
  if ('fault' in report) return discard(report.fault);
  const now = store.clock.now();
  if (report.beginAt > now + AHEAD_MS) return discard('The report is about the future.');
  if (report.beginAt < now - store.config.receiving.reports_retention_days * DAY_MS) {
    return discard('The report is older than reports are kept.');
  }
  const { submitter, isAuthenticated } = identifySubmitter(reading, authentication);
  const row = composeRow(store, domain, report, { submitter, isAuthenticated });
  const stored = await store.db.tx(async (tx) => {
    const before = await countReportsOfDay(tx, domain.id, row.day);
    const isFull = isAuthenticated
      ? before.reports - before.unauthenticated >= REPORTS_OF_DAY_MAX
      : before.unauthenticated >= UNAUTHENTICATED_OF_DAY_MAX;
    if (isFull) return 'too_many';
    // Only what is proven counts in summaries.
    const parts = isAuthenticated ? fitParts(report.parts, PARTS_OF_DAY_MAX - before.parts) : noParts(report.parts);
    row.parts = countParts(parts);
    return (await insertReport(tx, row, parts)) ? 'new' : 'known';
  });
  if (stored === 'too_many') return stored;
  const about = { domainId: domain.id, domain: domain.name, type: row.type, submitter, isAuthenticated };
  store.log.info(about, stored === 'new' ? 'received a report about a domain' : 'received a report a second time');
  return 'accepted';
}

const TYPES =
  /^(?:application\/(?:tlsrpt\+(?:gzip|json)|(?:x-)?gzip|(?:x-)?zip|x-zip-compressed|octet-stream|xml|json)|text\/xml)$/i;
const NAMES = /\.(?:xml|json|gz|gzip|zip)$/i;

/** Finds what may be a report: the content decides, because media types and file names are often wrong. */
function findAttachments({ parts, text }: MessageReading & { isRead: true }): Uint8Array[] {
  const isCandidate = ({ contentType, filename }: MessagePart): boolean =>
    TYPES.test(contentType) || NAMES.test(filename ?? '');
  const attached = parts.filter(isCandidate).map(({ content }) => content);
  if (attached.length > 0) return attached.slice(0, ATTACHMENTS_MAX);
  return text !== null && /^\s*(?:<\?xml|<feedback|\{\s*"organization-name")/.test(text) ? [Buffer.from(text)] : [];
}

/** Unpacks the first attachment that can be unpacked; returns the fault of the first one if none can. */
async function unpackFirst(candidates: readonly Uint8Array[]): Promise<{ content: Buffer } | { fault: string }> {
  let first: { fault: string } | undefined;
  for (const bytes of candidates) {
    const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const unpacked = await unpackReport(file, { bytesMax: UNPACKED_BYTES_MAX });
    if (!('fault' in unpacked)) return { content: unpacked.content };
    first ??= unpacked;
  }
  return first ?? { fault: 'The message has no attachment.' };
}

function describeSubject({ config }: Store, { name, returnPath }: ReportedDomain) {
  const { host } = config.instance;
  const servers = [config.domains.receiving_mx, config.domains.return_path_mx];
  const hosts = [host, ...servers.map((server) => server.replaceAll('{host}', host))].map((one) => one.toLowerCase());
  return { domain: name, returnPath, hosts };
}

/**
 * Identifies who sent a report: the domain in From, proven if SPF or DKIM passed for it (RFC 9990 and RFC 8460 §5.3 ask
 * for that). Whatever the report says about its sender proves nothing.
 */
function identifySubmitter(
  { from }: MessageReading,
  { dmarc, spf, dkim }: Authentication,
): { submitter: string; isAuthenticated: boolean } {
  const mailbox = parseMailbox(from);
  const submitter = mailbox.ok ? mailbox.mailbox.domain.toLowerCase() : '';
  if (submitter === '') return { submitter, isAuthenticated: false };
  const isAligned = ({ result, domain }: { result: string; domain: string | null }): boolean =>
    result === 'pass' && domain !== null && isAlike(domain.toLowerCase(), submitter);
  return {
    submitter,
    isAuthenticated: (dmarc.result === 'pass' && dmarc.domain !== null) || isAligned(spf) || dkim.some(isAligned),
  };
}

/** Reports whether one name is the other or a parent of it, and no top-level domain. */
function isAlike(one: string, other: string): boolean {
  if (one === other) return true;
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  return shorter.includes('.') && longer.endsWith(`.${shorter}`);
}

function composeRow(
  { ids, clock }: Store,
  domain: ReportedDomain,
  report: DomainReport,
  { submitter, isAuthenticated }: { submitter: string; isAuthenticated: boolean },
): ReportRow {
  const { type } = report.parts;
  // A report without proof, or of another sender, is never the second copy of one with proof.
  const copy = [type, report.organization, report.reportId, report.beginAt, isAuthenticated ? submitter : null];
  return {
    id: ids.uuid(),
    domain_id: domain.id,
    type,
    organization: report.organization || submitter,
    submitter,
    authenticated: isAuthenticated ? 1 : 0,
    fingerprint: createHash('sha256').update(JSON.stringify(copy)).digest('base64url'),
    report_id: report.reportId,
    policy_domain: report.policyDomain,
    begin_at: report.beginAt,
    end_at: report.endAt,
    day: Math.floor(report.beginAt / DAY_MS) * DAY_MS,
    total: report.total,
    passed: report.passed,
    parts: 0,
    created_at: clock.now(),
  };
}

/** Counts parts together if a day of the domain would have too many. */
function fitParts(parts: ReportParts, max: number): ReportParts {
  if (countParts(parts) <= max) return parts;
  return parts.type === 'dmarc'
    ? { ...parts, sources: withoutAddresses(parts.sources) }
    : { ...parts, sessions: withoutHosts(parts.sessions) };
}

const noParts = ({ type }: ReportParts): ReportParts =>
  type === 'dmarc' ? { type, sources: [] } : { type, sessions: [] };

const countParts = (parts: ReportParts): number =>
  parts.type === 'dmarc' ? parts.sources.length : parts.sessions.length;
