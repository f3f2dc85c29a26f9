import type { DomainObject, DomainRecord } from '../../../src/contract/index.ts';
import { formatPairs, formatTable, type Style, type Terminal } from '../../output/index.ts';
import { underEach } from './diagnosis.ts';
import { zoneLine } from './zone-line.ts';

/** A domain, and its records in the form in which a DNS host asks for them. */
export function printDomain(terminal: Terminal, domain: DomainObject, asZone: boolean): void {
  if (asZone) return terminal.print(domain.records.map(zoneLine).join('\n'));
  const records = formatTable<DomainRecord>(terminal, domain.records, [
    { title: 'FOR', value: labelOf },
    { title: 'STATUS', value: (record) => record.status, style: (record) => styleOf(record.status) },
    { title: 'TYPE', value: (record) => record.type },
    { title: 'NAME', value: (record) => record.name, isWhole: true },
    { title: 'PRIORITY', value: (record) => record.priority },
    // Last and never shortened, so that it can be copied.
    { title: 'VALUE', value: (record) => record.value, isWhole: true },
    // A program finds on each line what a person finds above and between the lines.
    ...(terminal.isTty
      ? []
      : [
          { title: 'DOMAIN', value: () => domain.status },
          { title: 'DIAGNOSIS', value: (record: DomainRecord) => record.diagnosis ?? null, isWhole: true },
        ]),
  ]);
  if (!terminal.isTty) return terminal.print(records);
  const fields = formatPairs(terminal, [
    ['Domain', domain.name],
    ['Id', domain.id],
    ['Status', domain.status],
    ['Region', domain.region],
    ['Sending', domain.capabilities.sending],
    ['Receiving', domain.capabilities.receiving],
    ['Open tracking', domain.open_tracking ? 'on' : 'off'],
    ['Click tracking', domain.click_tracking ? 'on' : 'off'],
  ]);
  terminal.print(`${fields}\n\n${underEach(terminal, records, domain.records)}`);
}

/** Which of a domain's keys a record publishes, where it is not the one that signs. */
function labelOf({ record, key_status: keyStatus }: DomainRecord): string {
  return keyStatus === undefined || keyStatus === 'active' ? record : `${record} (${keyStatus})`;
}

export function styleOf(status: DomainObject['status'] | DomainRecord['status']): Style {
  if (status === 'verified') return 'green';
  if (status === 'not_started' || status === 'pending') return 'plain';
  return status === 'failed' ? 'red' : 'yellow';
}
