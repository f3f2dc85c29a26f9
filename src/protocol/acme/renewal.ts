import type { X509Certificate } from 'node:crypto';
import { readMarks } from '../x509/index.ts';
import { base64url } from './jws.ts';
import { fieldsIn, readFields, type RawAnswer } from './read-answer.ts';

/** When a certificate is renewed without the authority's word: at two thirds of its life, whatever that is. */
export function renewalTime({ startsAt, endsAt }: { startsAt: number; endsAt: number }, random: number): number {
  const life = endsAt - startsAt;
  // Up to a twentieth earlier, so that those that were issued together do not come together.
  return Math.round(startsAt + life * (2 / 3 - random / 20));
}

/** What a certificate is called where its authority says when to renew it (RFC 9773 §4.1). */
export function renewalId(leaf: X509Certificate): string | undefined {
  const marks = readMarks(leaf);
  if (!marks?.authorityKeyIdentifier) return undefined;
  return `${base64url(marks.authorityKeyIdentifier)}.${base64url(marks.serial)}`;
}

/** A time in the window that the authority suggests (RFC 9773 §4.2); undefined where it suggests none that makes sense. */
export function readRenewalWindow(answer: RawAnswer, random: number): number | undefined {
  const { start, end } = fieldsIn(readFields('the renewal information', answer).suggestedWindow);
  const [from, to] = [start, end].map((one) => (typeof one === 'string' ? Date.parse(one) : NaN)) as [number, number];
  return to > from ? Math.round(from + (to - from) * random) : undefined;
}
