/** Reads what was typed, by the rules that the settings and the resources have for it. */
import { isIP } from 'node:net';
import { ConfigFault, loadConfig, type Config, type DeepPartial } from '../../src/platform/config/index.ts';
import { Unfit } from './asking.ts';
import { canonicalAddress } from './this-machine.ts';

type Overrides = DeepPartial<Config>;

/** The settings' own word about a value, without the name of the setting, which a flag stands for. */
function mustFit(key: string, overrides: Overrides, isServing = false): void {
  try {
    loadConfig({ env: {}, overrides, isServing });
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error;
    const [first = ''] = error.faults;
    const says = first
      .replace(`override: ${key} `, '')
      .replace(/; got .*$/, '')
      // Which line of which file to write is what this command is for.
      .replace(/\. Give this machine's public name.*$/, '');
    throw new Unfit(says);
  }
}

export const hostReader =
  (network: Config['network']) =>
  (text: string): string => {
    const host = text.toLowerCase().replace(/\.$/, '');
    mustFit('instance.host', { instance: { host } });
    mustFit('instance.host', { instance: { host }, network }, true);
    return host;
  };

const ADDRESSES_MAX = 16;

export function readAddresses(text: string): string[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  if (words.length === 0 || words.length > ADDRESSES_MAX)
    throw new Unfit(`must be 1 to ${ADDRESSES_MAX} addresses, such as 192.0.2.10`);
  return [...new Set(words.map(readAddress))];
}

function readAddress(word: string): string {
  if (isIP(word) === 0 || word.includes('%')) throw new Unfit('must be an IPv4 or IPv6 address, such as 192.0.2.10');
  const address = canonicalAddress(word);
  if (/^(127\.|0\.|169\.254\.|::1?$|fe80:|ff)/i.test(address))
    throw new Unfit(`must be an address by which others reach this machine, and ${address} is none`);
  return address;
}

const PORT_MAX = 65_535;

export function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > PORT_MAX) throw new Unfit(`must be a TCP port from 1 to ${PORT_MAX}`);
  return port;
}

export function readHttps(text: string): 'own' | 'proxy' | 'none' | number {
  if (text === 'own' || text === 'proxy' || text === 'none') return text;
  if (!/^\d+$/.test(text)) throw new Unfit('must be own, proxy, none or a port such as 8443');
  return readPort(text);
}

export function readRelayHost(text: string): string {
  if (text === '') throw new Unfit('must be a host name, such as smtp.example.com:587');
  mustFit('relays.main.host', { relays: { main: { host: text } } });
  return text;
}

export function readSpfInclude(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/^include:/, '')
    .replace(/\.$/, '');
  if (/^(?=.{1,100}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/.test(name)) return name;
  throw new Unfit('must be a domain name, such as amazonses.com');
}

export const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';

export function readDirectory(text: string): string {
  mustFit('acme.directory', { acme: { directory: text, agree_to_terms: true } });
  return text;
}

export function readContact(text: string): string {
  mustFit('acme.contact', { acme: { contact: text } });
  return text;
}
