import type { Clock } from '../../platform/clock.ts';
import type { MxAddress } from './mx-address.ts';
import type { SmtpSession } from './smtp-session.ts';

/** A mail server, and how we reach it. */
export interface Peer {
  address: MxAddress;
  /** Connections with the same key are interchangeable: from one egress, to one host and address, under one TLS policy. */
  key: string;
}

/** A session in the pool, with the peer that it is open to. */
export type PooledSession = SmtpSession & { readonly peer: Peer };

interface Owner {
  /** Closes the session. */
  yieldIdle(session: PooledSession): void;
  /** Forgets the session, which another destination takes over. */
  giveAway(session: PooledSession): void;
}

interface Parked {
  owner: Owner;
  cancelTimer: () => void;
}

/** The idle connections of all destinations, longest idle first. */
export class IdleSessions {
  #clock: Clock;
  #idleMs: number;
  #parked = new Map<PooledSession, Parked>();
  #byKey = new Map<string, Set<PooledSession>>();

  constructor(clock: Clock, idleMs: number) {
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  get size(): number {
    return this.#parked.size;
  }

  park(session: PooledSession, owner: Owner): void {
    const { key } = session.peer;
    const close = (): void => owner.yieldIdle(session);
    session.connection.onStir = close;
    this.#parked.set(session, { owner, cancelTimer: this.#clock.timer(this.#idleMs, close) });
    this.#byKey.set(key, (this.#byKey.get(key) ?? new Set()).add(session));
  }

  unpark(session: PooledSession): void {
    const parked = this.#parked.get(session);
    if (!parked) return;
    parked.cancelTimer();
    session.connection.onStir = () => {};
    this.#parked.delete(session);
    const { key } = session.peer;
    const alike = this.#byKey.get(key);
    if (alike?.delete(session) && alike.size === 0) this.#byKey.delete(key);
  }

  /** A snapshot of the peers with an idle connection. */
  peers(): Peer[] {
    return [...this.#byKey.values()].flatMap(([session]) => session?.peer ?? []);
  }

  /** Closes the longest idle connection, of this address if one is given, to make room for another. */
  closeOne(address?: MxAddress): void {
    for (const [session, { owner }] of this.#parked) {
      if (!address || session.peer.address === address) return owner.yieldIdle(session);
    }
  }

  /** Closes all idle connections to this peer. */
  closeAll({ key }: Peer): void {
    for (const session of this.#byKey.get(key) ?? []) this.#parked.get(session)?.owner.yieldIdle(session);
  }

  /** Takes an idle connection with this key from its destination. */
  take(key: string): PooledSession | undefined {
    const [session] = this.#byKey.get(key) ?? [];
    if (session) this.#parked.get(session)?.owner.giveAway(session);
    return session;
  }
}
