import { parseMailbox } from '../../protocol/address/index.ts';
import { areRelated, estimateOrganizationalDomain } from '../../protocol/organizational-domain.ts';
import type { Authentication } from '../received-emails/index.ts';

/** Who sent a report. */
export interface Submitter {
  /** The domain in From; empty if there is none. */
  domain: string;
  organizationalDomain: string;
  isAuthenticated: boolean;
}

/**
 * Identifies who sent a report: the domain in From, proven if SPF or DKIM passed for it (RFC 9990 and RFC 8460 §5.3 ask
 * for that). Whatever the report says about its sender proves nothing.
 */
export function identifySubmitter(from: string, { dmarc, spf, dkim }: Authentication): Submitter {
  const mailbox = parseMailbox(from);
  const domain = mailbox.ok ? mailbox.mailbox.domain.toLowerCase() : '';
  if (domain === '') return { domain, organizationalDomain: '', isAuthenticated: false };
  const isAligned = ({ result, domain: proven }: { result: string; domain: string | null }): boolean =>
    result === 'pass' && proven !== null && areRelated(proven.toLowerCase(), domain);
  return {
    domain,
    organizationalDomain: estimateOrganizationalDomain(domain),
    isAuthenticated: (dmarc.result === 'pass' && dmarc.domain !== null) || isAligned(spf) || dkim.some(isAligned),
  };
}
