import type { Region } from '../../contract/index.ts';

export type DomainStatus =
  | 'not_started'
  | 'pending'
  | 'verified'
  | 'partially_verified'
  | 'partially_failed'
  | 'failed';
export type RecordStatus = 'not_started' | 'pending' | 'verified' | 'temporary_failure' | 'failed';
export type RecordKind = 'DKIM' | 'SPF' | 'Receiving' | 'Tracking' | 'TrackingCAA' | 'DMARC' | 'TLS-RPT' | 'MTA-STS';
/** Only active keys sign. An incoming one waits until its record is seen; a retiring one is still published. */
export type KeyStatus = 'active' | 'incoming' | 'retiring';

export interface DomainRow {
  id: string;
  team_id: string;
  name: string;
  status: DomainStatus;
  region: Region;
  open_tracking: number;
  click_tracking: number;
  tracking_subdomain: string;
  /** Former labels with the time until which their links work, as JSON; null if there were none. */
  former_tracking_subdomains: string | null;
  custom_return_path: string;
  tls: 'opportunistic' | 'enforced';
  /** 1 if enforced TLS also requires a certificate that is valid for the server's name. */
  tls_verify: number;
  /** The team's switch, regardless of the state of its DNS. */
  sending: 'enabled' | 'disabled';
  /** "unsupported" until the team has chosen for the first time. */
  receiving: 'unsupported' | 'enabled' | 'disabled';
  created_at: number;
  asked_at: number | null;
  checked_at: number | null;
  /** Start of the wait for the records for sending. */
  first_checked_at: number | null;
  /** Time since which it may be sent from; null while it may not. */
  verified_at: number | null;
  /**
   * Time since which the name belongs to this team. The team keeps the name without being verified while a new key is
   * waited for, and loses it when the domain has failed.
   */
  held_at: number | null;
  /** Verified: when a record for sending was first seen absent or wrong. Not verified: when it was given up. */
  failing_since: number | null;
  receiving_since: number | null;
  receiving_verified_at: number | null;
  receiving_failing_since: number | null;
  /**
   * Time at which it stopped being verified because its records were gone; null if it never was verified or is verified
   * again.
   */
  lost_at: number | null;
  receiving_lost_at: number | null;
  mta_sts: 'off' | 'testing' | 'enforce';
  /**
   * Time until which senders may apply an MTA-STS policy of a mode that has ended; null if there was none. Kept by name
   * in a table of its own, and null for a copy whose name another team owns.
   */
  sts_cached_until: number | null;
}

export interface RecordRow {
  domain_id: string;
  position: number;
  record: RecordKind;
  name: string;
  type: 'TXT' | 'MX' | 'CNAME' | 'CAA';
  value: string;
  priority: number | null;
  status: RecordStatus;
  /** 1 if a feature that the team has switched on does not work without it. */
  required: number;
  /** DKIM records only. */
  key_status: KeyStatus | null;
  /** The other host name of a change of the host, if the record in DNS contains that one; null otherwise. */
  named_host: string | null;
}

/** A record before it has a position and a status. */
export type WantedRecord = Pick<RecordRow, 'record' | 'name' | 'type' | 'value' | 'required'> &
  Partial<Pick<RecordRow, 'priority' | 'key_status'>>;

export interface DkimKeyRow {
  id: string;
  domain_id: string;
  selector: string;
  algorithm: 'rsa-sha256' | 'ed25519-sha256';
  bits: number | null;
  private_key_sealed: string;
  created_at: number;
  status: KeyStatus;
  status_at: number | null;
}

/** Records with an equal identity are the same: only then is what is known of one true of the other. */
export const isSameRecord = (
  a: Pick<RecordRow, 'record' | 'name' | 'type' | 'value'>,
  b: Pick<RecordRow, 'record' | 'name' | 'type' | 'value'>,
): boolean => a.record === b.record && a.name === b.name && a.type === b.type && a.value === b.value;
