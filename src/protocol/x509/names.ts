import { oid, octets, sequence, set, tlv } from './der.ts';

const COMMON_NAME = '2.5.4.3';
const SUBJECT_ALT_NAME = '2.5.29.17';

/** A subject or an issuer that is one common name. */
export const commonName = (name: string): Buffer =>
  sequence(set(sequence(oid(COMMON_NAME), tlv(0x0c, Buffer.from(name)))));

/** The extension that says for which host names a certificate is. */
export const alternativeNames = (names: readonly string[]): Buffer =>
  sequence(oid(SUBJECT_ALT_NAME), octets(sequence(...names.map((name) => tlv(0x82, Buffer.from(name))))));
