import { formatDate } from './date.ts';

/** One hop, as the field Received tells it (RFC 5321 §4.4). */
export interface Hop {
  /** What the client called itself; left out where it is private. */
  from?: { helo: string; address: string };
  by: string;
  /** A protocol of RFC 3848: ESMTP, ESMTPS, ESMTPSA … */
  protocol: string;
  id: string;
  /** The only recipient; left out where there are more, who would learn of each other. */
  recipient?: string | undefined;
  at: Date;
}

/** The field with its CRLF. */
export function receivedField({ from, by, protocol, id, recipient, at }: Hop): string {
  const parts = [
    ...(from ? [`from ${nameIn(from.helo)} (${literal(from.address)})`] : []),
    `by ${by} with ${protocol} id ${id}`,
    ...(recipient === undefined ? [] : [`for <${recipient}>`]),
  ];
  return `Received: ${parts.join('\r\n ')};\r\n ${formatDate(at)}\r\n`;
}

/** A client may call itself anything. */
const nameIn = (helo: string): string => (/^\[?[\w.:-]{1,253}\]?$/.test(helo) ? helo : 'unknown');

const literal = (address: string): string => (address.includes(':') ? `[IPv6:${address}]` : `[${address}]`);
