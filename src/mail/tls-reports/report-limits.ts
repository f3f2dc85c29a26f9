import { areRelated, estimateOrganizationalDomain } from '../../protocol/organizational-domain.ts';

/** Reports of one day in all. */
export const REPORTS_MAX = 1000;
/** Reports of one day to an organization about its own domains. */
const TO_ITSELF_MAX = 100;
/** Reports of one day to an organization about domains of others: any zone can name a target that never asked for them. */
const ABOUT_OTHERS_MAX = 5;

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
    const count = routes.filter(({ to, isToItself }) => to === route.to && isToItself === route.isToItself).length;
    if (routes.length >= REPORTS_MAX || count >= (route.isToItself ? TO_ITSELF_MAX : ABOUT_OTHERS_MAX)) return false;
    routes.push(route);
    return true;
  });
}

function readRoute({ domain, target }: AddressedReport): { to: string; isToItself: boolean } {
  const host = readTargetDomain(target);
  return { to: estimateOrganizationalDomain(host), isToItself: areRelated(host, domain) };
}

/** Returns the host of an https URL, or the domain of an address. */
export const readTargetDomain = (target: string): string =>
  target.startsWith('mailto:') ? target.slice(target.lastIndexOf('@') + 1).toLowerCase() : new URL(target).hostname;
