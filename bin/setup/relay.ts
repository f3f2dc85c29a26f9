/** A relay for machines whose network blocks port 25: found out, asked for, and explained. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { examinePort25 } from '../../src/features/operations/doctor/index.ts';
import { createInspector } from '../../src/platform/resolver/index.ts';
import { OperatorFault } from '../explain.ts';
import { asOwnerOf } from '../installation.ts';
import { Unfit } from './asking.ts';
import type { Answers, RelayAnswer, SetupOptions, Surroundings } from './options.ts';
import { readPort, readRelayHost, readSpfInclude } from './readers.ts';
import type { Edit } from './settings-text.ts';

export const SETUP_RELAY = 'main';
const SUBMISSION_PORT = 587;
const IMPLICIT_TLS_PORT = 465;

/** Asks for a relay where port 25 is blocked or a flag names one; undefined leaves the settings as they are. */
export async function askRelay(around: Surroundings): Promise<Answers['relay']> {
  const { options, asker, config, fromOf } = around;
  if (options.relay === false) return undefined;
  if (options.relay === undefined) {
    mustHaveRelay(options);
    if (config.delivery.relay !== '') {
      const from = fromOf('delivery.relay') ?? 'the default';
      asker.tell(`Relay: all mail goes through ${config.delivery.relay} (${from}).`);
      return undefined;
    }
    if (!(await isPort25Blocked(around))) return undefined;
    asker.tell(`\n${BLOCKED}`);
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
    await asOwnerOf(dataDir, async () => {
      try {
        readFileSync(file);
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException;
        const advice =
          code === 'EACCES'
            ? `the account of the service has to read it: chgrp --reference=${dataDir} ${file} && chmod 640 ${file}`
            : 'name a file that is there';
        throw new OperatorFault(`${flag}: ${file} cannot be read (${code}); ${advice}`, 'usage');
      }
    });
  }
}

const BLOCKED =
  'Port 25 is blocked here: no mail server of a large provider can be connected to, while other connections lead out. Either ask whoever runs the network to open port 25 outbound, or let a relay pass your mail on: a provider such as Amazon SES, Postmark or Mailgun, or the mail server of your company. A relay is named by --relay HOST:PORT, at any later time too: rasket setup --relay smtp.example.com:587 --relay-user NAME --relay-password-file FILE (docs/relays.md).';

function mustHaveRelay({ relayUser, relayPasswordFile, relayCaFile, relaySpf }: SetupOptions): void {
  const [flag] = [
    relayUser === undefined ? [] : ['--relay-user'],
    relayPasswordFile === undefined ? [] : ['--relay-password-file'],
    relayCaFile === undefined ? [] : ['--relay-ca-file'],
    relaySpf === undefined ? [] : ['--relay-spf'],
  ].flat();
  if (flag !== undefined) throw new OperatorFault(`${flag} goes with --relay HOST:PORT`, 'usage');
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
    says: `Without a port it is ${SUBMISSION_PORT}, with STARTTLS; port ${IMPLICIT_TLS_PORT} speaks TLS from the first byte. The relay needs a valid certificate for its name.`,
    given: options.relay === false ? undefined : options.relay,
    read(text) {
      if (text === 'none') return undefined;
      const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(text) ?? [];
      const number = port === undefined ? SUBMISSION_PORT : readPort(port);
      return { host: readRelayHost(host), port: number, tls: number === IMPLICIT_TLS_PORT ? 'implicit' : 'starttls' };
    },
  });
}

/** A password is typed, and kept in a file beside the settings, or stands in a file already. */
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

/** Names the SPF mechanism that senders through a relay are told to include. */
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
      ? { value: 'none', from: 'the relay’s addresses are not known here' }
      : { value: known, from: `what senders through ${host} include` };
  return asker.ask({
    flag: '--relay-spf',
    label: 'Name that SPF includes for the relay (or none)',
    says: 'Recipients see your mail come from the addresses of the relay. The SPF record of each sending domain has to include them, by the name that the relay’s documentation gives, such as amazonses.com; then rasket asks for it in the records of every domain.',
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
