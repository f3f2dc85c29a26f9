import type { DnsConfiguration } from '../../src/contract/index.ts';
import { clean } from './clean.ts';

/** Describes a change of a zone that was made, or would be. */
export function describeChange({ changes, zone, provider, dry_run: isDryRun }: DnsConfiguration): string {
  if (changes.length === 0) return `The zone ${clean(zone)} already has all records; nothing changes.`;
  return `${isDryRun ? 'This would change' : 'Changed'} the zone ${clean(zone)} at the provider ${clean(provider)}.`;
}
