import { isIP } from 'node:net';
import { cleanReportText } from '../report-text.ts';
import { visitXml, XmlFault, type XmlElement } from './xml.ts';

/** An aggregate report: what a receiver saw of the mail with a domain in From (RFC 7489 appendix C, RFC 9990). */
export type DmarcReport = {
  /** Empty if the report does not name its sender. */
  orgName: string;
  email: string | undefined;
  reportId: string;
  begin: Date;
  end: Date;
  policy: DmarcPublishedPolicy;
  records: DmarcRecord[];
  /** Records that were left out: without a source address or a count, or beyond 10,000. */
  recordsOmitted: number;
};

export type DmarcPolicy = 'none' | 'quarantine' | 'reject';
export type DmarcAlignment = 'relaxed' | 'strict';

export type DmarcPublishedPolicy = {
  domain: string;
  p: DmarcPolicy | undefined;
  sp: DmarcPolicy | undefined;
  /** The policy for subdomains that do not exist (RFC 9989). */
  np: DmarcPolicy | undefined;
  /** A percentage; RFC 9989 has none. */
  pct: number | undefined;
  adkim: DmarcAlignment | undefined;
  aspf: DmarcAlignment | undefined;
  /** The domain asked for no more than reports (`t=y` of RFC 9989). */
  isTesting: boolean;
};

export type DmarcRecord = {
  sourceIp: string;
  count: number;
  /** What the receiver did. RFC 9990 adds `pass` for mail that passed. */
  disposition: DmarcPolicy | 'pass' | undefined;
  /** The aligned results. */
  dkim: 'pass' | 'fail' | undefined;
  spf: 'pass' | 'fail' | undefined;
  reasons: DmarcReason[];
  headerFrom: string | undefined;
  envelopeFrom: string | undefined;
  dkimResults: DmarcDkimResult[];
  spfResults: DmarcSpfResult[];
};

/** Why the receiver did not do what the policy says. */
export type DmarcReason = { type: DmarcReasonType; comment: string | undefined };
export type DmarcReasonType = (typeof REASON_TYPES)[number];
export type DmarcDkimResult = {
  domain: string | undefined;
  selector: string | undefined;
  result: (typeof DKIM_RESULTS)[number] | undefined;
};
export type DmarcSpfResult = {
  domain: string | undefined;
  scope: 'mfrom' | 'helo' | undefined;
  result: (typeof SPF_RESULTS)[number] | undefined;
};

const POLICIES = ['none', 'quarantine', 'reject'] as const;
const DISPOSITIONS = [...POLICIES, 'pass'] as const;
const ALIGNED = ['pass', 'fail'] as const;
const DKIM_RESULTS = ['none', 'pass', 'fail', 'policy', 'neutral', 'temperror', 'permerror'] as const;
const SPF_RESULTS = ['none', 'neutral', 'pass', 'fail', 'softfail', 'temperror', 'permerror'] as const;
const SCOPES = ['mfrom', 'helo'] as const;
const REASON_TYPES = [
  'forwarded',
  'sampled_out',
  'trusted_forwarder',
  'mailing_list',
  'local_policy',
  'policy_test_mode',
  'other',
] as const;

/** Older names of SPF results: RFC 7489 appendix C has two in its comments, and some senders write `hardfail`. */
const SPF_ALIASES: Readonly<Record<string, string>> = { unknown: 'temperror', error: 'permerror', hardfail: 'fail' };

const REPORT_CHARS_MAX = 10 * 1024 * 1024;
const RECORDS_MAX = 10_000;
const REASONS_MAX = 10;
/** Of one record; a message has a few signatures. */
const RESULTS_MAX = 100;
const NAME_CHARS_MAX = 255;
const TEXT_CHARS_MAX = 500;
/** Leaves room for adding the counts of many reports. */
const COUNT_MAX = 1_000_000_000_000;
/** The last second of the year 9999. */
const SECONDS_MAX = 253_402_300_799;

/**
 * Reads an aggregate report in XML, or says what is wrong with it. It accepts both namespaces and none, any order of
 * elements, missing details, and results that are spelled in other ways than in the schema.
 */
export function readDmarcReport(xml: string): DmarcReport | { fault: string } {
  if (xml.length > REPORT_CHARS_MAX) {
    return { fault: `The report has ${xml.length} characters; at most ${REPORT_CHARS_MAX} are allowed.` };
  }
  let metadata: XmlElement | undefined;
  let published: XmlElement | undefined;
  const records: DmarcRecord[] = [];
  let recordsOmitted = 0;
  try {
    visitXml(xml, 'feedback', (element) => {
      if (element.name === 'report_metadata') metadata ??= element;
      if (element.name === 'policy_published') published ??= element;
      if (element.name !== 'record') return;
      const record = records.length < RECORDS_MAX ? readRecord(element) : undefined;
      if (record) records.push(record);
      else recordsOmitted++;
    });
  } catch (error) {
    if (error instanceof XmlFault) return { fault: error.message };
    throw error;
  }
  const head = readHead(metadata, published);
  return 'fault' in head ? head : { ...head, records, recordsOmitted };
}

type Head = Omit<DmarcReport, 'records' | 'recordsOmitted'>;

function readHead(metadata: XmlElement | undefined, published: XmlElement | undefined): Head | { fault: string } {
  if (!metadata) return { fault: 'The report has no report_metadata.' };
  const reportId = readText(metadata, 'report_id');
  if (reportId === undefined) return { fault: 'The report has no report_id.' };
  const range = findChild(metadata, 'date_range');
  const begin = readTime(range, 'begin');
  const end = readTime(range, 'end');
  if (!begin) return { fault: 'The report has no readable begin of its date_range.' };
  if (!end) return { fault: 'The report has no readable end of its date_range.' };
  if (end < begin) return { fault: 'The report ends before it begins.' };
  const domain = readDomain(published, 'domain');
  if (domain === undefined) return { fault: 'The report has no domain in policy_published.' };
  return {
    orgName: readText(metadata, 'org_name') ?? '',
    email: readText(metadata, 'email'),
    reportId,
    begin,
    end,
    policy: {
      domain,
      p: readWord(published, 'p', POLICIES),
      sp: readWord(published, 'sp', POLICIES),
      np: readWord(published, 'np', POLICIES),
      pct: readNumber(published, 'pct', 100),
      adkim: readAlignment(published, 'adkim'),
      aspf: readAlignment(published, 'aspf'),
      isTesting: readText(published, 'testing')?.toLowerCase() === 'y',
    },
  };
}

/** Returns undefined if the record says nothing: its source address or its count is missing. */
function readRecord(record: XmlElement): DmarcRecord | undefined {
  const row = findChild(record, 'row');
  const sourceIp = readText(row, 'source_ip')?.toLowerCase();
  const count = readNumber(row, 'count', COUNT_MAX);
  if (sourceIp === undefined || isIP(sourceIp) === 0 || count === undefined) return undefined;
  const evaluated = findChild(row, 'policy_evaluated');
  const identifiers = findChild(record, 'identifiers');
  const results = findChild(record, 'auth_results');
  return {
    sourceIp,
    count,
    disposition: readWord(evaluated, 'disposition', DISPOSITIONS),
    dkim: readWord(evaluated, 'dkim', ALIGNED),
    spf: readWord(evaluated, 'spf', ALIGNED),
    reasons: findChildren(evaluated, 'reason', REASONS_MAX)
      .map(readReason)
      .filter((reason) => reason !== undefined),
    headerFrom: readDomain(identifiers, 'header_from'),
    envelopeFrom: readDomain(identifiers, 'envelope_from'),
    dkimResults: findChildren(results, 'dkim', RESULTS_MAX).map((dkim) => ({
      domain: readDomain(dkim, 'domain'),
      selector: readText(dkim, 'selector'),
      result: readWord(dkim, 'result', DKIM_RESULTS),
    })),
    spfResults: findChildren(results, 'spf', RESULTS_MAX).map((spf) => ({
      domain: readDomain(spf, 'domain'),
      scope: readWord(spf, 'scope', SCOPES),
      result: readWord(spf, 'result', SPF_RESULTS, SPF_ALIASES),
    })),
  };
}

/** Some senders write a reason with nothing in it into every record. */
function readReason(reason: XmlElement): DmarcReason | undefined {
  const comment = readText(reason, 'comment', TEXT_CHARS_MAX);
  const isEmpty = comment === undefined && readText(reason, 'type') === undefined;
  return isEmpty ? undefined : { type: readWord(reason, 'type', REASON_TYPES) ?? 'other', comment };
}

const findChild = (parent: XmlElement | undefined, name: string): XmlElement | undefined =>
  parent?.children.find((child) => child.name === name);

const findChildren = (parent: XmlElement | undefined, name: string, max: number): XmlElement[] =>
  (parent?.children ?? []).filter((child) => child.name === name).slice(0, max);

function readText(parent: XmlElement | undefined, name: string, charsMax = NAME_CHARS_MAX): string | undefined {
  const child = findChild(parent, name);
  return child && (cleanReportText(child.text, charsMax) || undefined);
}

const readDomain = (parent: XmlElement | undefined, name: string): string | undefined =>
  readText(parent, name)?.toLowerCase().replace(/\.$/, '') || undefined;

/** Returns undefined for a word that is not in the list. */
function readWord<Word extends string>(
  parent: XmlElement | undefined,
  name: string,
  words: readonly Word[],
  aliases: Readonly<Record<string, string>> = {},
): Word | undefined {
  const written = readText(parent, name)?.toLowerCase() ?? '';
  const meant = Object.hasOwn(aliases, written) ? aliases[written] : written;
  return words.find((word) => word === meant);
}

function readAlignment(parent: XmlElement | undefined, name: string): DmarcAlignment | undefined {
  const letter = readWord(parent, name, ['r', 's']);
  return letter && (letter === 's' ? 'strict' : 'relaxed');
}

function readNumber(parent: XmlElement | undefined, name: string, max: number): number | undefined {
  const written = readText(parent, name) ?? '';
  return /^\d{1,13}$/.test(written) && Number(written) <= max ? Number(written) : undefined;
}

function readTime(range: XmlElement | undefined, name: string): Date | undefined {
  const seconds = readNumber(range, name, SECONDS_MAX);
  return seconds === undefined ? undefined : new Date(seconds * 1000);
}
