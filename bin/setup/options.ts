import type { Config } from '../../src/platform/config/index.ts';
import type { DataOptions } from '../commands/open.ts';
import type { Asker } from './asking.ts';
import type { Listener } from './taken-ports.ts';
import type { LookUps } from './this-machine.ts';

/** What was typed; each answers a question. */
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
  /** Another key of the team, for whoever has none any more. */
  newKey?: true;
  start?: boolean;
  yes?: boolean;
  dryRun?: boolean;
  print?: boolean;
}

/** How the API is reached over TLS. */
export type Https =
  | { kind: 'own'; port: number; hasPort80: boolean }
  /** A web server in front of it, by name where one was seen. */
  | { kind: 'proxy'; program: string | undefined }
  | { kind: 'none' };

export interface Acme {
  directory: string;
  contact: string;
  challenge: 'http-01' | 'tls-alpn-01' | 'dns-01';
}

export interface RelayAnswer {
  host: string;
  port: number;
  tls: 'starttls' | 'implicit';
  /** Empty for no login. */
  user: string;
  /** The file with the password; one that was typed is written there. */
  password: { file: string; typed?: string } | undefined;
  /** The file with the certificate of its authority; undefined leaves the setting as it is. */
  caFile: string | undefined;
  /** Names the SPF mechanism that sending domains include for the relay. */
  spfInclude: string | undefined;
}

/** Everything that was answered, and nothing that was done. */
export interface Answers {
  host: string;
  addresses: readonly string[];
  https: Https;
  /** Another port for the API, where the one of the settings is taken. */
  apiPort: number | undefined;
  receives: boolean;
  /** The address that SMTP listens on, where another program has port 25 of loopback alone. */
  smtpHost: string | undefined;
  /** Ports for applications that other programs have. */
  leftOut: readonly number[];
  /** Undefined leaves the settings as they are. */
  relay: RelayAnswer | undefined;
  /** Undefined leaves the settings as they are. */
  acme: Acme | 'none' | undefined;
  /** Public addresses of the interfaces, among which the system would choose. */
  ownPublic: readonly string[];
}

export interface Surroundings {
  options: SetupOptions;
  asker: Asker;
  /** The settings file. */
  file: string;
  /** As it stands before. */
  config: Config;
  /** Where a setting has its value from, and undefined where that is the default. */
  fromOf: (key: string) => string | undefined;
  lookUps: LookUps;
  /** Of other programs; ours may have its ports. */
  listeners: readonly Listener[];
}
