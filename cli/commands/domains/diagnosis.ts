import type { DomainRecord } from '../../../src/contract/index.ts';
import { clean, type Terminal } from '../../output/index.ts';

/**
 * Under the line of each record what is wrong with it and what stands in DNS instead. The table has one line for its titles
 * and one for each record; a program reads its lines and finds the sentences in the JSON.
 */
export function underEach(terminal: Terminal, table: string, records: readonly DomainRecord[]): string {
  if (!terminal.isTty) return table;
  const [titles = '', ...lines] = table.split('\n');
  return [titles, ...lines.flatMap((line, at) => [line, ...remarks(terminal, records[at])])].join('\n');
}

function remarks(terminal: Terminal, record: DomainRecord | undefined): string[] {
  if (!record?.diagnosis) return [];
  const { resolver = [], authoritative = [] } = record.found ?? {};
  return [
    `  ${terminal.paint('yellow', clean(record.diagnosis))}`,
    ...(authoritative.length > 0 ? [`  ${terminal.paint('dim', `its name servers say: ${said(authoritative)}`)}`] : []),
    ...(resolver.length > 0 && said(resolver) !== said(authoritative)
      ? [`  ${terminal.paint('dim', `our resolver says: ${said(resolver)}`)}`]
      : []),
  ];
}

const said = (values: readonly string[]): string => values.map(clean).join(' | ');
