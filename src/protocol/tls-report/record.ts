import { parseAddress } from '../address/index.ts';
import { readHttpsUrl } from '../https-url.ts';

/** A place to which a domain wants its reports to be sent. */
export type TlsReportTarget = { kind: 'mailto'; address: string } | { kind: 'https'; url: string };

/** A record is written by others, and each target is one delivery a day. */
const TARGETS_MAX = { mailto: 2, https: 2 };
const URIS_MAX = 20;
/** Limits a target once it is decoded and encoded again, because it is stored in an index. */
const TARGET_BYTES_MAX = 1000;

/**
 * Reads the record at `_smtp._tls.<domain>` (RFC 8460 §3). Returns undefined, which means that the domain wants no
 * reports, unless exactly one record is of this version and has a usable target. Targets that are malformed, repeated,
 * too long or beyond the second of their kind are left out.
 */
export function readTlsReportRecord(texts: readonly string[]): { rua: TlsReportTarget[] } | undefined {
  const [record, ...others] = texts.filter((text) => /^v=TLSRPTv1[ \t]*;/.test(text));
  if (record === undefined || others.length > 0) return undefined;
  const list = record
    .split(';')
    .map((field) => /^[ \t]*rua[ \t]*=(.*)$/s.exec(field)?.[1])
    .find((value) => value !== undefined);
  const rua: TlsReportTarget[] = [];
  for (const uri of (list ?? '').split(',', URIS_MAX)) {
    const target = readTarget(uri.trim());
    if (!target || rua.some((other) => isSame(other, target))) continue;
    if (rua.filter(({ kind }) => kind === target.kind).length < TARGETS_MAX[target.kind]) rua.push(target);
  }
  return rua.length > 0 ? { rua } : undefined;
}

function readTarget(uri: string): TlsReportTarget | undefined {
  if (/^https:/i.test(uri)) {
    const url = readHttpsUrl(uri);
    return typeof url === 'string' || isTooLong(url.href) ? undefined : { kind: 'https', url: url.href };
  }
  // Header fields after a question mark (RFC 6068) are not the receiver's to set.
  const encoded = /^mailto:([^?]*)/i.exec(uri)?.[1];
  const written = encoded === undefined ? undefined : decodePercent(encoded);
  if (written === undefined || isTooLong(written) || /\p{Cc}/u.test(written)) return undefined;
  const address = parseAddress(written);
  return address.ok ? { kind: 'mailto', address: address.mailbox.address } : undefined;
}

const isTooLong = (text: string): boolean => Buffer.byteLength(text) > TARGET_BYTES_MAX;

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
