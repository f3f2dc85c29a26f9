import type { Lookup, Resolver } from '../../platform/resolver/index.ts';
import type { RecordRow, RecordStatus } from './domains.store.ts';

export type CheckedRecord = Pick<RecordRow, 'position' | 'status'>;

/** Asks DNS for every record. The answers under way are shared, so two records of one name cost one question a type. */
export function checkRecords(
  resolver: Resolver,
  records: readonly RecordRow[],
  options: { cache: boolean },
): Promise<CheckedRecord[]> {
  return Promise.all(
    records.map(async (record) => {
      const answer =
        record.type === 'MX' ? await mxTexts(resolver, record.name, options) : await resolver.txt(record.name, options);
      return { position: record.position, status: judge(record, answer) };
    }),
  );
}

async function mxTexts(resolver: Resolver, name: string, options: { cache: boolean }): Promise<Lookup<string[]>> {
  const answer = await resolver.mx(name, options);
  return answer.kind === 'found' ? { kind: 'found', records: answer.records.map((mx) => mx.host) } : answer;
}

function judge(record: RecordRow, answer: Lookup<string[]>): RecordStatus {
  switch (answer.kind) {
    case 'failed':
      // Nobody could say; what was known before may still hold.
      return record.status === 'verified' ? 'verified' : 'temporary_failure';
    case 'none':
      return record.status === 'verified' ? 'failed' : 'pending';
    case 'found':
      if (answer.records.some((found) => says(record, found))) return 'verified';
      return 'failed';
  }
}

function says(record: RecordRow, found: string): boolean {
  if (record.type === 'MX') return found.toLowerCase() === record.value.toLowerCase();
  if (record.record === 'DKIM') return dkimKeyIn(found) !== '' && dkimKeyIn(found) === dkimKeyIn(record.value);
  return spfTerms(record.value).every((term) => spfTerms(found).includes(term));
}

/** White space inside the key is folding that panels add (RFC 6376 §3.6.1). */
function dkimKeyIn(text: string): string {
  for (const tag of text.split(';')) {
    const [name = '', ...value] = tag.split('=');
    if (name.trim() === 'p') return value.join('=').replace(/\s+/g, '');
  }
  return '';
}

/** A team may add senders of its own to the record; our mechanisms must be among them. The final `all` is its choice. */
function spfTerms(text: string): string[] {
  const terms = text.trim().toLowerCase().split(/\s+/);
  return terms[0] === 'v=spf1' ? terms.filter((term) => !/^[-~?+]?all$/.test(term)) : [];
}
