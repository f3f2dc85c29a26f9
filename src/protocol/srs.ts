import { timingSafeEqual } from 'node:crypto';
import { splitAddress, type Mac } from './address/index.ts';

/** Servers give up on mail after five days; some hold bounces for longer. */
export const SRS_DAYS = 21;

export interface SrsOptions {
  /** Milliseconds since the epoch. */
  now: number;
  mac: Mac;
}

/** The content of a rewritten address: for a valid one, the envelope sender to which a bounce goes. */
export type SrsPath = { kind: 'sender'; sender: string } | { kind: 'expired' } | { kind: 'forged' };

// Base32 that avoids the characters of the format: no equals sign, and one letter case, because servers fold local
// parts.
const alphabet = '0123456789abcdefghijklmnopqrstuv';
const macChars = 6;
const localBytesMax = 64;
const dayMs = 86_400_000;
/** Two characters of the alphabet. */
const daysRound = 1024;

/**
 * Rewrites an ordinary sender as `SRS0=mac=day=domain=local`, and one that an earlier server rewrote as
 * `SRS1=mac=their-domain==…` followed by what they wrote, so that it does not grow with each server. Undefined if the
 * local part would be longer than RFC 5321 allows.
 */
export function rewriteSender(sender: string, ourDomain: string, { now, mac }: SrsOptions): string | undefined {
  const parts = splitAddress(sender);
  if (!parts) return undefined;
  const local = srsLocal(parts, ourDomain, { now, mac });
  return Buffer.byteLength(local) > localBytesMax || /["\s]/.test(local) ? undefined : `${local}@${ourDomain}`;
}

function srsLocal(
  { local, domain }: { local: string; domain: string },
  ourDomain: string,
  { now, mac }: SrsOptions,
): string {
  const again = /^SRS([01])[=+-](.*)$/is.exec(local);
  if (again?.[1] === '0') return signed('SRS1', [domain, `=${again[2] ?? ''}`].join('='), ourDomain, mac);
  // SRS1=their-mac=first-domain==rest: skip the server before us, and have the first one reverse the address.
  const first = again?.[1] === '1' ? /^[^=]*=([^=]+=[=+-].*)$/s.exec(again[2] ?? '')?.[1] : undefined;
  if (first !== undefined) return signed('SRS1', first, ourDomain, mac);
  return signed('SRS0', `${dayText(now)}=${domain}=${local}`, ourDomain, mac);
}

const signed = (kind: 'SRS0' | 'SRS1', rest: string, ourDomain: string, mac: Mac): string =>
  `${kind}=${computeMac(kind, rest, ourDomain, mac)}=${rest}`;

/** Reads the local part of an address at `ourDomain`; undefined if it is not in SRS form. */
export function reverseSrs(
  local: string,
  ourDomain: string,
  { now, macs }: { now: number; macs: readonly Mac[] },
): SrsPath | undefined {
  const found = /^SRS([01])=([0-9a-v]{6})=(.+)$/is.exec(local);
  if (!found) return undefined;
  const kind = found[1] === '0' ? 'SRS0' : 'SRS1';
  const given = Buffer.from((found[2] ?? '').toLowerCase());
  const rest = found[3] ?? '';
  const isOurs = macs.some((mac) => timingSafeEqual(given, Buffer.from(computeMac(kind, rest, ourDomain, mac))));
  if (!isOurs) return { kind: 'forged' };
  if (kind === 'SRS1') {
    const [, domain = '', theirs = ''] = /^([^=]+)=([=+-].*)$/s.exec(rest) ?? [];
    return { kind: 'sender', sender: `SRS0${theirs}@${domain}` };
  }
  const [, day = '', domain = '', sender = ''] = /^([0-9a-v]{2})=([^=]+)=(.*)$/is.exec(rest) ?? [];
  const age = (toDay(now) - dayNumber(day) + daysRound) % daysRound;
  return age > SRS_DAYS ? { kind: 'expired' } : { kind: 'sender', sender: `${sender}@${domain}` };
}

/** Signs everything in one letter case, because some servers change the case of a local part. */
function computeMac(kind: string, rest: string, ourDomain: string, mac: Mac): string {
  const digest = mac(Buffer.from(`${kind}=${rest}@${ourDomain}`.toLowerCase()));
  let text = '';
  for (let i = 0; i < macChars; i++) text += alphabet.charAt((digest[i] ?? 0) & 31);
  return text;
}

const toDay = (now: number): number => Math.floor(now / dayMs) % daysRound;

const dayText = (now: number): string => alphabet.charAt(toDay(now) >> 5) + alphabet.charAt(toDay(now) & 31);

const dayNumber = (text: string): number => {
  const [high = '', low = ''] = text.toLowerCase();
  return alphabet.indexOf(high) * 32 + alphabet.indexOf(low);
};
