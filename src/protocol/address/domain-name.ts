import { domainToASCII, domainToUnicode } from 'node:url';
import { quoteValue } from './quote-value.ts';

export type DomainOptions = {
  /** Accepts names without a dot, such as `localhost`. */
  allowSingleLabel?: boolean;
  /** Refuses a name that mapping (UTS #46) changes beyond letter case: who does not map it reads another one. */
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
    const say = `Only some programs read the domain ${quoteValue(text)} as ${quoteValue(domain)}; write it so.`;
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
  // Checked before IDNA: the URL parser behind it would decode `%41` and drop everything after `?` or `#`.
  const foreign = foreignAscii.exec(text);
  if (foreign) {
    return `The domain ${shown} contains ${quoteValue(foreign[0])}; only letters, digits, hyphens and dots may stand in it.`;
  }
  return undefined;
}

function toAscii(text: string): string | undefined {
  const lower = text.toLowerCase();
  if (!nonAscii.test(lower)) return lower;
  return domainToASCII(lower.normalize('NFC')) || undefined;
}

/** Label for label one of its two forms (RFC 5890 §2.3.2), in any letter case. */
function isAsWritten(text: string, domain: string): boolean {
  // Each character by itself: what a capital sigma becomes depends on where it stands.
  const lower = Array.from(text, (char) => char.toLowerCase()).join('');
  const labels = lower.split('.');
  const isForm = (label: string, at: number): boolean => label === labels[at] || domainToUnicode(label) === labels[at];
  return text === text.normalize('NFKC') && domain.split('.').every(isForm);
}

function asciiDomainFault(domain: string, options: DomainOptions): string | undefined {
  const shown = quoteValue(domain);
  if (domain.length > domainCharsMax) {
    return `The domain ${shown} has ${domain.length} characters; at most ${domainCharsMax} are possible.`;
  }
  const labels = domain.split('.');
  for (const label of labels) {
    if (label === '') return `The domain ${shown} has an empty label; write one dot between two labels.`;
    if (label.length > labelCharsMax) {
      return `The label ${quoteValue(label)} has ${label.length} characters; at most ${labelCharsMax} are possible.`;
    }
    if (label.startsWith('-') || label.endsWith('-')) {
      return `The label ${quoteValue(label)} starts or ends with a hyphen; remove it.`;
    }
    if (!/^[a-z0-9-]+$/.test(label)) {
      return `The label ${quoteValue(label)} may hold only letters, digits and hyphens.`;
    }
  }
  // No top-level domain is a number, and `0x7f.1` is 127.0.0.1 to many resolvers.
  const top = labels.at(-1) ?? '';
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(top)) {
    return `${shown} is an IP address or ends in a number; write a domain name such as example.com.`;
  }
  if (labels.length < 2 && options.allowSingleLabel !== true) {
    return `The domain ${shown} has no dot; write the full name, such as ${domain}.com.`;
  }
  return undefined;
}
