/**
 * DMARC and TLS reports of other mail servers about the domains of teams: receiving them at `reports@` of a domain's
 * return path, listing them and adding them up.
 */
export { createReceiveDomainReport, type ReportedDomain, type ReportReceipt } from './receive-report.ts';
export { listDomainReports, summarizeDomainReports } from './read-reports.ts';
export { removeOldReports } from './remove-reports.ts';
export { sumDmarcOfDomains } from './domain-reports.store.ts';
export { textTasks } from './read-report.ts';
