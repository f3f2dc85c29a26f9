import type { DomainObject, DomainRecord } from '../../../src/contract/index.ts';
import { domains, recordColumns } from '../../families/domains.ts';
import {
  formatItem,
  formatTable,
  shownFields,
  tableColumns,
  clean,
  type Column,
  type Terminal,
} from '../../output/index.ts';
import { zoneEntry } from './zone-entry.ts';

/** A domain, and its records in the form in which a DNS host asks for them. */
export function printDomain(terminal: Terminal, domain: DomainObject, asZone: boolean): void {
  if (asZone) return terminal.print(domain.records.map(zoneEntry).join('\n'));
  const columns: Column<DomainRecord>[] = tableColumns(terminal, recordColumns);
  if (!terminal.isTty)
    return terminal.print(formatTable(terminal, domain.records, [...columns, ...buildAsideColumns(domain)]));
  const records = formatTable(terminal, domain.records, columns, { remarks: (record) => remarksOn(terminal, record) });
  terminal.print(`${formatItem(terminal, shownFields(domains.get.fields), domain)}\n\n${records}`);
}

/** Columns for a program, which gets on each line what a person sees above and between the lines. */
const buildAsideColumns = (domain: DomainObject): Column<DomainRecord>[] => [
  { title: 'DOMAIN', value: () => domain.status },
  { title: 'DIAGNOSIS', value: (record) => record.diagnosis },
];

/** Describes what is wrong with a record and what DNS contains instead, for the lines below it. */
export function remarksOn(terminal: Terminal, record: DomainRecord): string[] {
  if (!record.diagnosis) return [];
  const { resolver = [], authoritative = [] } = record.found ?? {};
  return [
    terminal.paint('yellow', clean(record.diagnosis)),
    ...(authoritative.length > 0
      ? [terminal.paint('dim', `its name servers answer: ${joinValues(authoritative)}`)]
      : []),
    ...(resolver.length > 0 && joinValues(resolver) !== joinValues(authoritative)
      ? [terminal.paint('dim', `our resolver answers: ${joinValues(resolver)}`)]
      : []),
  ];
}

const joinValues = (values: readonly string[]): string => values.map(clean).join(' | ');
