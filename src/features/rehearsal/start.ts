/** Starts the internet of a rehearsal: its DNS server and its mail servers, on loopback only. */
export { startInternet, type Internet, type InternetOptions } from './internet.ts';
export type { NameServer, PublishedRecord } from './name-server.ts';
export type { SendingServer } from './late-reports.ts';
