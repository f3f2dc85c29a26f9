/** What has to be known before anything is written: found, shown with where it comes from, and asked for. */
import { OperatorFault } from '../explain.ts';
import type { Asker } from './asking.ts';
import { Unfit } from './asking.ts';
import { askRelay } from './relay.ts';
import { askWays } from './ways-in.ts';
import type { Acme, Answers, Https, SetupOptions, Surroundings } from './options.ts';
import { hostReader, LETS_ENCRYPT, readAddresses, readContact, readDirectory } from './readers.ts';
import { findHostNames, ownAddresses, type Found, type LookUps, type OwnAddress } from './this-machine.ts';

export async function askEverything(around: Surroundings): Promise<Answers> {
  const own = ownAddresses();
  const host = await askHost(around, own);
  const addresses = await askAddresses(around, host, own);
  const ways = await askWays(around, own);
  const relay = await askRelay(around);
  const isLed = await leadsHere(around.lookUps, host, addresses);
  const acme = await askAcme(around, ways.https, isLed);
  const ownPublic = own.filter(({ isPublic }) => isPublic).map(({ address }) => address);
  return { host, addresses, ...ways, relay, acme, ownPublic };
}

async function askHost({ options, asker, config, fromOf, lookUps }: Surroundings, own: readonly OwnAddress[]) {
  const written = fromOf('instance.host');
  const names =
    written === undefined ? await findHostNames(own, lookUps) : [{ value: config.instance.host, from: written }];
  const [found, ...others] = names;
  const more = others.map(({ value, from }) => `${value} (${from})`).join(', ');
  return asker.ask({
    flag: '--host',
    label: 'Public host name of this machine',
    says: `Mail servers greet this machine by its public name, and look it up. It has to lead here, and the address back to it.${more === '' ? '' : ` There is also: ${more}.`}`,
    given: options.host,
    found,
    read: hostReader(config.network),
  });
}

async function askAddresses(
  { options, asker, lookUps }: Surroundings,
  host: string,
  own: readonly OwnAddress[],
): Promise<string[]> {
  const published = await lookUps.addressesOf(host);
  const isBehindNat = own.length > 0 && !own.some(({ isPublic }) => isPublic);
  const addresses = await asker.ask({
    flag: '--public-address',
    label: 'Public addresses',
    says: isBehindNat
      ? `This machine has private addresses alone (${inWords(own)}): it stands behind NAT, and others see another address, which only your router or provider knows. Ports 25, 80, 443 and those for applications have to be passed on to it.`
      : `By these addresses others reach this machine, and it sends from them: ${inWords(own)}.`,
    given: options.publicAddress?.join(' '),
    found: foundAddresses(own, host, published),
    read: readAddresses,
  });
  const isOwn = addresses.some((address) => own.some((one) => one.address === address));
  if (!isOwn) asker.tell(`${addresses.join(', ')} is on no interface of this machine: it stands behind NAT.`);
  return addresses;
}

function foundAddresses(
  own: readonly OwnAddress[],
  host: string,
  published: string[] | 'none' | 'unknown',
): Found<string> | undefined {
  const publicOnes = own.filter(({ isPublic }) => isPublic);
  if (publicOnes.length > 0)
    return { value: publicOnes.map(({ address }) => address).join(' '), from: `interface ${publicOnes[0]?.device}` };
  return Array.isArray(published) ? { value: published.join(' '), from: `DNS of ${host}` } : undefined;
}

const inWords = (own: readonly OwnAddress[]): string =>
  own.length === 0 ? 'none was found' : own.map(({ address, device }) => `${address} on ${device}`).join(', ');

/** Whether DNS leads to this machine by the host name. */
export async function leadsHere(lookUps: LookUps, host: string, addresses: readonly string[]): Promise<boolean> {
  const published = await lookUps.addressesOf(host);
  return Array.isArray(published) && published.length > 0 && published.every((one) => addresses.includes(one));
}

/** An order that must fail is not placed: authorities count failures, and few are enough for them. */
async function askAcme(around: Surroundings, https: Https, isLed: boolean): Promise<Answers['acme']> {
  const { options, asker, config, fromOf } = around;
  if (options.acme === false) return 'none';
  if (config.tls.certificate_file !== '') {
    asker.tell(`Certificate: the files of [tls] (${config.tls.certificate_file}); no authority is asked.`);
    return undefined;
  }
  const challenge = config.acme.challenge === 'dns-01' ? 'dns-01' : challengeFor(https);
  if (challenge === undefined) return withoutChallenge(options, asker);
  const isWritten = config.acme.directory !== '';
  const isRefused = !isWritten && fromOf('acme.directory') !== undefined;
  if (!isLed && !isRefused && options.acmeDirectory === undefined && !isWritten) {
    asker.tell(
      'Certificate: none is asked for yet, because the host name does not lead here in DNS, and authorities count orders that fail. When it does, run rasket setup again (or say --acme-directory).',
    );
    return undefined;
  }
  const directory = await askDirectory(around);
  if (directory === '') return 'none';
  if (!(await agrees(around, directory))) return 'none';
  const contact = await asker.ask({
    flag: '--acme-contact',
    label: 'Address that the authority may write to (or none)',
    given: options.acmeContact ?? (asker.isInteractive ? undefined : config.acme.contact),
    found: { value: config.acme.contact, from: around.fromOf('acme.contact') ?? 'the default' },
    read: (text) => (text === 'none' ? '' : readContact(text)),
  });
  // One that an operator has chosen stays.
  return { directory, contact, challenge: fromOf('acme.challenge') === undefined ? challenge : config.acme.challenge };
}

const askDirectory = ({ options, asker, config, fromOf }: Surroundings): Promise<string> =>
  asker.ask({
    flag: '--acme-directory',
    label: 'Directory of the authority (or none)',
    says: 'A certificate proves this machine to browsers and mail servers. An authority that speaks ACME issues it, and the name becomes public by it.',
    given: options.acmeDirectory,
    found: foundDirectory(config.acme.directory, fromOf('acme.directory')),
    read: (text) => (text === 'none' ? '' : readDirectory(text)),
  });

const foundDirectory = (written: string, from: string | undefined): Found<string> =>
  from === undefined
    ? { value: LETS_ENCRYPT, from: "Let's Encrypt, which most use" }
    : { value: written === '' ? 'none' : written, from };

/** Nobody but the operator can agree, so that --yes does not. */
async function agrees({ options, asker, config: { acme } }: Surroundings, directory: string): Promise<boolean> {
  if (options.agreeToTerms || (acme.agree_to_terms && acme.directory === directory)) return true;
  return asker.ask({
    flag: '--agree-to-terms or --no-acme',
    label: `Whether you agree to the terms of ${new URL(directory).host} (yes or no)`,
    read(text) {
      if (/^(yes|no)$/i.test(text)) return /^yes$/i.test(text);
      throw new Unfit('must be yes or no, by the letter');
    },
  });
}

/** Port 80 where it is ours or a web server passes it on; else 443, where that is ours. */
function challengeFor(https: Https): Acme['challenge'] | undefined {
  if (https.kind === 'proxy') return 'http-01';
  if (https.kind === 'none') return undefined;
  if (https.hasPort80) return 'http-01';
  return https.port === 443 ? 'tls-alpn-01' : undefined;
}

function withoutChallenge(options: SetupOptions, asker: Asker): undefined {
  if (options.acmeDirectory !== undefined)
    throw new OperatorFault(
      '--acme-directory: an authority asks at port 80 or 443, and neither leads here; see --https',
      'usage',
    );
  asker.tell(
    'Certificate: none can be issued, because neither port 80 nor 443 leads here. Mail goes encrypted with a self-signed one; files of your own go under [tls].',
  );
  return undefined;
}
