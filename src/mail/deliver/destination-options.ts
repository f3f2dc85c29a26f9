import type { Clock } from '../../platform/clock.ts';
import type { ConnectionSlots } from './connection-slots.ts';
import type { IdleSessions, Peer } from './idle-sessions.ts';
import type { Route, Target } from './mx-route.ts';
import type { Opened } from './smtp-session.ts';

export interface DestinationLimits {
  connectionsMax: number;
  messagesPerConnectionMax: number;
  idleMs: number;
  /** Limit for opening one connection, however many hosts are tried; waiting for permission to open does not count. */
  openMs: number;
}

export interface DestinationOptions {
  limits: DestinationLimits;
  slots: ConnectionSlots;
  route: () => Promise<Route>;
  findPeer: (target: Target) => Peer;
  open: (target: Target, skipTls: boolean, openMs: number, signal: AbortSignal) => Promise<Opened>;
  clock: Clock;
  /** Monotonic milliseconds: a clock that is set back does not extend the life of cached entries. */
  now: () => number;
  random: () => number;
  quitMs: number;
  /** Called when a connection is gone, or an opening ended without one. */
  onFewer: () => void;
  idleSessions: IdleSessions;
}
