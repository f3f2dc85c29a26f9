import { isWithin, nameLabels, type PlainRecord } from '../../../protocol/dns/index.ts';

/** A record in the zone, with the data that its provider needs to remove exactly this one. */
export interface ZoneRecord extends PlainRecord {
  ttl: number;
  handle: unknown;
}

export interface NewRecord extends PlainRecord {
  ttl: number;
}

/** The records of one name to read; a provider may return more. */
export interface RecordQuery {
  name: string;
  types: readonly string[];
}

export interface ZoneChange {
  deletes: readonly ZoneRecord[];
  creates: readonly NewRecord[];
  /** The basis of the decision: every query and everything that the queries found. */
  queries: readonly RecordQuery[];
  seen: readonly ZoneRecord[];
}

/** A client of the service that publishes records. It reports every failure outside rasket as a ProviderFault. */
export interface DnsProvider {
  readonly name: string;
  /** Returns the zone that holds a domain. Throws, listing the existing zones, if there is none. */
  findZone(domain: string): Promise<string>;
  recordsAt(zone: string, queries: readonly RecordQuery[]): Promise<ZoneRecord[]>;
  /** Removes first and creates then; atomically if the provider supports that. */
  apply(zone: string, change: ZoneChange): Promise<void>;
}

/**
 * `refused`: the provider rejects the request, and retrying is no use. `changed`: another client made a change first.
 * `unavailable`: no server gave a result, and it may be tried again.
 */
type ProviderFaultKind = 'refused' | 'changed' | 'unavailable';

export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly kind: ProviderFaultKind;
  /** False if an update was sent and its outcome is not known. */
  readonly nothingChanged: boolean;

  constructor(kind: ProviderFaultKind, say: string, options: { nothingChanged: boolean; because?: unknown }) {
    super(say, options.because === undefined ? undefined : { cause: options.because });
    this.kind = kind;
    this.nothingChanged = options.nothingChanged;
  }
}

const LISTED_MAX = 20;

/**
 * Returns the innermost of a provider's zones that holds a domain. Without one, throws a fault that names the existing
 * zones.
 */
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
