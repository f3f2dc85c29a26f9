import { domainToASCII, domainToUnicode } from 'node:url';

// JSON leaves these as they are; on a terminal or in a log they would end the line or reorder it.
const unsafe = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** A caller's value as it may appear in a message to that caller: escaped, and short enough to read. */
export function quoteValue(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 77)}...` : text;
  return JSON.stringify(short).replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export type DomainOptions = {
  /** Accepts names without a dot, such as `localhost`. */
  allowSingleLabel?: boolean;
  /**
   * Rejects a name that mapping (UTS #46) changes beyond letter case, because software that does not map would read
   * another name.
   */
  mustStandAsWritten?: boolean;
};

export type DomainResult = { ok: true; domain: string } | { ok: false; fault: string };

// A DNS name is at most 255 octets on the wire, which leaves 253 for the text without its final dot (RFC 1035 §2.3.4).
const domainCharsMax = 253;
const labelCharsMax = 63;

const plainDomain = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const nonAscii = /[^\0-\x7f]/;
const foreignAscii = /[\0-\x2c/\x3a-\x40[-`{-\x7f]/;

/** Reads a domain name, internationalised or not, into its lower-case A-label form. */
export function parseDomainName(text: string, options: DomainOptions = {}): DomainResult {
  if (text.length <= domainCharsMax && plainDomain.test(text)) return { ok: true, domain: text };
  const shapeFault = spellingFault(text);
  if (shapeFault !== undefined) return { ok: false, fault: shapeFault };
  const domain = toAscii(text);
  if (domain === undefined) {
    return { ok: false, fault: `The domain ${quoteValue(text)} is not a valid internationalised name (IDNA).` };
  }
  const fault = asciiDomainFault(domain, options);
  if (fault !== undefined) return { ok: false, fault };
  if (options.mustStandAsWritten === true && !isAsWritten(text, domain)) {
    const say = `Only some programs read the domain ${quoteValue(text)} as ${quoteValue(domain)}; write ${quoteValue(domain)}.`;
    return { ok: false, fault: say };
  }
  return { ok: true, domain };
}

function spellingFault(text: string): string | undefined {
  if (text === '') return 'The domain is empty; write a name such as example.com.';
  const shown = quoteValue(text);
  if (text.startsWith('[')) return `${shown} is an address literal; write a domain name such as example.com.`;
  if (text.includes('*')) return `The domain ${shown} contains a wildcard; write one exact name.`;
  if (text.includes('://') || text.includes('/')) return `${shown} is a URL; write only its host name.`;
  if (text.includes(':')) return `${shown} is not a domain name; IP addresses and ports are not accepted.`;
  if (text.startsWith('.')) return `The domain ${shown} starts with a dot; remove it.`;
  if (text.endsWith('.')) return `The domain ${shown} ends with a dot; remove it.`;
  if (text.includes('..')) return `The domain ${shown} has two dots in a row; write one.`;
  // Check this before IDNA: domainToASCII uses the URL parser, which would decode `%41` and drop everything after `?`
  // or `#`.
  const foreign = foreignAscii.exec(text);
  if (foreign) {
    return `The domain ${shown} contains ${quoteValue(foreign[0])}; only letters, digits, hyphens and dots are allowed.`;
  }
  return undefined;
}

function toAscii(text: string): string | undefined {
  const lower = text.toLowerCase();
  if (!nonAscii.test(lower)) return lower;
  return domainToASCII(lower.normalize('NFC')) || undefined;
}

/** Reports whether each label is in one of its two forms (RFC 5890 §2.3.2), in any letter case. */
function isAsWritten(text: string, domain: string): boolean {
  // Lower each character by itself, because the lower case of a capital sigma depends on its position.
  const lower = Array.from(text, (char) => char.toLowerCase()).join('');
  const labels = lower.split('.');
  const isForm = (label: string, at: number): boolean => label === labels[at] || domainToUnicode(label) === labels[at];
  return text === text.normalize('NFKC') && domain.split('.').every(isForm);
}

function asciiDomainFault(domain: string, options: DomainOptions): string | undefined {
  const shown = quoteValue(domain);
  if (domain.length > domainCharsMax) {
    return `The domain ${shown} has ${domain.length} characters; at most ${domainCharsMax} are allowed.`;
  }
  const labels = domain.split('.');
  for (const label of labels) {
    if (label === '') return `The domain ${shown} has an empty label; write one dot between two labels.`;
    if (label.length > labelCharsMax) {
      return `The label ${quoteValue(label)} has ${label.length} characters; at most ${labelCharsMax} are allowed.`;
    }
    if (label.startsWith('-') || label.endsWith('-')) {
      return `The label ${quoteValue(label)} starts or ends with a hyphen; remove it.`;
    }
    if (!/^[a-z0-9-]+$/.test(label)) {
      return `The label ${quoteValue(label)} may only contain letters, digits and hyphens.`;
    }
  }
  // No top-level domain is numeric, and many resolvers read `0x7f.1` as 127.0.0.1.
  const top = labels.at(-1) ?? '';
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(top)) {
    return `${shown} is an IP address or ends in a number; write a domain name such as example.com.`;
  }
  if (labels.length < 2 && options.allowSingleLabel !== true) {
    return `The domain ${shown} has no dot; write the full name, such as ${domain}.com.`;
  }
  return undefined;
}

export type Mailbox = {
  /** The display name as shown to a person: unquoted, decoded, empty if there is none. */
  name: string;
  /** The local part without quotes or escapes. */
  local: string;
  /** The lower-case A-label form. */
  domain: string;
  /** `local@domain` in SMTP syntax, with the local part quoted only if it must be. */
  address: string;
  /** The local part is not ASCII, so only servers that offer SMTPUTF8 accept it (RFC 6531). */
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
    mailbox: { name: '', local, domain: domainResult.domain, address, needsSmtpUtf8: nonAscii.test(local) },
  };
}

/** Returns the form in which addresses are compared: one letter case, one Unicode form, one spelling of the domain. */
export function normalizeAddress(address: string): string {
  const parts = splitAddress(address);
  if (!parts) return address.normalize('NFC').toLowerCase();
  const domain = parseDomainName(parts.domain, { allowSingleLabel: true });
  const local = parts.local.normalize('NFC').toLowerCase();
  return `${local}@${domain.ok ? domain.domain : parts.domain.toLowerCase()}`;
}

/** Both domains have the same mailboxes, in whose names dots make no difference. */
const GMAIL = new Set(['gmail.com', 'googlemail.com']);

/**
 * Returns the mailbox of a normalized address, for limits that must not be passed by spelling it differently: without
 * what follows a plus sign in its local part, which most providers ignore, and without the dots that Gmail ignores.
 */
export function findMailbox(emailKey: string): string {
  if (emailKey.startsWith('"')) return emailKey;
  const at = emailKey.lastIndexOf('@');
  const plus = emailKey.indexOf('+');
  // A local part that begins with the sign is left as it is.
  const local = emailKey.slice(0, plus <= 0 || plus > at ? at : plus);
  const domain = emailKey.slice(at + 1);
  return GMAIL.has(domain) ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`;
}

/**
 * Normalizes the beginning of an address for prefix searches; a non-ASCII domain is only normalized if it is complete.
 */
export function normalizeAddressStart(text: string): string {
  const start = text.normalize('NFC').toLowerCase();
  return nonAscii.test(splitAddress(start)?.domain ?? '') ? normalizeAddress(start) : start;
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
  if (at === 0) return { fault: `The address ${shown} has nothing before the @; write it as local@example.com.` };
  if (text.includes('@', at + 1))
    return { fault: `The address ${shown} has more than one @; write it as local@example.com.` };
  const local = text.slice(0, at);
  if (isDotAtom(local)) return { local, domain: text.slice(at + 1) };
  return { fault: localFault(local) };
}

function localFault(local: string): string {
  const shown = quoteValue(local);
  if (local.startsWith('.') || local.endsWith('.') || local.includes('..')) {
    return `The local part ${shown} has a dot at its start, at its end or next to another dot; remove the dot or quote the local part.`;
  }
  if (local.includes(' '))
    return `The address contains a space in ${shown}; write a name and an address as Name <local@example.com>.`;
  return `The local part ${shown} contains a character that is only allowed in quotes; write it as "local part"@example.com.`;
}

function isDotAtom(local: string): boolean {
  return asciiDotAtom.test(local) || (nonAscii.test(local) && unicodeDotAtom.test(local));
}

function lengthFault(written: string, address: string): string | undefined {
  const localBytes = Buffer.byteLength(written);
  if (localBytes > localBytesMax) {
    return `The local part ${quoteValue(written)} has ${localBytes} bytes; at most ${localBytesMax} are allowed.`;
  }
  const addressBytes = Buffer.byteLength(address);
  if (addressBytes > addressBytesMax) {
    return `The address ${quoteValue(address)} has ${addressBytes} bytes; at most ${addressBytesMax} are allowed.`;
  }
  return undefined;
}
