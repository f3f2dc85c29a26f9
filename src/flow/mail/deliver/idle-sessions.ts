import type { Clock } from '../../../platform/clock/index.ts';
import type { MxAddress } from './mx-address.ts';
import type { SmtpSession } from './smtp-session.ts';

/** A mail server as mail is brought to it. */
export interface Peer {
  address: MxAddress;
  /** Connections of one key do equally well: from one egress, to one host and address, under one TLS policy. */
  key: string;
}

interface Owner {
  /** Closes it. */
  yieldIdle(session: SmtpSession): void;
  /** Has it no more. */
  giveAway(session: SmtpSession): void;
}

interface Parked {
  owner: Owner;
  peer: Peer;
  cancelTimer: () => void;
}

/** The connections that do nothing, in all destinations, longest idle first. */
export class IdleSessions {
  #clock: Clock;
  #idleMs: number;
  #parked = new Map<SmtpSession, Parked>();
  #byKey = new Map<string, Set<SmtpSession>>();

  constructor(clock: Clock, idleMs: number) {
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  get size(): number {
    return this.#parked.size;
  }

  park(session: SmtpSession, peer: Peer, owner: Owner): void {
    const close = (): void => owner.yieldIdle(session);
    session.connection.onStir = close;
    this.#parked.set(session, { owner, peer, cancelTimer: this.#clock.timer(this.#idleMs, close) });
    this.#byKey.set(peer.key, (this.#byKey.get(peer.key) ?? new Set()).add(session));
  }

  unpark(session: SmtpSession): void {
    const parked = this.#parked.get(session);
    if (!parked) return;
    parked.cancelTimer();
    session.connection.onStir = () => {};
    this.#parked.delete(session);
    const { key } = parked.peer;
    const alike = this.#byKey.get(key);
    if (alike?.delete(session) && alike.size === 0) this.#byKey.delete(key);
  }

  /** Whom they lead to, as they stand now. */
  peers(): Peer[] {
    return [...this.#byKey.values()].flatMap(([session]) => (session && this.#parked.get(session)?.peer) ?? []);
  }

  /** Makes room for another connection, to this address if one is given. */
  closeOne(address?: MxAddress): void {
    for (const [session, { owner, peer }] of this.#parked) {
      if (!address || peer.address === address) return owner.yieldIdle(session);
    }
  }

  /** One of this key, taken from the destination that has it. */
  take(key: string): { session: SmtpSession; peer: Peer } | undefined {
    const [session] = this.#byKey.get(key) ?? [];
    const parked = session && this.#parked.get(session);
    if (!parked) return undefined;
    parked.owner.giveAway(session);
    return { session, peer: parked.peer };
  }
}
