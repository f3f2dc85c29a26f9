import type { Answer, Judgement, SpfCost, Wanted } from '../../protocol/dns-diagnosis/index.ts';

/** A record, and what the configured resolver says of it. */
export interface Glance {
  wanted: Wanted;
  answer: Answer;
  judgement: Judgement;
  spf?: SpfCost;
}

/** What stands in DNS, made harmless and short. */
export interface Found {
  resolver: string[];
  /** From the zone's own name servers; empty when they were not asked. */
  authoritative: string[];
}

export interface Explained {
  diagnosis: string | null;
  /** null: DNS was not asked for this. */
  found: Found | null;
}
