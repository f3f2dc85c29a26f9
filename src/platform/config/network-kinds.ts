import { isIP, isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parsePostgresUrl } from '../../protocol/postgres-url.ts';
import { secret, text, textOrEmpty, type Kind } from './kind.ts';

export const hostName = text('a host name such as mail.example.com', isHostName);

export const domainOfMail = text(
  'a domain such as example.com, in A-labels (xn--bcher-kva.example for bücher.example) and without a final dot',
  isHostName,
);

export const hostNameOrWildcard = text(
  'a host name such as mail.example.com, or a wildcard such as *.example.com',
  (value) => isHostName(value.replace(/^\*\./, '')),
);

export const hostNameOrEmpty = textOrEmpty('a host name such as mail.example.com', isHostName);

export const listenAddress = text(
  'an IP address or a host name of this machine, such as 127.0.0.1',
  (value) => isAddress(value) || isHostName(value),
);

export const listenAddressOrEmpty = textOrEmpty(
  'an IP address or a host name of this machine, such as 127.0.0.1',
  (value) => isAddress(value) || isHostName(value),
);

export const ipv4OrEmpty = textOrEmpty('an IPv4 address such as 192.0.2.10', isIPv4);

export const ipv6OrEmpty = textOrEmpty(
  'an IPv6 address such as 2001:db8::10',
  (value) => isIPv6(value) && isAddress(value),
);

export const cidr = text('a CIDR range such as 10.0.0.0/8', isCidr);

/** Returns the address in the name of a DNS server, without its port. */
export const readServerAddress = (server: string): string =>
  isAddress(server) ? server : (splitPort(server)?.host ?? '');

const DNS_SERVER = '"ip" or "ip:port", such as 192.0.2.53 or [2001:db8::53]:5353';

export const dnsServer = text(DNS_SERVER, isDnsServer);

export const dnsServerOrEmpty = textOrEmpty(DNS_SERVER, isDnsServer);

function isDnsServer(value: string): boolean {
  if (isAddress(value)) return true;
  const parts = splitPort(value);
  return parts !== undefined && isAddress(parts.host);
}

export const hostAndPortOrEmpty = textOrEmpty('"host:port", such as relay.example.com:587', (value) => {
  const parts = splitPort(value);
  return parts !== undefined && (isAddress(parts.host) || isHostName(parts.host));
});

export const serverOrEmpty = textOrEmpty(
  'an IP address or a host name, such as ns1.example.com',
  (value) => isAddress(value) || isHostName(value),
);

/** A key shorter than 16 bytes can be guessed, one longer than the hash's block is no better (RFC 2104 §3). */
export const tsigSecretOrEmpty = secret(
  textOrEmpty('a TSIG secret in base64, 16 to 128 bytes long', isTsigSecret),
  (value) => (value === '' ? '' : '***'),
);

/** One key as tsig-keygen prints it. */
const TSIG_KEY = /^key\s+\S+\s*\{\s*algorithm\s+[\w-]+\s*;\s*secret\s+"?([^\s";]+)"?\s*;\s*\}\s*;$/;

/**
 * Returns the secret in a key file, which contains either the secret alone or a whole key; undefined if it contains
 * neither.
 */
export function tsigSecretIn(file: string): string | undefined {
  const alone = file.trim();
  const found = TSIG_KEY.exec(alone)?.[1] ?? alone;
  return isTsigSecret(found) ? found : undefined;
}

export const apiTokenOrEmpty = secret(
  textOrEmpty('an API token of 1 to 500 characters without spaces', (value) => /^[\x21-\x7e]{1,500}$/.test(value)),
  (value) => (value === '' ? '' : '***'),
);

export const passwordOrEmpty = secret(
  textOrEmpty('a password of 1 to 1000 characters on one line', (value) => /^[^\p{Cc}]{1,1000}$/u.test(value)),
  (value) => (value === '' ? '' : '***'),
);

export const modelUrlOrEmpty = textOrEmpty(
  'an https URL without a query, a user name or a trailing slash, such as https://api.openai.com/v1, or an http URL on this machine or a private address',
  isModelUrl,
);

export const originOrEmpty = textOrEmpty(
  'an http or https origin without a path, a user name or a trailing slash, such as https://mail.example.com',
  isOrigin,
);

export const postgresUrlOrEmpty = secret(
  textOrEmpty(
    'a URL such as postgres://user:password@db.example.com:5432/rasket, with / # ? @ : in the password percent-encoded, or postgres://user@/rasket?host=/run/postgresql for a unix socket',
    (value) => parsePostgresUrl(value) !== undefined,
  ),
  (value) => (value === '' ? '' : (parsePostgresUrl(value)?.masked ?? '***')),
);

function isModelUrl(value: string): boolean {
  if (!/^https?:\/\/[^\\?#@\s]+[^/\\?#@\s]$/.test(value) || !URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'https:' || host === 'localhost') return true;
  return (
    isAddress(host) && ['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'].includes(ipaddr.process(host).range())
  );
}

function isTsigSecret(value: string): boolean {
  const bytes = Buffer.from(value, 'base64');
  return /^[A-Za-z0-9+/]+={0,2}$/.test(value) && bytes.length >= 16 && bytes.length <= 128;
}

// RFC 1123 §2.1: letters, digits and hyphens, 63 octets a label, 253 in all. A last label of only digits is rejected,
// because a mistyped IPv4 address would otherwise pass as a name.
export function isHostName(value: string): boolean {
  const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;
  const labels = value.split('.');
  return value.length <= 253 && labels.every((one) => label.test(one)) && !/^\d+$/.test(labels.at(-1) ?? '');
}

/** A zone such as `%eth0` is rejected: it names an interface of one boot of one machine. */
function isAddress(value: string): boolean {
  return isIP(value) !== 0 && !value.includes('%');
}

// ipaddr.js also accepts "10/8" and "0x0a.0.0.0/8"; accept only the spelling that every program reads the same way.
function isCidr(value: string): boolean {
  const [address = '', prefix = ''] = value.split('/', 2);
  return isAddress(address) && /^\d{1,3}$/.test(prefix) && ipaddr.isValidCIDR(value);
}

function isOrigin(value: string): boolean {
  return /^https?:\/\/[^/\\?#@\s]+$/.test(value) && URL.canParse(value);
}

function splitPort(value: string): { host: string } | undefined {
  const match = /^(?:\[(?<v6>[^\]]*:[^\]]*)\]|(?<name>[^:[\]]+)):(?<port>\d{1,5})$/.exec(value);
  const port = Number(match?.groups?.['port']);
  const host = match?.groups?.['v6'] ?? match?.groups?.['name'];
  return host !== undefined && port >= 1 && port <= 65_535 ? { host } : undefined;
}

export const bareAddressOrEmpty = (example: string): Kind<string> =>
  textOrEmpty(`a bare address, such as ${example}`, isBareAddress);

export const bareAddress = (example: string): Kind<string> => text(`a bare address, such as ${example}`, isBareAddress);

export const addressOrDomain = text(
  'an email address or a domain, such as reports@example.com or example.com',
  (value) => isBareAddress(value) || isHostName(value),
);

/** Reports whether the value is a bare address that an email may be from. */
function isBareAddress(value: string): boolean {
  return /^[a-z0-9._+-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(value) && value.length <= 254;
}
