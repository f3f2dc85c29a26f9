import { parseDomainName } from './domain-name.ts';
import type { DomainOptions } from './domain-name.ts';
import { quoteValue } from './quote-value.ts';

export type Mailbox = {
  /** The display name as a person reads it: unquoted, unencoded, empty when there is none. */
  name: string;
  /** The local part without quotes or escapes. */
  local: string;
  /** The lower-case A-label form. */
  domain: string;
  /** `local@domain` as SMTP wants it, the local part quoted only where it must be. */
  address: string;
  /** The local part is not ASCII: only peers that offer SMTPUTF8 can take it (RFC 6531). */
  needsSmtpUtf8: boolean;
};

export type AddressResult = { ok: true; mailbox: Mailbox } | { ok: false; fault: string };

// RFC 5321 §4.5.3.1: 64 octets of local part, 256 of path including its angle brackets.
const localBytesMax = 64;
const addressBytesMax = 254;

const asciiDotAtom = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
// RFC 6531 §3.3 admits every character beyond ASCII; the invisible ones only serve to make two addresses look alike.
const unicodeDotAtom =
  /^(?:[\w!#$%&'*+/=?^`{|}~-]|[^\0-\x7f\p{C}\p{Z}])+(?:\.(?:[\w!#$%&'*+/=?^`{|}~-]|[^\0-\x7f\p{C}\p{Z}])+)*$/u;
const quotedLocal = /^"((?:[^"\\]|\\.)*)"@/;
const beyondAscii = /[^\0-\x7f]/;

/** Reads one bare address (RFC 5321 `Mailbox`, without address literals). */
export function parseAddress(text: string, options: DomainOptions = {}): AddressResult {
  const split = text.startsWith('"') ? splitQuoted(text) : splitPlain(text);
  if ('fault' in split) return { ok: false, fault: split.fault };
  const domainResult = parseDomainName(split.domain, options);
  if (!domainResult.ok) return domainResult;
  const { local } = split;
  const written = isDotAtom(local) ? local : quoteString(local);
  const address = `${written}@${domainResult.domain}`;
  const fault = lengthFault(written, address);
  if (fault !== undefined) return { ok: false, fault };
  return {
    ok: true,
    mailbox: { name: '', local, domain: domainResult.domain, address, needsSmtpUtf8: beyondAscii.test(local) },
  };
}

/** The form in which two addresses are compared: one letter case, one Unicode form, one spelling of the domain. */
export function normalizeAddress(address: string): string {
  const parts = splitAddress(address);
  if (!parts) return address.normalize('NFC').toLowerCase();
  const domain = parseDomainName(parts.domain, { allowSingleLabel: true });
  const local = parts.local.normalize('NFC').toLowerCase();
  return `${local}@${domain.ok ? domain.domain : parts.domain.toLowerCase()}`;
}

/** What an address begins with, in the form in which addresses are compared; only a whole label beyond ASCII has that form. */
export function normalizeAddressStart(text: string): string {
  const start = text.normalize('NFC').toLowerCase();
  return beyondAscii.test(splitAddress(start)?.domain ?? '') ? normalizeAddress(start) : start;
}

/** Cuts a written address at its last `@`, which a quoted local part may hold as well. */
export function splitAddress(address: string): { local: string; domain: string } | undefined {
  const at = address.lastIndexOf('@');
  if (at <= 0 || at === address.length - 1) return undefined;
  return { local: address.slice(0, at), domain: address.slice(at + 1) };
}

/** A quoted-string (RFC 5322 §3.2.4). */
export function quoteString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

type Split = { local: string; domain: string } | { fault: string };

function splitQuoted(text: string): Split {
  const match = quotedLocal.exec(text);
  if (!match) {
    return {
      fault: `The address ${quoteValue(text)} starts a quoted local part; write it as "local part"@example.com.`,
    };
  }
  const local = (match[1] ?? '').replace(/\\(.)/gsu, '$1');
  if (local === '') return { fault: `The address ${quoteValue(text)} has an empty local part before its @.` };
  return { local, domain: text.slice(match[0].length) };
}

function splitPlain(text: string): Split {
  const shown = quoteValue(text);
  const at = text.indexOf('@');
  if (at < 0) return { fault: `The address ${shown} has no @; write it as local@example.com.` };
  if (at === 0) return { fault: `The address ${shown} has nothing before its @; write it as local@example.com.` };
  if (text.includes('@', at + 1))
    return { fault: `The address ${shown} has more than one @; write it as local@example.com.` };
  const local = text.slice(0, at);
  if (isDotAtom(local)) return { local, domain: text.slice(at + 1) };
  return { fault: localFault(local) };
}

function localFault(local: string): string {
  const shown = quoteValue(local);
  if (local.startsWith('.') || local.endsWith('.') || local.includes('..')) {
    return `The local part ${shown} has a dot at its start, at its end or beside another dot; remove it or quote the local part.`;
  }
  if (local.includes(' '))
    return `The address contains a space in ${shown}; write a name and an address as Name <local@example.com>.`;
  return `The local part ${shown} contains a character that may only stand in quotes; write it as "local part"@example.com.`;
}

function isDotAtom(local: string): boolean {
  return asciiDotAtom.test(local) || (beyondAscii.test(local) && unicodeDotAtom.test(local));
}

function lengthFault(written: string, address: string): string | undefined {
  const localBytes = Buffer.byteLength(written);
  if (localBytes > localBytesMax) {
    return `The local part ${quoteValue(written)} has ${localBytes} bytes; at most ${localBytesMax} are possible.`;
  }
  const addressBytes = Buffer.byteLength(address);
  if (addressBytes > addressBytesMax) {
    return `The address ${quoteValue(address)} has ${addressBytes} bytes; at most ${addressBytesMax} are possible.`;
  }
  return undefined;
}
