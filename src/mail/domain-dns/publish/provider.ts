import { isWithin, nameLabels, type PlainRecord } from '../../../protocol/dns/index.ts';

/** A record that stands in the zone, and what its provider needs to remove exactly this one. */
export interface ZoneRecord extends PlainRecord {
  ttl: number;
  handle: unknown;
}

export interface NewRecord extends PlainRecord {
  ttl: number;
}

/** What is looked at of one name; a provider may answer more. */
export interface RecordQuery {
  name: string;
  types: readonly string[];
}

export interface ZoneChange {
  deletes: readonly ZoneRecord[];
  creates: readonly NewRecord[];
  /** What was decided upon: every look and all that it found. */
  queries: readonly RecordQuery[];
  seen: readonly ZoneRecord[];
}

/** Where records are written. Everything it throws for the world's sake is a ProviderFault. */
export interface DnsProvider {
  readonly name: string;
  /** The zone that holds a domain; it throws, and lists the zones there are, when none does. */
  zoneOf(domain: string): Promise<string>;
  recordsAt(zone: string, queries: readonly RecordQuery[]): Promise<ZoneRecord[]>;
  /** Removes first and creates then; all or nothing where the provider can. */
  apply(zone: string, change: ZoneChange): Promise<void>;
}

/**
 * `refused`: the provider says no, and asking again is no use. `changed`: another client was faster. `unavailable`: no server
 * can tell, and it may be tried again.
 */
type ProviderFaultKind = 'refused' | 'changed' | 'unavailable';

export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly kind: ProviderFaultKind;
  /** false where an update was on its way and its outcome is not known. */
  readonly nothingChanged: boolean;

  constructor(kind: ProviderFaultKind, say: string, options: { nothingChanged: boolean; because?: unknown }) {
    super(say, options.because === undefined ? undefined : { cause: options.because });
    this.kind = kind;
    this.nothingChanged = options.nothingChanged;
  }
}

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
