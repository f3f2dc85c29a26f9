import { createAddressGuard, createRangeCheck } from '../../../platform/network/index.ts';
import { invalidField } from '../../../platform/refusal/index.ts';
import { readHttpsUrl } from '../../../protocol/https-url/index.ts';

const isLoopback = createRangeCheck(['127.0.0.0/8', '::1/128']);

/** The parser of URLs has already written every spelling of an IPv4 address as four decimal numbers. */
const isAddress = (host: string): boolean => host.includes(':') || /^\d+(\.\d+){3}$/.test(host);

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/** A URL of a provider, of whatever of its endpoints: https, or http on the machine itself; or what is wrong with it. */
export function readProviderUrl(text: string): URL | string {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:') return readHttpsUrl(text);
  const host = hostOf(url);
  if (!isAddress(host) || !isLoopback(host)) return 'must be an https URL; http is for 127.0.0.1 and [::1] alone.';
  const asHttps = readHttpsUrl(text.replace(/^http:/i, 'https:'));
  return typeof asHttps === 'string' ? asHttps : url;
}

/** Where a provider describes itself, and what many of them give out in place of their issuer. */
const DISCOVERY = '/.well-known/openid-configuration';

/** The text stays as it is: the provider's answers are compared with it letter by letter. */
export function readIssuer(text: string, allowPrivate: readonly string[]): string {
  const url = readProviderUrl(text);
  if (typeof url === 'string') throw invalidField('issuer', `issuer ${url}`);
  if (url.search !== '' || text.includes('#')) {
    throw invalidField('issuer', 'issuer must be a URL without a query and without a fragment.');
  }
  if (url.pathname.endsWith(DISCOVERY)) {
    throw invalidField('issuer', `issuer is what stands before ${DISCOVERY}: ${text.slice(0, -DISCOVERY.length)}.`);
  }
  const host = hostOf(url);
  if (isAddress(host) && !createAddressGuard([...allowPrivate])(host)) {
    throw invalidField(
      'issuer',
      `issuer stands at ${host}, a private address, which the configuration (sso.allow_private) does not allow.`,
    );
  }
  return text;
}
