import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { oid, octets, sequence, set, tlv } from './der.ts';

const COMMON_NAME = '2.5.4.3';
const SUBJECT_ALT_NAME = '2.5.29.17';

/** A subject or an issuer that is one common name. */
export const commonName = (name: string): Buffer =>
  sequence(set(sequence(oid(COMMON_NAME), tlv(0x0c, Buffer.from(name)))));

/** The extension that says for which host names and addresses a certificate is (RFC 5280 §4.2.1.6). */
export const alternativeNames = (names: readonly string[]): Buffer =>
  sequence(
    oid(SUBJECT_ALT_NAME),
    octets(
      sequence(
        ...names.map((name) => (isIP(name) === 0 ? tlv(0x82, Buffer.from(name)) : tlv(0x87, packAddress(name)))),
      ),
    ),
  );

const packAddress = (address: string): Buffer => Buffer.from(ipaddr.parse(address).toByteArray());
