import type { DnsRig } from '../../rig/dns.ts';

export interface PublishedRecord {
  record: string;
  type: 'TXT' | 'MX' | 'CNAME' | 'CAA';
  name: string;
  value: string;
  priority?: number;
}

export interface SeenRecord extends PublishedRecord {
  status: string;
  diagnosis: string | null;
  found: { resolver: string[]; authoritative: string[] } | null;
}

/** A domain `mail.<zone>` whose records are published as asked for, until a case breaks one of them. */
export interface Ground {
  dns: DnsRig;
  /** A second name server of the zone, silent until it gets answers. */
  second: DnsRig;
  zone: string;
  name: string;
  now: number;
  dkim: PublishedRecord;
  ed25519: PublishedRecord;
  mx: PublishedRecord;
  spf: PublishedRecord;
  dmarc: PublishedRecord;
  tracking: PublishedRecord;
  receiving: PublishedRecord;
}

export interface BrokenZone {
  why: string;
  /** The record that the diagnosis is about. */
  of: 'dkim' | 'mx' | 'spf' | 'dmarc' | 'tracking' | 'receiving' | 'caa';
  breakIt: (ground: Ground) => void;
  /** Its name server never answers, so the check takes its full time limit. */
  isSilent?: true;
  status?: string;
  says: (ground: Ground) => string;
}

export const text = (value: string): [string[]] => [value.match(/.{1,255}/gs) ?? []];
export const relative = ({ zone }: Ground, { name }: PublishedRecord): string => name.slice(0, -zone.length - 1);

/** Creates a zone with two name servers, the second one not in use. */
export function layZone(dns: DnsRig, zone: string): string {
  dns.set(zone, 'SOA', [`ns1.${zone} admin.${zone} 1 900`]);
  dns.set(zone, 'NS', [`ns1.${zone}`]);
  dns.set(`ns1.${zone}`, 'A', ['127.0.0.1']);
  dns.set(`ns2.${zone}`, 'A', ['127.0.0.2']);
  return zone;
}
