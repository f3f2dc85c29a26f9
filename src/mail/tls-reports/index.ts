/** Reports to recipients' domains about the TLS of our connections with their mail servers (RFC 8460): counting and sending. */
export { createSessionCounts, type SessionCounts } from './session-counts.ts';
