import type { Lookup, Resolver } from '../../platform/resolver/index.ts';
import type { DomainStatus, RecordRow, RecordStatus } from './domains.store.ts';

export type CheckedRecord = Pick<RecordRow, 'position' | 'record' | 'name' | 'status'>;

/**
 * Asks DNS for every record of a domain in the given status. The answers under way are shared, so two records of one name cost one
 * question a type.
 */
export function checkRecords(
  resolver: Resolver,
  domain: { status: DomainStatus },
  records: readonly RecordRow[],
  options: { cache: boolean },
): Promise<CheckedRecord[]> {
  // A record that is absent is waited for only until its domain is decided.
  const whenAbsent = domain.status === 'verified' || domain.status === 'failed' ? 'failed' : 'pending';
  // Links are asked for at any time, and their record decides nothing: it is waited for until it has been there once.
  const whenUnlinked = (record: RecordRow): RecordStatus =>
    record.status === 'verified' || record.status === 'failed' ? 'failed' : 'pending';
  return Promise.all(
    records.map(async (record) => {
      const answer = await textsOf(resolver, record, options);
      const status = judge(record, answer, record.record === 'Tracking' ? whenUnlinked(record) : whenAbsent);
      return { position: record.position, record: record.record, name: record.name, status };
    }),
  );
}

function textsOf(resolver: Resolver, record: RecordRow, options: { cache: boolean }): Promise<Lookup<string[]>> {
  switch (record.type) {
    case 'MX':
      return mxTexts(resolver, record.name, options);
    case 'CNAME':
      return resolver.cname(record.name, options);
    case 'TXT':
      return resolver.txt(record.name, options);
  }
}

async function mxTexts(resolver: Resolver, name: string, options: { cache: boolean }): Promise<Lookup<string[]>> {
  const answer = await resolver.mx(name, options);
  return answer.kind === 'found' ? { kind: 'found', records: answer.records.map((mx) => mx.host) } : answer;
}

function judge(record: RecordRow, answer: Lookup<string[]>, whenAbsent: RecordStatus): RecordStatus {
  switch (answer.kind) {
    case 'failed':
      // Nobody could say; what was known before may still hold.
      return record.status === 'verified' ? 'verified' : 'temporary_failure';
    case 'none':
      return whenAbsent;
    case 'found':
      return publishes(record, answer.records) ? 'verified' : 'failed';
  }
}

function publishes(record: RecordRow, found: readonly string[]): boolean {
  if (record.type !== 'TXT') return found.some((host) => host.toLowerCase() === record.value.toLowerCase());
  if (record.record === 'DKIM') return found.some((text) => dkimKeyIn(text) === dkimKeyIn(record.value));
  // RFC 7208 §4.5: with two SPF records nothing is permitted, whatever each of them says.
  const [spf, ...others] = found.filter(isSpf);
  if (spf === undefined || others.length > 0) return false;
  return spfTerms(record.value).every((term) => spfTerms(spf).includes(term));
}

/** RFC 6376 §3.6.1: `v` is the first tag or absent. White space inside the key is folding that panels add. */
function dkimKeyIn(text: string): string {
  const tags = text.split(';').map((tag): [name: string, value: string] => {
    const at = tag.indexOf('=');
    return [tag.slice(0, at).trim(), tag.slice(at + 1).replace(/\s+/g, '')];
  });
  const isOdd = tags.some(([name, value], i) => name === 'v' && (i > 0 || value !== 'DKIM1'));
  return isOdd ? '' : (tags.find(([name]) => name === 'p')?.[1] ?? '');
}

const isSpf = (text: string): boolean => /^v=spf1(?: |$)/i.test(text);

/**
 * The mechanisms that are looked at. A team may add senders of its own to the record; ours must be among them. The
 * final `all` is its choice, and what stands behind it counts for nothing (RFC 7208 §5.1).
 */
function spfTerms(text: string): string[] {
  const terms = text.toLowerCase().split(/\s+/).slice(1);
  const all = terms.findIndex((term) => /^[-~?+]?all$/.test(term));
  return (all < 0 ? terms : terms.slice(0, all)).map((term) => term.replace(/^\+/, ''));
}
