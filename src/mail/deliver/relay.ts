import type { DeliveryJob, Login } from './delivery-job.ts';

/** A mail server that the operator chose to pass mail on. */
export interface Relay {
  /** The name of its section in the settings; its host and port for a smarthost. */
  name: string;
  host: string;
  port: number;
  /** "as asked": a smarthost, whose connections are as secure as each sending domain demands. */
  tls: 'starttls' | 'implicit' | 'as asked';
  /** Reads the certificates of its authority, in PEM; the public authorities unless given. May throw a RelayFault. */
  readCa?: () => string;
  /** Reads the credentials; returns undefined if it requires none. May throw a RelayFault. */
  readLogin?: () => Login;
  heloName?: string;
  connectionsMax?: number;
  messagesPerConnectionMax?: number;
  messagesPerMinute?: number;
}

/** Which relays a job may go through. */
export interface RelayChoice {
  /** Takes the job instead of the recipient's own servers. */
  relay?: Relay | undefined;
  /** Takes the job when none of the recipient's own servers can be connected to. */
  fallback?: Relay | undefined;
}

/** The operator's own mistake in the settings or files of a relay; the message says what to change. */
export class RelayFault extends Error {
  override readonly name = 'RelayFault';
}

/** Returns a key of what jobs through a relay must have in common to share connections; undefined without a relay. */
export function relayKey({
  relay,
  region,
  tls,
}: Pick<DeliveryJob, 'region' | 'tls'> & { relay?: Relay | undefined }): string | undefined {
  if (relay === undefined) return undefined;
  return relay.tls === 'as asked' ? `smarthost ${relay.name} ${region} ${tls}` : `relay ${relay.name}`;
}
