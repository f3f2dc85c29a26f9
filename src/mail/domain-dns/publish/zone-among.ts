import { isWithin, nameLabels } from '../../../protocol/dns/index.ts';
import { ProviderFault } from './provider.ts';

const LISTED_MAX = 20;

/** The innermost of a provider's zones that holds a domain; without one, the fault names those there are. */
export function zoneAmong(provider: string, zones: readonly string[], domain: string): string {
  const [zone] = zones
    .filter((each) => isWithin(domain, each))
    .toSorted((a, b) => nameLabels(b).length - nameLabels(a).length);
  if (zone !== undefined) return zone.toLowerCase();
  const more = zones.length > LISTED_MAX ? ` and ${zones.length - LISTED_MAX} more` : '';
  const listed = zones.length === 0 ? 'it has none' : `it has ${zones.slice(0, LISTED_MAX).join(', ')}${more}`;
  const say = `The DNS provider ${provider} has no zone for ${domain}; ${listed}.`;
  throw new ProviderFault('refused', say, { nothingChanged: true });
}
