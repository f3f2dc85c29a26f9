import { areRelated, estimateOrganizationalDomain } from '../../protocol/organizational-domain.ts';

/** Reports of one day in all. */
export const REPORTS_MAX = 1000;
/** Reports of one day to an organization about its own domains. */
const TO_ITSELF_MAX = 100;
/**
 * Reports of one day about the domains of an organization to targets of others. Any zone can name a target that never asked
 * for its reports, and has any number of names below a wildcard; organizations with more mail domains than this are few.
 */
const TO_OTHERS_MAX = 20;
/**
 * Reports of one day to an organization about the domains of others. A collector of reports serves thousands of domains, so
 * this is not as low as the limit above: whoever wants to fill a mailbox with it has to own several registered domains that
 * get mail from here.
 */
const ABOUT_OTHERS_MAX = 100;

/** A report of the day, and where it is sent. */
export interface AddressedReport {
  domain: string;
  /** A mailto or https URL. */
  target: string;
}

/**
 * Returns those of the wanted reports that are within the limits of the day, given the reports that are stored already. Domains of
 * one organization share its limits, so that names below a wildcard count as one.
 */
export function chooseWithinLimits(
  stored: readonly AddressedReport[],
  wanted: readonly AddressedReport[],
): AddressedReport[] {
  if (stored.length >= REPORTS_MAX) return [];
  const routes = stored.map(readRoute);
  return wanted.filter((report) => {
    const route = readRoute(report);
    if (routes.length >= REPORTS_MAX || isOverLimit(route, routes)) return false;
    routes.push(route);
    return true;
  });
}

/** The organizations that a report is about and that it goes to. */
interface Route {
  about: string;
  to: string;
  isToItself: boolean;
}

function isOverLimit({ about, to, isToItself }: Route, routes: readonly Route[]): boolean {
  const alike = routes.filter((route) => route.isToItself === isToItself);
  const toTarget = alike.filter((route) => route.to === to).length;
  if (isToItself) return toTarget >= TO_ITSELF_MAX;
  const aboutDomains = alike.filter((route) => route.about === about).length;
  return toTarget >= ABOUT_OTHERS_MAX || aboutDomains >= TO_OTHERS_MAX;
}

function readRoute({ domain, target }: AddressedReport): Route {
  const host = readTargetDomain(target);
  return {
    about: estimateOrganizationalDomain(domain),
    to: estimateOrganizationalDomain(host),
    isToItself: areRelated(host, domain),
  };
}

/** Returns the host of an https URL, or the domain of an address. */
export const readTargetDomain = (target: string): string =>
  target.startsWith('mailto:') ? target.slice(target.lastIndexOf('@') + 1).toLowerCase() : new URL(target).hostname;
