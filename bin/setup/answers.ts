import { OperatorFault } from '../explain.ts';
import {
  Unfit,
  hostReader,
  LETS_ENCRYPT,
  readAddresses,
  readContact,
  readDirectory,
  readHttps,
  readPort,
  readRelayHost,
  readSpfInclude,
  type Asker,
} from './asking.ts';
import {
  findHostNames,
  ownAddresses,
  UNITS,
  WEB_SERVERS,
  type Found,
  type LookUps,
  type OwnAddress,
} from './this-machine.ts';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { formatHolders, type Listener } from '../../src/platform/listeners.ts';
import { examinePort25 } from '../../src/features/installation/start.ts';
import { createInspector } from '../../src/platform/resolver/index.ts';
import { runAsFolderOwner } from '../installation.ts';
import { describeExposure } from '../../src/platform/secrets/index.ts';
import type { Edit } from './settings-text.ts';
import type { Config } from '../../src/platform/config/index.ts';
import type { DataOptions } from '../commands/open.ts';

const SETUP_RELAY = 'main';
const SUBMISSION_PORT = 587;
const IMPLICIT_TLS_PORT = 465;

/** Asks for a relay if port 25 is blocked or a flag names one; undefined leaves the settings unchanged. */
async function askRelay(around: Surroundings): Promise<Answers['relay']> {
  const { options, asker, config, findOrigin } = around;
  if (options.relay === false) return undefined;
  if (options.relay === undefined) {
    mustHaveRelay(options);
    if (config.delivery.relay !== '') {
      const from = findOrigin('delivery.relay') ?? 'the default';
      asker.print(`Relay: all mail is sent through ${config.delivery.relay} (${from}).`);
      return undefined;
    }
    if (!(await isPort25Blocked(around))) return undefined;
    asker.print(`\n${BLOCKED}`);
    if (!asker.isInteractive) return undefined;
  }
  const server = await askServer(around);
  if (server === undefined) return undefined;
  const user = await asker.ask({
    flag: '--relay-user',
    label: 'User name at the relay (or none)',
    given: options.relayUser ?? (asker.isInteractive ? undefined : 'none'),
    read: (text) => (text === 'none' ? '' : mustBeOneLine(text)),
  });
  const password = user === '' ? undefined : await askPassword(around);
  const spfInclude = await askSpfInclude(around, server.host);
  const caFile = options.relayCaFile === undefined ? undefined : path.resolve(options.relayCaFile);
  return { ...server, user, password, caFile, spfInclude };
}

/** Refuses files that the service could not read: mail would wait for them. */
export async function mustBeReadable({ relay }: Pick<Answers, 'relay'>, dataDir: string): Promise<void> {
  const files = [
    { flag: '--relay-password-file', file: relay?.password?.typed === undefined ? relay?.password?.file : undefined },
    { flag: '--relay-ca-file', file: relay?.caFile },
  ];
  for (const { flag, file } of files) {
    if (file === undefined) continue;
    await runAsFolderOwner(dataDir, async () => {
      try {
        readFileSync(file);
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException;
        const advice =
          code === 'EACCES'
            ? `the account of the service must be able to read it: chgrp --reference=${dataDir} ${file} && chmod 640 ${file}`
            : 'give an existing file';
        throw new OperatorFault(`${flag}: ${file} cannot be read (${code}); ${advice}`, 'usage');
      }
    });
  }
}

/** Warns if other accounts can read the password of the relay. */
export async function warnOfOpenPassword({ relay }: Pick<Answers, 'relay'>, dataDir: string): Promise<void> {
  const password = relay?.password;
  // A typed password is written with a mode of its own.
  if (password === undefined || password.typed !== undefined) return;
  const exposure = await runAsFolderOwner(dataDir, async () => describeExposure(password.file));
  if (exposure !== undefined)
    process.stderr.write(`rasket: warning: --relay-password-file: ${password.file} ${exposure}\n`);
}

const BLOCKED =
  'Outgoing port 25 is blocked: no mail server of a large provider can be reached, although other outgoing connections work. Either ask the provider of the network to open outgoing port 25, or send through a relay: a provider such as Amazon SES, Postmark or Mailgun, or the mail server of your company. You can set the relay with --relay HOST:PORT, now or later: rasket setup --relay smtp.example.com:587 --relay-user NAME --relay-password-file FILE (docs/relays.md).';

function mustHaveRelay({ relayUser, relayPasswordFile, relayCaFile, relaySpf }: SetupOptions): void {
  const given = Object.entries({
    '--relay-user': relayUser,
    '--relay-password-file': relayPasswordFile,
    '--relay-ca-file': relayCaFile,
    '--relay-spf': relaySpf,
  });
  const flag = given.find(([, value]) => value !== undefined)?.[0];
  if (flag !== undefined) throw new OperatorFault(`${flag} needs --relay HOST:PORT`, 'usage');
}

/** The check that rasket doctor makes. */
async function isPort25Blocked({ config }: Surroundings): Promise<boolean> {
  const inspector = createInspector({
    servers: config.dns.servers,
    authorityPort: config.dns.authority_port,
    allowPrivate: config.network.dns_allow_private,
  });
  try {
    const signal = AbortSignal.timeout(config.doctor.seconds * 1000);
    const { findings } = await examinePort25({ world: { config }, ask: inspector.inspect(signal).resolve, signal });
    return findings.length > 0;
  } finally {
    inspector.close();
  }
}

function askServer({ options, asker }: Surroundings): Promise<Pick<RelayAnswer, 'host' | 'port' | 'tls'> | undefined> {
  return asker.ask({
    flag: '--relay or --no-relay',
    label: 'Relay, as host:port (or none)',
    says: `The default port is ${SUBMISSION_PORT}, with STARTTLS; port ${IMPLICIT_TLS_PORT} uses TLS from the start. The relay needs a valid certificate for its name.`,
    given: options.relay === false ? undefined : options.relay,
    read(text) {
      if (text === 'none') return undefined;
      const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(text) ?? [];
      const number = port === undefined ? SUBMISSION_PORT : readPort(port);
      return { host: readRelayHost(host), port: number, tls: number === IMPLICIT_TLS_PORT ? 'implicit' : 'starttls' };
    },
  });
}

/**
 * Asks for the password, which is stored in a file next to the settings; or takes the name of a file that contains it.
 */
async function askPassword({ options, asker, file }: Surroundings): Promise<NonNullable<RelayAnswer['password']>> {
  if (options.relayPasswordFile !== undefined) return { file: path.resolve(options.relayPasswordFile) };
  const typed = await asker.ask({
    flag: '--relay-password-file',
    label: 'Password at the relay (not shown)',
    isSecret: true,
    read: mustBeOneLine,
  });
  return { file: path.join(path.dirname(file), `relay-${SETUP_RELAY}.password`), typed };
}

function mustBeOneLine(text: string): string {
  if (!/^[^\p{Cc}]{1,500}$/u.test(text)) throw new Unfit('must be 1 to 500 characters on one line');
  return text;
}

/** The SPF mechanisms to include for senders through a relay. */
const SPF_INCLUDES: readonly (readonly [host: RegExp, include: string])[] = [
  [/(^|\.)amazonaws\.com$/, 'amazonses.com'],
  [/(^|\.)postmarkapp\.com$/, 'spf.mtasv.net'],
  [/(^|\.)mailgun\.org$/, 'mailgun.org'],
  [/(^|\.)sendgrid\.net$/, 'sendgrid.net'],
  [/(^|\.)mailjet\.com$/, 'spf.mailjet.com'],
  [/(^|\.)(gmail|google)\.com$/, '_spf.google.com'],
  [/(^|\.)(office365|outlook)\.com$/, 'spf.protection.outlook.com'],
];

function askSpfInclude({ options, asker }: Surroundings, host: string): Promise<string | undefined> {
  const known = SPF_INCLUDES.find(([pattern]) => pattern.test(host.toLowerCase()))?.[1];
  const found =
    known === undefined
      ? { value: 'none', from: 'the addresses of this relay are unknown' }
      : { value: known, from: `what senders through ${host} include` };
  return asker.ask({
    flag: '--relay-spf',
    label: 'Domain to include in SPF records for the relay (or none)',
    says: 'Recipients receive your mail from the addresses of the relay. The SPF record of each sending domain has to include the domain that the documentation of the relay names, such as amazonses.com. rasket then requires it in the records of every domain.',
    given: options.relaySpf ?? (asker.isInteractive ? undefined : found.value),
    found,
    read: (text) => (text === 'none' ? undefined : readSpfInclude(text)),
  });
}

export function relaySettings({ relay }: Pick<Answers, 'relay'>, spf: string): Edit[] {
  if (relay === undefined) return [];
  const { host, port, tls, user, password, caFile, spfInclude } = relay;
  const section = `relays.${SETUP_RELAY}`;
  const includes = spfInclude === undefined || spf.includes(`include:${spfInclude}`);
  return [
    { key: 'delivery.relay', value: SETUP_RELAY },
    { key: `${section}.host`, value: host },
    { key: `${section}.port`, value: port },
    { key: `${section}.tls`, value: tls },
    ...(user === '' ? [] : [{ key: `${section}.user`, value: user }]),
    ...(password === undefined ? [] : [{ key: `${section}.password_file`, value: password.file }]),
    ...(caFile === undefined ? [] : [{ key: `${section}.ca_file`, value: caFile }]),
    ...(includes ? [] : [{ key: 'domains.spf', value: spf.replace(/^v=spf1 /, `v=spf1 include:${spfInclude} `) }]),
  ];
}

type Ways = Pick<Answers, 'https' | 'apiPort' | 'receives' | 'smtpHost' | 'leftOut'>;

/** Asks for the ports at which this machine is reached, and reports which of them other programs use. */
async function askWays(around: Surroundings, own: readonly OwnAddress[]): Promise<Ways> {
  const https = await askHttps(around);
  const apiPort = await askApiPort(around);
  const mail = await askMail(around, own);
  const { submission } = around.config;
  const leftOut = [...submission.ports, ...submission.tls_ports].filter(
    (port) => port !== 25 && around.listeners.some((one) => one.port === port),
  );
  for (const port of leftOut)
    around.asker.print(
      `Port ${port}, for applications, is used by ${formatHolders(around.listeners, port)}, so rasket does not open it.`,
    );
  return { https, apiPort, ...mail, leftOut };
}

const at = (listeners: readonly Listener[], port: number): Listener[] => listeners.filter((one) => one.port === port);

const HTTPS_PORT = 443;
const OTHER_HTTPS_PORT = 8443;

async function askHttps({ options, asker, config, findOrigin, listeners }: Surroundings): Promise<Https> {
  const [taken] = at(listeners, HTTPS_PORT);
  const webServer = at(listeners, HTTPS_PORT).find(({ program = '' }) => WEB_SERVERS.includes(program))?.program;
  const written = writtenHttps(config, findOrigin);
  const free = { value: 'own', from: 'port 443 is free' };
  const foundWebServer = webServer && {
    value: 'proxy',
    from: `port 443 is taken by ${formatHolders(listeners, HTTPS_PORT)}`,
  };
  const answer = await asker.ask({
    flag: '--https',
    label: 'HTTPS: own, proxy, none, or another port',
    says: taken
      ? `Port 443 is taken by ${formatHolders(listeners, HTTPS_PORT)}. Choose proxy (the web server forwards requests; its configuration is printed below), another port such as ${OTHER_HTTPS_PORT}, or none (the API is reachable on this machine only). To use port 443 for rasket, ${howToFree(taken.program)}, and start again.`
      : 'The API and its pages over HTTPS: own (rasket opens 443 and 80 itself), proxy (a web server in front of it), none (the API is reachable on this machine only), or another port.',
    given: options.https,
    found: written ?? (taken ? foundWebServer || undefined : free),
    read: (text) => mustBeFree(readHttps(text), listeners),
  });
  if (answer === 'none') return { kind: 'none' };
  if (answer === 'proxy') return { kind: 'proxy', program: webServer };
  return { kind: 'own', port: answer === 'own' ? HTTPS_PORT : answer, hasPort80: at(listeners, 80).length === 0 };
}

function mustBeFree(answer: ReturnType<typeof readHttps>, listeners: readonly Listener[]): typeof answer {
  const port = answer === 'own' ? HTTPS_PORT : answer;
  if (typeof port === 'number' && at(listeners, port).length > 0)
    throw new Unfit(`port ${port} is taken by ${formatHolders(listeners, port)}`);
  return answer;
}

function writtenHttps(config: Surroundings['config'], findOrigin: Surroundings['findOrigin']) {
  const ports = findOrigin('https.ports');
  const [port] = config.https.ports;
  if (ports !== undefined && port !== undefined)
    return { value: port === HTTPS_PORT ? 'own' : String(port), from: ports };
  const url = findOrigin('http.public_url');
  if (url !== undefined && config.http.public_url.startsWith('https:')) return { value: 'proxy', from: url };
  return ports === undefined ? undefined : { value: 'none', from: ports };
}

/** Asks for the port of the API when another program has the usual one or a flag names one. */
async function askApiPort({
  options,
  asker,
  config,
  findOrigin,
  listeners,
}: Surroundings): Promise<number | undefined> {
  const { port } = config.http;
  const isTaken = at(listeners, port).length > 0;
  if (!isTaken && options.apiPort === undefined) return undefined;
  const free = [...Array(100).keys()].map((step) => port + step + 1).find((one) => at(listeners, one).length === 0);
  return asker.ask({
    flag: '--api-port',
    label: 'Port of the API on this machine',
    says: `Port ${port}${findOrigin('http.port') === undefined ? ', the default,' : ''} is taken by ${formatHolders(listeners, port)}; the API needs another one.`,
    given: options.apiPort,
    found:
      free === undefined
        ? undefined
        : {
            value: String(free),
            from: `the next free one, as ${port} is taken by ${formatHolders(listeners, port)}`,
          },
    read(text) {
      const answer = readPort(text);
      if (at(listeners, answer).length > 0)
        throw new Unfit(`port ${answer} is taken by ${formatHolders(listeners, answer)}`);
      return answer;
    },
  });
}

const SMTP_PORT = 25;

async function askMail(
  { options, asker, config, findOrigin, listeners }: Surroundings,
  own: readonly OwnAddress[],
): Promise<Pick<Answers, 'receives' | 'smtpHost'>> {
  const taken = at(listeners, SMTP_PORT);
  const written = findOrigin('receiving.ports');
  const wasReceiving = config.receiving.ports.includes(SMTP_PORT);
  if (taken.length === 0) {
    const receives = options.receive ?? (written === undefined || wasReceiving);
    asker.print(
      `Port 25: ${receives ? 'free; rasket receives mail and bounces there' : 'not used; rasket receives no mail and no bounces'}.`,
    );
    return { receives, smtpHost: undefined };
  }
  const who = formatHolders(listeners, SMTP_PORT);
  const [first] = own;
  // Debian's Postfix and Exim accept mail only from this machine unless they are configured otherwise.
  if (taken.every(({ isLoopback }) => isLoopback) && first && options.receive !== false) {
    const smtpHost = config.smtp.host === '' ? first.address : config.smtp.host;
    asker.print(`Port 25 on loopback is taken by ${who}; rasket listens only on ${smtpHost} (smtp.host).`);
    return { receives: true, smtpHost };
  }
  const answer = await asker.ask({
    flag: '--receive or --no-receive',
    label: 'Receive mail: no, or yes once the port is free',
    says: `Port 25 is taken by ${who}. Without it, rasket sends mail but receives neither mail nor bounces: answer no to leave the port out of the settings. To use it for rasket, ${howToFree(taken[0]?.program)}, and answer yes.`,
    given: options.receive === undefined ? undefined : options.receive ? 'yes' : 'no',
    found: { value: 'no', from: `port 25 is taken by ${who}` },
    read(text) {
      if (/^(yes|no)$/i.test(text)) return text.toLowerCase();
      throw new Unfit('must be yes or no');
    },
  });
  if (answer === 'yes') asker.print(`Port 25 stays with ${who} until you stop it; rasket opens it at its next start.`);
  return { receives: answer === 'yes', smtpHost: undefined };
}

/** Returns the command that frees a port. Setup shows it and never runs it. */
const howToFree = (program: string | undefined): string => {
  const unit = UNITS[program ?? ''];
  return unit === undefined ? 'stop that program' : `stop it (systemctl disable --now ${unit})`;
};

/** The flags of the command; each one answers a question. */
export interface SetupOptions extends DataOptions {
  host?: string;
  publicAddress?: string[];
  https?: string;
  apiPort?: string;
  receive?: boolean;
  /** false: --no-acme. */
  acmeDirectory?: string;
  acmeContact?: string;
  acme?: false;
  agreeToTerms?: true;
  /** "host:port"; false: --no-relay. */
  relay?: string | false;
  relayUser?: string;
  relayPasswordFile?: string;
  relayCaFile?: string;
  relaySpf?: string;
  team?: string;
  /** false: --no-email. */
  email?: string | false;
  /** false: --no-domain. */
  domain?: string | false;
  publishWith?: string;
  /** Makes another key of the team, for an operator who has none any more. */
  newKey?: true;
  start?: boolean;
  yes?: boolean;
  dryRun?: boolean;
  print?: boolean;
}

/** How clients reach the API over TLS. */
export type Https =
  | { kind: 'own'; port: number; hasPort80: boolean }
  /** A web server in front of it, by name where one was seen. */
  | { kind: 'proxy'; program: string | undefined }
  | { kind: 'none' };

interface Acme {
  directory: string;
  contact: string;
  challenge: 'http-01' | 'tls-alpn-01' | 'dns-01';
}

interface RelayAnswer {
  host: string;
  port: number;
  tls: 'starttls' | 'implicit';
  /** Empty for no login. */
  user: string;
  /** The file with the password; a typed one is written to it. */
  password: { file: string; typed?: string } | undefined;
  /** The file with the certificate of its authority; undefined leaves the setting as it is. */
  caFile: string | undefined;
  /** Names the SPF mechanism that sending domains include for the relay. */
  spfInclude: string | undefined;
}

/** All answers, before anything is done with them. */
export interface Answers {
  host: string;
  addresses: readonly string[];
  https: Https;
  /** Another port for the API, if the one of the settings is in use. */
  apiPort: number | undefined;
  receives: boolean;
  /** The address that SMTP listens on, if another program uses port 25 of loopback only. */
  smtpHost: string | undefined;
  /** Ports for applications that other programs have. */
  leftOut: readonly number[];
  /** Undefined leaves the settings unchanged. */
  relay: RelayAnswer | undefined;
  /** Undefined leaves the settings unchanged. */
  acme: Acme | 'none' | undefined;
  /** Public addresses of the interfaces, among which the system would choose. */
  ownPublic: readonly string[];
}

interface Surroundings {
  options: SetupOptions;
  asker: Asker;
  /** The settings file. */
  file: string;
  /** The settings before setup changes them. */
  config: Config;
  /** Returns the source of a setting's value; undefined for the default. */
  findOrigin: (key: string) => string | undefined;
  lookUps: LookUps;
  /** Listeners of other programs. A running rasket may keep its own ports. */
  listeners: readonly Listener[];
}

/** Asks for everything that has to be known before anything is written. Detected values are shown with their origin. */
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

async function askHost({ options, asker, config, findOrigin, lookUps }: Surroundings, own: readonly OwnAddress[]) {
  const written = findOrigin('instance.host');
  const names =
    written === undefined ? await findHostNames(own, lookUps) : [{ value: config.instance.host, from: written }];
  const [found, ...others] = names;
  const more = others.map(({ value, from }) => `${value} (${from})`).join(', ');
  return asker.ask({
    flag: '--host',
    label: 'Public host name of this machine',
    says: `Other mail servers look up the public name of this machine. The name has to resolve to this machine, and reverse DNS of the address back to the name.${more === '' ? '' : ` Also found: ${more}.`}`,
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
  const published = await lookUps.lookUpAddresses(host);
  const isBehindNat = own.length > 0 && !own.some(({ isPublic }) => isPublic);
  const addresses = await asker.ask({
    flag: '--public-address',
    label: 'Public addresses',
    says: isBehindNat
      ? `This machine has only private addresses (${inWords(own)}): it is behind NAT, and others see another address, which only your router or provider knows. Ports 25, 80, 443 and those for applications have to be forwarded to it.`
      : `Others reach this machine at these addresses, and it sends from them: ${inWords(own)}.`,
    given: options.publicAddress?.join(' '),
    found: foundAddresses(own, host, published),
    read: readAddresses,
  });
  const isOwn = addresses.some((address) => own.some((one) => one.address === address));
  if (!isOwn) asker.print(`${addresses.join(', ')} is not on an interface of this machine, so it is behind NAT.`);
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

/** Reports whether the host name leads to this machine in DNS. */
async function leadsHere(lookUps: LookUps, host: string, addresses: readonly string[]): Promise<boolean> {
  const published = await lookUps.lookUpAddresses(host);
  return Array.isArray(published) && published.length > 0 && published.every((one) => addresses.includes(one));
}

/** An order that must fail is not placed: authorities count failures, and few are enough for them. */
async function askAcme(around: Surroundings, https: Https, isLed: boolean): Promise<Answers['acme']> {
  const { options, asker, config, findOrigin } = around;
  if (options.acme === false) return 'none';
  if (config.tls.certificate_file !== '') {
    asker.print(
      `Certificate: the files in [tls] (${config.tls.certificate_file}); none is requested from an authority.`,
    );
    return undefined;
  }
  const challenge = config.acme.challenge === 'dns-01' ? 'dns-01' : challengeFor(https);
  if (challenge === undefined) return withoutChallenge(options, asker);
  const isWritten = config.acme.directory !== '';
  const isRefused = !isWritten && findOrigin('acme.directory') !== undefined;
  if (!isLed && !isRefused && options.acmeDirectory === undefined && !isWritten) {
    asker.print(
      'Certificate: none is requested yet, because the host name does not resolve to this machine, and authorities limit failed orders. When it does, run rasket setup again (or give --acme-directory).',
    );
    return undefined;
  }
  const directory = await askDirectory(around);
  if (directory === '') return 'none';
  if (!(await agrees(around, directory))) return 'none';
  const contact = await asker.ask({
    flag: '--acme-contact',
    label: 'Contact address for the authority (or none)',
    given: options.acmeContact ?? (asker.isInteractive ? undefined : config.acme.contact),
    found: { value: config.acme.contact, from: around.findOrigin('acme.contact') ?? 'the default' },
    read: (text) => (text === 'none' ? '' : readContact(text)),
  });
  // A challenge that an operator has chosen stays.
  return {
    directory,
    contact,
    challenge: findOrigin('acme.challenge') === undefined ? challenge : config.acme.challenge,
  };
}

const askDirectory = ({ options, asker, config, findOrigin }: Surroundings): Promise<string> =>
  asker.ask({
    flag: '--acme-directory',
    label: 'Directory of the authority (or none)',
    says: 'A certificate proves the identity of this machine to browsers and mail servers. An ACME authority issues it, which makes the host name public.',
    given: options.acmeDirectory,
    found: foundDirectory(config.acme.directory, findOrigin('acme.directory')),
    read: (text) => (text === 'none' ? '' : readDirectory(text)),
  });

const foundDirectory = (written: string, from: string | undefined): Found<string> =>
  from === undefined
    ? { value: LETS_ENCRYPT, from: "Let's Encrypt, the usual choice" }
    : { value: written === '' ? 'none' : written, from };

/** Only the operator can agree to the terms, so --yes does not. */
async function agrees({ options, asker, config: { acme } }: Surroundings, directory: string): Promise<boolean> {
  if (options.agreeToTerms || (acme.agree_to_terms && acme.directory === directory)) return true;
  return asker.ask({
    flag: '--agree-to-terms or --no-acme',
    label: `Whether you agree to the terms of ${new URL(directory).host} (yes or no)`,
    read(text) {
      if (/^(yes|no)$/i.test(text)) return /^yes$/i.test(text);
      throw new Unfit('must be exactly yes or no');
    },
  });
}

/** Returns the challenge by port 80 if it is ours or a web server passes it on; else by port 443, if that is ours. */
function challengeFor(https: Https): Acme['challenge'] | undefined {
  if (https.kind === 'proxy') return 'http-01';
  if (https.kind === 'none') return undefined;
  if (https.hasPort80) return 'http-01';
  return https.port === 443 ? 'tls-alpn-01' : undefined;
}

function withoutChallenge(options: SetupOptions, asker: Asker): undefined {
  if (options.acmeDirectory !== undefined)
    throw new OperatorFault(
      '--acme-directory: an authority checks port 80 or 443, and rasket has neither; see --https',
      'usage',
    );
  asker.print(
    'Certificate: none can be issued, because rasket has neither port 80 nor port 443. Mail is encrypted with a self-signed one; set your own files in [tls].',
  );
  return undefined;
}
