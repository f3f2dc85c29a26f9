import { clientKey } from '../../platform/network/index.ts';
import { SmtpReply } from './handler.ts';

/** A port is open to the world, or only to programs that log in. */
export type PortKind = 'world' | 'submission';

/**
 * The state of a connection: over, though its socket is not gone yet; waiting, without or with a message delivered so
 * far; sending content; having its message processed; logged in.
 */
export type ConnectionPhase = 'over' | 'idle' | 'brought' | 'sending' | 'busy' | 'logged in';

/** Connections make way in this order, so that as little as possible is lost; the others never do. */
const MAKE_WAY: readonly ConnectionPhase[] = ['over', 'idle', 'brought', 'sending'];

export interface Occupant {
  readonly standing: ConnectionPhase;
  /** Ends the connection at once; its slot has gone to another. */
  makeWay(reply: SmtpReply): void;
}

export interface Slot {
  leave(): void;
  /** Notes that the connection was asked to end: its slot will be free, so no other has to end for it. */
  isGoing(): void;
}

export interface ConnectionLimits {
  /** Counts a new connection; throws the refusal of one too many. From ourselves it has no address, and no limit of one. */
  enter(occupant: Occupant, from: { address: string | undefined; kind: PortKind }): Slot;
  /** Reports whether so few connections are free that unneeded ones should be ended. */
  isShort(kind: PortKind): boolean;
  /** Returns the number of open connections. */
  open(kind: PortKind): number;
}

/**
 * The share that each kind may use: the world leaves connections to our own programs, and those leave some to the
 * world.
 */
const PART_OF_TOTAL = 3 / 4;
export const ofKindMax = (total: number): number => Math.ceil(total * PART_OF_TOTAL);
const PART_WITHOUT_NEED = 4 / 5;

interface Held {
  kind: PortKind;
  client: string | undefined;
  occupant: Occupant;
  slot: Slot;
}

/** Creates the limits that all SMTP ports of the process share. */
export function createConnectionLimits(limits: { total: number; perAddress: number }): ConnectionLimits {
  const countByClient = new Map<string, number>();
  /** The oldest first. */
  const all = new Set<Held>();
  const totals = { world: 0, submission: 0 };
  const going = { world: 0, submission: 0 };
  const kindMax = ofKindMax(limits.total);
  const staying = (kind: PortKind): number => totals[kind] - going[kind];

  function makeRoom(kind: PortKind, newcomer: string | undefined): void {
    const isKindFull = totals[kind] >= kindMax;
    if (!isKindFull && totals.world + totals.submission < limits.total) return;
    const rivals = [...all].filter((held) => !isKindFull || held.kind === kind);
    const leaving = findDisplaced(rivals, toPlace, newcomer);
    if (!leaving) throw new SmtpReply(421, '4.3.2', 'Too many connections; try again in a minute');
    leaving.slot.leave();
    leaving.occupant.makeWay(new SmtpReply(421, '4.3.2', MOST));
  }

  function hold(held: Omit<Held, 'slot'>): Slot {
    const { kind, client } = held;
    let isGoing = false;
    let isOver = false;
    const slot: Slot = {
      isGoing() {
        if (isGoing || isOver) return;
        isGoing = true;
        going[kind]++;
      },
      leave() {
        if (isOver) return;
        isOver = true;
        all.delete(entry);
        totals[kind]--;
        if (isGoing) going[kind]--;
        if (client === undefined) return;
        const left = (countByClient.get(client) ?? 1) - 1;
        if (left > 0) countByClient.set(client, left);
        else countByClient.delete(client);
      },
    };
    const entry = { ...held, slot };
    all.add(entry);
    totals[kind]++;
    if (client !== undefined) countByClient.set(client, (countByClient.get(client) ?? 0) + 1);
    return slot;
  }

  return {
    open: (kind) => totals[kind],
    isShort: (kind) =>
      staying(kind) > kindMax * PART_WITHOUT_NEED ||
      staying('world') + staying('submission') > limits.total * PART_WITHOUT_NEED,
    enter(occupant, { address, kind }) {
      const client = address === undefined ? undefined : clientKey(address);
      if (client !== undefined && (countByClient.get(client) ?? 0) >= limits.perAddress) {
        const say = `${limits.perAddress} connections from your address are open, which is the limit; reuse them, or close some`;
        throw new SmtpReply(421, '4.7.0', say);
      }
      makeRoom(kind, client);
      return hold({ kind, client, occupant });
    },
  };
}

const MOST = 'Many clients are waiting for a connection, and your address has the most open; connect again in a minute';

/** A login does not count for its address: many programs that log in may share one address. */
function toPlace({ client, occupant: { standing } }: Held): { client: string | undefined; rank: number | undefined } {
  const rank = MAKE_WAY.indexOf(standing);
  return { client: standing === 'logged in' ? undefined : client, rank: rank < 0 ? undefined : rank };
}

/** Connections in a TLS handshake, which are no connections of SMTP yet. */
export interface Handshakes {
  /**
   * Reports whether one more from this address may begin; when all are in use, the oldest of the address with most
   * makes way.
   */
  admits(client: string): boolean;
  /** Counts one, which `cut` ends; call the returned function when the handshake is over. */
  begin(client: string, cut: () => void): () => void;
}

interface Handshake {
  client: string;
  cut: () => void;
  end: () => void;
}

export function createHandshakes(max: { total: number; perAddress: number }): Handshakes {
  /** The oldest first. */
  const all = new Set<Handshake>();
  return {
    admits(client) {
      let others = 0;
      for (const one of all) if (one.client === client) others++;
      if (others >= max.perAddress) return false;
      if (all.size < max.total) return true;
      const leaving = findDisplaced(all, (one) => ({ client: one.client, rank: 0 }), client);
      leaving?.cut();
      leaving?.end();
      return leaving !== undefined;
    },
    begin(client, cut) {
      const one: Handshake = { client, cut, end: () => void all.delete(one) };
      all.add(one);
      return one.end;
    },
  };
}

/** A place that a client's address (the party) holds. */
interface Place {
  /** Undefined for a place that counts for no address; it never makes way. */
  client: string | undefined;
  /** Lower ranks make way first; a place without a rank counts for its address, but never makes way. */
  rank: number | undefined;
}

/**
 * Returns the place that makes way for a newcomer: of the address that holds most, if that is more than the newcomer
 * holds, the lowest rank, and among those the first of `places`. So no address keeps out one that holds fewer, however
 * many addresses there are.
 */
function findDisplaced<P>(places: Iterable<P>, look: (place: P) => Place, newcomer: string | undefined): P | undefined {
  const clients = new Map<string, ClientPlaces<P>>();
  for (const place of places) {
    const { client, rank = Infinity } = look(place);
    if (client === undefined) continue;
    const known = clients.get(client) ?? { count: 0, rank: Infinity, place: undefined };
    known.count++;
    if (rank < known.rank) Object.assign(known, { rank, place });
    clients.set(client, known);
  }
  const held = newcomer === undefined ? 0 : (clients.get(newcomer)?.count ?? 0);
  let most: ClientPlaces<P> = { count: held + 1, rank: Infinity, place: undefined };
  for (const client of clients.values()) {
    if (client.place === undefined) continue;
    if (client.count > most.count || (client.count === most.count && client.rank < most.rank)) most = client;
  }
  return most.place;
}

interface ClientPlaces<P> {
  count: number;
  rank: number;
  place: P | undefined;
}
