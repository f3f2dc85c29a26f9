import { loadOrganizationFinder } from '../receive/index.ts';

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

/** Returns those of the wanted reports that are within the limits of the day, given the reports that are stored already. */
export type ReportLimiter = (
  stored: readonly AddressedReport[],
  wanted: readonly AddressedReport[],
) => AddressedReport[];

/**
 * Creates the limiter of reports. Domains of one organization share its limits, so that names below a wildcard count as one.
 * Keep it for many calls, but not for good, because it remembers names.
 */
export async function loadReportLimiter(): Promise<ReportLimiter> {
  const findOrganization = await loadOrganizationFinder();

  function readRoute({ domain, target }: AddressedReport) {
    const to = findOrganization(readTargetDomain(target));
    return { to, isToItself: to === findOrganization(domain) };
  }

  return (stored, wanted) => {
    if (stored.length >= REPORTS_MAX) return [];
    const routes = stored.map(readRoute);
    return wanted.filter((report) => {
      const route = readRoute(report);
      const count = routes.filter(({ to, isToItself }) => to === route.to && isToItself === route.isToItself).length;
      if (routes.length >= REPORTS_MAX || count >= (route.isToItself ? TO_ITSELF_MAX : ABOUT_OTHERS_MAX)) return false;
      routes.push(route);
      return true;
    });
  };
}

/** Returns the host of an https URL, or the domain of an address. */
export const readTargetDomain = (target: string): string =>
  target.startsWith('mailto:') ? target.slice(target.lastIndexOf('@') + 1).toLowerCase() : new URL(target).hostname;
