import type { Verdict } from '../../protocol/dns-diagnosis/index.ts';
import { isSameRecord, type RecordRow } from './domain-rows.ts';

/** What stands in DNS, made harmless and short. */
export interface Found {
  resolver: string[];
  /** From the zone's own name servers; empty when they were not asked. */
  authoritative: string[];
}

/** What DNS says of one record now, whatever was known of it before. */
export interface RecordCheck {
  record: RecordRow;
  /** unknown: no server could say. */
  verdict: Verdict;
  diagnosis: string | null;
  /** null: DNS was not asked for this. */
  found: Found | null;
}

/** Undefined for a record that was not checked. */
export const checkOf = (checks: readonly RecordCheck[], record: RecordRow): RecordCheck | undefined =>
  checks.find((check) => isSameRecord(check.record, record));
