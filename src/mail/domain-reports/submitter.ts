import { parseMailbox } from '../../protocol/address/index.ts';
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
    result === 'pass' && proven !== null && isAlike(proven.toLowerCase(), domain);
  return {
    domain,
    organizationalDomain: estimateOrganizationalDomain(domain),
    isAuthenticated: (dmarc.result === 'pass' && dmarc.domain !== null) || isAligned(spf) || dkim.some(isAligned),
  };
}

/** Reports whether one name is the other or a parent of it, and no top-level domain. */
function isAlike(one: string, other: string): boolean {
  if (one === other) return true;
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  return shorter.includes('.') && longer.endsWith(`.${shorter}`);
}

/** Labels below which registries of countries register names, such as co.uk. */
const REGISTRY_LABELS: ReadonlySet<string> = new Set(
  'ac co com edu gob gouv gov gv ltd me mil ne net nhs nic or org plc sch'.split(' '),
);

/**
 * Estimates the name that somebody registered, so that all names below it have one limit: the last two labels, or three
 * below a registry like co.uk. What the owner publishes, such as the records of DMARC, cannot be used for a limit,
 * because an untrusted sender could make any number of organizations of one name.
 */
export function estimateOrganizationalDomain(domain: string): string {
  if (domain.startsWith('[')) return domain;
  const labels = domain.split('.');
  const [registry = '', country = ''] = labels.slice(-2);
  return labels.slice(country.length === 2 && REGISTRY_LABELS.has(registry) ? -3 : -2).join('.');
}
