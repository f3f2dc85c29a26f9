/** What is printed of records, settings and the first email. */
import type { DomainRecord } from '../../src/contract/index.ts';
import { zoneEntry } from '../../cli/commands/domains/zone-entry.ts';
import type { Domain } from './first-things.ts';
import { sectionOf, settingLine, type Edit } from './settings-text.ts';
import { canonicalAddress, familyOf, type LookUps } from './this-machine.ts';

/** With the sections that they stand in. */
export function settingsInWords(edits: readonly Edit[]): string {
  const sections = [...new Set(edits.map(({ key }) => sectionOf(key)))];
  return sections
    .map((section) =>
      [
        `  [${section}]`,
        ...edits.filter(({ key }) => sectionOf(key) === section).map((one) => `  ${settingLine(one)}`),
      ].join('\n'),
    )
    .join('\n');
}

export interface HostRecords {
  /** Lines of a zone file. */
  zone: string;
  /** What DNS lacks, in sentences. */
  lacks: readonly string[];
}

/** A and AAAA of the host name, and the way back from each address. */
export async function hostRecords(host: string, addresses: readonly string[], lookUps: LookUps): Promise<HostRecords> {
  const zone = addresses.map((address) => `${host}.\tIN\t${familyOf(address)}\t${address}`).join('\n');
  const published = await lookUps.addressesOf(host);
  const lacks: string[] = [];
  if (published === 'unknown')
    lacks.push(`Nobody could say which addresses ${host} has: the resolver does not answer.`);
  const has = (Array.isArray(published) ? published : []).map(canonicalAddress);
  for (const address of addresses) {
    if (published !== 'unknown' && !has.includes(address))
      lacks.push(`${host} has no ${familyOf(address)} record with ${address}. Publish it.`);
    const names = await lookUps.namesOf(address);
    if (!names.includes(host))
      lacks.push(
        `Reverse DNS of ${address} is ${names.length === 0 ? 'absent or cannot be looked up' : names.join(', ')}. Ask whoever gave you the address to set it to ${host}.`,
      );
  }
  const strange = has.filter((address) => !addresses.includes(address));
  if (strange.length > 0) lacks.push(`${host} also leads to ${strange.join(', ')}, which is not this machine.`);
  return { zone, lacks };
}

export const zoneSnippet = ({ records }: Pick<Domain, 'records'>): string =>
  (records as readonly DomainRecord[]).map(zoneEntry).join('\n');

/** As one word of a shell: an address may have an apostrophe. */
const inQuotes = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export interface FirstEmail {
  url: string;
  key: string | undefined;
  domain: string;
  to: string;
}

export function firstEmailLine({ url, key, domain, to }: FirstEmail): string {
  const body = { from: `Hello <hello@${domain}>`, to, subject: 'Hello', text: 'It works.' };
  return `curl ${url}/emails \\
  -H ${key === undefined ? '"Authorization: Bearer $RASKET_API_KEY"' : `'Authorization: Bearer ${key}'`} \\
  -H 'Content-Type: application/json' \\
  -d ${inQuotes(JSON.stringify(body))}`;
}
