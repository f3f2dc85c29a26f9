/** Aggregate reports of DMARC (RFC 7489, RFC 9990): reading what receivers saw of a domain's mail. */
export {
  readDmarcReport,
  type DmarcAlignment,
  type DmarcDkimResult,
  type DmarcPolicy,
  type DmarcPublishedPolicy,
  type DmarcReason,
  type DmarcReasonType,
  type DmarcRecord,
  type DmarcReport,
  type DmarcSpfResult,
} from './report.ts';
