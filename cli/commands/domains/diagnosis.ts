import type { DomainRecord } from '../../../src/contract/index.ts';
import { clean, type Terminal } from '../../output/index.ts';

/** What is wrong with a record and what stands in DNS instead, to be read under its line. */
export function remarksOn(terminal: Terminal, record: DomainRecord): string[] {
  if (!record.diagnosis) return [];
  const { resolver = [], authoritative = [] } = record.found ?? {};
  return [
    terminal.paint('yellow', clean(record.diagnosis)),
    ...(authoritative.length > 0 ? [terminal.paint('dim', `its name servers say: ${said(authoritative)}`)] : []),
    ...(resolver.length > 0 && said(resolver) !== said(authoritative)
      ? [terminal.paint('dim', `our resolver says: ${said(resolver)}`)]
      : []),
  ];
}

const said = (values: readonly string[]): string => values.map(clean).join(' | ');
