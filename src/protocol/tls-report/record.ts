import { parseAddress } from '../address/index.ts';
import { readHttpsUrl } from '../https-url.ts';

/** A place to which a domain wants its reports to be sent. */
export type TlsReportTarget = { kind: 'mailto'; address: string } | { kind: 'https'; url: string };

/** A record is written by others, and each target is one delivery a day. */
const TARGETS_MAX = 5;
const URI_CHARS_MAX = 2048;

/**
 * Reads the record at `_smtp._tls.<domain>` (RFC 8460 §3). Returns undefined, which means that the domain wants no
 * reports, unless exactly one record is of this version and has a usable target. Targets that are malformed, repeated
 * or beyond the fifth are left out.
 */
export function readTlsReportRecord(texts: readonly string[]): { rua: TlsReportTarget[] } | undefined {
  const [record, ...others] = texts.filter((text) => /^v=TLSRPTv1[ \t]*;/.test(text));
  if (record === undefined || others.length > 0) return undefined;
  const list = record
    .split(';')
    .map((field) => /^[ \t]*rua[ \t]*=(.*)$/s.exec(field)?.[1])
    .find((value) => value !== undefined);
  const rua: TlsReportTarget[] = [];
  for (const uri of (list ?? '').split(',', TARGETS_MAX * 4)) {
    const target = readTarget(uri.trim());
    if (target && rua.length < TARGETS_MAX && !rua.some((other) => isSame(other, target))) rua.push(target);
  }
  return rua.length > 0 ? { rua } : undefined;
}

function readTarget(uri: string): TlsReportTarget | undefined {
  if (uri.length > URI_CHARS_MAX) return undefined;
  if (/^https:/i.test(uri)) {
    const url = readHttpsUrl(uri);
    return typeof url === 'string' ? undefined : { kind: 'https', url: url.href };
  }
  // Header fields after a question mark (RFC 6068) are not the receiver's to set.
  const encoded = /^mailto:([^?]*)/i.exec(uri)?.[1];
  const written = encoded === undefined ? undefined : decodePercent(encoded);
  if (written === undefined || /\p{Cc}/u.test(written)) return undefined;
  const address = parseAddress(written);
  return address.ok ? { kind: 'mailto', address: address.mailbox.address } : undefined;
}

function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const isSame = (one: TlsReportTarget, other: TlsReportTarget): boolean =>
  one.kind === 'mailto' ? other.kind === 'mailto' && one.address === other.address : isUrl(other, one.url);

const isUrl = (target: TlsReportTarget, url: string): boolean => target.kind === 'https' && target.url === url;
