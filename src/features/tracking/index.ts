/**
 * Track: from HTML to tracked HTML, and from a fetched pixel or link to `email.opened` and `email.clicked`. What was
 * noted before the answer is recorded once, whether or not this process lives to see it. It never redirects anywhere
 * that we have not written into a mail ourselves, and only on the tracking host of that mail's domain.
 */
export { createLinkHosts, hostNameOf, type LinkHosts, openingOf, clickOf, trackedHtml } from './tracking-links.ts';
export { createTracking, type Tracking } from './tracking.ts';
