import { createHash } from 'node:crypto';
import { createMessageRate } from '../../platform/limits/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import type { MessagePart, MessageReading } from '../../protocol/read-message/index.ts';
import { unpackReport } from '../../protocol/report-archive.ts';
import type { Authentication } from '../received-emails/index.ts';
import {
  countReportsOfDay,
  countStoredParts,
  insertReport,
  isKnownSubmitter,
  isReportStored,
  type ReportRow,
} from './domain-reports.store.ts';
import {
  readDomainReport,
  withoutAddresses,
  withoutHosts,
  type DomainReport,
  type ReportParts,
} from './read-report.ts';
import { identifySubmitter, type Submitter } from './submitter.ts';

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
/**
 * Anybody can register a name and prove it, so each submitter has limits of its own, and half of what a domain may have
 * is for submitters that are known: their first report about the domain is a day old.
 */
const KNOWN_AFTER_MS = DAY_MS;
/**
 * Reports about a day by all submitters below one registered name: a service that reports for its customers sends one for
 * each. A submitter that is not known has half of it, because whoever has an address at a provider could otherwise use up
 * what the reports of the provider need.
 */
const REPORTS_OF_ORGANIZATION_MAX = 100;
/** Two reports with as many parts as one keeps: 1,000, and one for those that are counted together. */
const PARTS_OF_ORGANIZATION_MAX = 2 * 1001;
/** A domain with much mail gets some hundreds in a day. */
const REPORTS_OF_DAY_MAX = 2000;
/** Beyond this, sources and hosts are counted together. */
const PARTS_OF_DAY_MAX = 20_000;
/** Anybody can send these. */
const UNAUTHENTICATED_OF_DAY_MAX = 100;
/**
 * Reports about one domain by submitters that are not known, proven or unproven: most reports of a day arrive within a few
 * hours.
 */
const UNKNOWN_PER_HOUR = 600;
/** Clocks of others may be ahead by some hours. */
const AHEAD_MS = DAY_MS;

export type ReceiveDomainReport = (
  domain: ReportedDomain,
  message: { reading: MessageReading; authentication: Authentication; mailFrom: string },
) => Promise<ReportReceipt>;

/**
 * Creates the function that stores the report in a message to the report address of a domain; when it resolves, the
 * report is synced. A report that cannot be read, is about another domain or too old is logged and discarded: its sender
 * could not do anything about it. Rejects with a Refusal if too many reports wait to be parsed.
 */
export function createReceiveDomainReport(store: Store): ReceiveDomainReport {
  const mayBringUnknown = createMessageRate(store.clock, UNKNOWN_PER_HOUR, 3_600_000);
  return async (domain, { reading, authentication, mailFrom }) => {
    const discard = (because: string): ReportReceipt => {
      const about = { domainId: domain.id, domain: domain.name, mailFrom, because };
      store.log.info(about, 'discarded a report about a domain');
      return 'accepted';
    };
    if (!reading.isRead) return discard(`The message could not be read: ${reading.because}.`);
    const candidates = findAttachments(reading);
    if (candidates.length === 0) return 'not_a_report';
    const submitter = identifySubmitter(reading.from, authentication);
    const knownSince = store.clock.now() - KNOWN_AFTER_MS;
    const isKnown =
      submitter.isAuthenticated && (await isKnownSubmitter(store.db, domain.id, submitter.domain, knownSince));
    // Those without proof never use up what others may bring.
    const kind = `${domain.id} ${submitter.isAuthenticated ? 'proven' : 'unproven'}`;
    if (!isKnown && !mayBringUnknown(kind)) return 'too_many';
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
    const row = composeRow(store, domain, report, submitter);
    const partsMax = store.config.receiving.report_parts_max;
    const stored = await store.db.tx((tx) => storeWithinLimits(tx, row, report.parts, { isKnown, partsMax }));
    if (stored === 'too_many') return stored;
    const about = {
      domainId: domain.id,
      domain: domain.name,
      type: row.type,
      submitter: submitter.domain,
      isAuthenticated: submitter.isAuthenticated,
    };
    store.log.info(about, stored === 'new' ? 'received a report about a domain' : 'received a report a second time');
    return 'accepted';
  };
}

/** Stores a report with as many of its parts as its submitter, the day of the domain, and the installation may have. */
async function storeWithinLimits(
  tx: Executor,
  row: ReportRow,
  parts: ReportParts,
  { isKnown, partsMax }: { isKnown: boolean; partsMax: number },
): Promise<'new' | 'known' | 'too_many'> {
  // A second copy needs no room, and its sender would try again and again.
  if (await isReportStored(tx, row)) return 'known';
  const ofDay = await countReportsOfDay(tx, row);
  const share = isKnown ? 1 : 0.5;
  const isFull =
    row.authenticated === 1
      ? ofDay.ofSubmitter.reports >= REPORTS_OF_ORGANIZATION_MAX * share ||
        ofDay.ofOrganization.reports >= REPORTS_OF_ORGANIZATION_MAX ||
        ofDay.reports >= REPORTS_OF_DAY_MAX * share
      : ofDay.unauthenticated >= UNAUTHENTICATED_OF_DAY_MAX;
  if (isFull) return 'too_many';
  // Only what is proven counts in summaries.
  const mayHaveParts = row.authenticated === 1 && (isKnown || (await countStoredParts(tx)) < partsMax);
  const room = Math.min(
    PARTS_OF_ORGANIZATION_MAX * share - ofDay.ofSubmitter.parts,
    PARTS_OF_ORGANIZATION_MAX - ofDay.ofOrganization.parts,
    PARTS_OF_DAY_MAX * share - ofDay.parts,
  );
  const kept = mayHaveParts ? fitParts(parts, room) : noParts(parts);
  return (await insertReport(tx, { ...row, parts: countParts(kept) }, kept)) ? 'new' : 'known';
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

function composeRow(
  { ids, clock }: Store,
  domain: ReportedDomain,
  report: DomainReport,
  { domain: submitter, organizationalDomain, isAuthenticated }: Submitter,
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
    organizational_domain: organizationalDomain,
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

/** Counts parts together if there are too many. */
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
