/**
 * Tracking: rewrites HTML to tracked HTML, and turns a fetched pixel or link into `email.opened` and `email.clicked`.
 * An engagement noted before the response is recorded once, even if this process dies. Redirects only to targets that
 * we wrote into a mail ourselves, and only on the tracking host of that mail's domain.
 */
export { createLinkHosts, toHostName, type LinkHosts, readOpening, readClick, trackedHtml } from './tracking-links.ts';
export { createTracking, type Tracking } from './tracking.ts';
