import type { Answer } from '../../protocol/dns-diagnosis/index.ts';
import { reverseName } from '../../protocol/dnsbl/index.ts';
import type { RecordTypeName } from '../../protocol/dns/index.ts';

const NAMES_MAX = 10;

/** What reverse DNS says of an address, and whether one of its names leads back to it. */
export type ReverseDns =
  | { kind: 'confirmed'; name: string }
  | { kind: 'none' }
  | { kind: 'elsewhere'; names: string[] }
  | { kind: 'unknown'; names: string[]; reason: string };

/** Asks for the names of an address and for the addresses of these names. */
export async function findReverseDns(
  ask: (name: string, type: RecordTypeName) => Promise<Answer>,
  address: string,
): Promise<ReverseDns> {
  const found = await ask(reverseName(address), 'PTR');
  if (found.kind === 'failed') return { kind: 'unknown', names: [], reason: found.reason };
  if (found.kind === 'none') return { kind: 'none' };
  const names = found.records.slice(0, NAMES_MAX);
  const answers = await Promise.all(names.map((name) => ask(name, address.includes(':') ? 'AAAA' : 'A')));
  for (const [index, answer] of answers.entries()) {
    const leadsBack = answer.kind === 'found' && answer.records.some((one) => isSameAddress(one, address));
    if (leadsBack) return { kind: 'confirmed', name: names[index] ?? '' };
  }
  const failed = answers.find((answer) => answer.kind === 'failed');
  if (failed?.kind === 'failed') return { kind: 'unknown', names, reason: failed.reason };
  return { kind: 'elsewhere', names };
}

/** Compares addresses; one address of IPv6 has many spellings. */
export const isSameAddress = (a: string, b: string): boolean => reverseName(a) === reverseName(b);
