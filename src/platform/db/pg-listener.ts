import { randomUUID } from 'node:crypto';
import { systemClock } from '../clock.ts';
import { endWhenGone } from './pg-session.ts';
import { ServerClient, type PgServers } from './pg-servers.ts';
import { createCommitListeners } from './memo.ts';
import type { Db } from './db.ts';

interface ListenerOptions {
  /**
   * Must lead to PostgreSQL itself: a pooler that lends its connections for a transaction does not forward
   * notifications.
   */
  servers: PgServers;
  /** The names this process listens for; called before each message about them to other processes. */
  wanted(): Iterable<string>;
  /** Called when another process has committed these. */
  heard(names: readonly string[]): void;
  /** Called when notifications work again; any may have been missed meanwhile. */
  heardAnew(): void;
  onFault(error: unknown): void;
  random(): number;
}

interface PgListener {
  /**
   * Notifies the processes that listen for these names, together with everything else of the next few milliseconds.
   * While not connected, no process is notified.
   */
  notify(names: Iterable<string>): void;
  /** The result of `wanted` has changed. */
  wantsElse(): void;
  /** Another server is in use: connects to it at once. */
  reconnect(): void;
  /** Returns the time since when nothing is received; undefined while it works. */
  deafSince(): number | undefined;
  close(): Promise<void>;
}

/** A message between processes. */
interface Message {
  from: string;
  /** The names that were committed. */
  of?: string[];
  /** The names the sender listens for, sent periodically. */
  wants?: string[];
  /** The sender does not know yet what others listen for. */
  isNew?: true;
}

const CHANNEL = 'rasket';
/** Every notification takes a lock of the whole database for its commit, so several are sent together. */
const GATHER_MS = 5;
/**
 * Interval at which each process sends what it listens for. It receives that itself, too, and knows by it that its
 * connection works.
 */
const SAY_MS = 20_000;
/** A process that was not heard from for this long counts as gone. */
const GONE_MS = 3 * SAY_MS + 5000;
const CONNECT_MS_MAX = 10_000;
const ANSWER_MS_MAX = 10_000;
const RETRY_MS = { min: 200, max: 5000 };
/** PostgreSQL limits a payload to less than 8000 bytes. */
const PAYLOAD_CHARS_MAX = 7000;

/**
 * Lets processes on one PostgreSQL notify each other of commits, by NOTIFY on a separate connection, outside every
 * transaction. It reduces latency but nothing relies on it: a loop that waits also polls.
 */
function openPgListener(options: ListenerOptions): PgListener {
  return new Listener(options);
}

class Listener implements PgListener {
  readonly #options: ListenerOptions;
  readonly #self = randomUUID();
  /** The other processes, and the names each listens for. */
  readonly #others = new Map<string, { wants: ReadonlySet<string>; heardAt: number }>();
  readonly #toTell = new Set<string>();
  #client: ServerClient | undefined;
  #deafSince: number | undefined = systemClock.now();
  #lastHeard = 0;
  #tries = 0;
  #isClosed = false;
  #isFaultSaid = false;
  #cancelTell: (() => void) | undefined;
  #cancelAnnounce = (): void => undefined;
  #cancelRetry = (): void => undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    void this.#connect();
  }

  notify(names: Iterable<string>): void {
    if (this.#deafSince !== undefined || this.#others.size === 0) return;
    for (const name of names) if (this.#isWanted(name)) this.#toTell.add(name);
    if (this.#toTell.size === 0 || this.#cancelTell) return;
    this.#cancelTell = systemClock.timer(GATHER_MS, () => {
      this.#cancelTell = undefined;
      const of = [...this.#toTell];
      this.#toTell.clear();
      this.#send({ from: this.#self, of });
    });
  }

  wantsElse(): void {
    if (this.#deafSince === undefined) this.#announce({});
  }

  reconnect(): void {
    if (this.#isClosed || this.#client?.isConnecting) return;
    if (this.#client) this.#lost(this.#client, new Error('another PostgreSQL server is in use'));
    this.#cancelRetry();
    void this.#connect();
  }

  deafSince(): number | undefined {
    return this.#deafSince;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimers();
    this.#cancelRetry();
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(ignore);
  }

  async #connect(): Promise<void> {
    const client = new ServerClient({
      servers: this.#options.servers,
      application_name: 'rasket listener',
      // Do not wait for a result between two statements.
      pipeline: true,
      connectionTimeoutMillis: CONNECT_MS_MAX,
      query_timeout: ANSWER_MS_MAX,
    });
    this.#client = client;
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, new Error('the connection has ended')));
    client.on('notification', ({ channel, payload }) => {
      if (channel === CHANNEL && client === this.#client) this.#receive(payload ?? '');
    });
    try {
      await client.connect();
      if (client !== this.#client) return void client.end().catch(ignore);
      // A notification needs no durability.
      await client.query('set synchronous_commit = off');
      await endWhenGone(client);
      await client.query(`listen ${CHANNEL}`);
      if (client !== this.#client) return;
      this.#lastHeard = systemClock.now();
      this.#announce({ isNew: true });
    } catch (error) {
      this.#lost(client, error);
    }
  }

  #receive(payload: string): void {
    const message = parseMessage(payload);
    if (!message) return;
    const now = systemClock.now();
    if (message.from === this.#self) {
      this.#lastHeard = now;
      if (this.#deafSince === undefined) return;
      this.#deafSince = undefined;
      this.#tries = 0;
      this.#isFaultSaid = false;
      this.#options.heardAnew();
      return;
    }
    const known = this.#others.get(message.from);
    if (known) known.heardAt = now;
    if (message.wants) this.#learn(message.from, message.wants);
    if (message.isNew) this.#announce({});
    if (message.of && this.#deafSince === undefined) this.#options.heard(message.of);
  }

  /** Commits from before it was known that somebody listens for them were not sent. */
  #learn(from: string, wants: readonly string[]): void {
    const before = this.#others.get(from)?.wants;
    this.#others.set(from, { wants: new Set(wants), heardAt: systemClock.now() });
    const missed = wants.filter((name) => !before?.has(name));
    if (missed.length > 0) this.#send({ from: this.#self, of: missed });
  }

  /** Sends what this process listens for, now and periodically. */
  #announce({ isNew }: Pick<Message, 'isNew'>): void {
    this.#cancelAnnounce();
    const now = systemClock.now();
    for (const [from, { heardAt }] of this.#others) if (now - heardAt > GONE_MS) this.#others.delete(from);
    if (this.#client && now - this.#lastHeard > GONE_MS) {
      this.#lost(this.#client, new Error('what this process notifies does not come back to it'));
      return;
    }
    this.#send({ from: this.#self, wants: [...this.#options.wanted()], ...(isNew && { isNew }) });
    // If nothing was received yet, ask again soon: there may be a pooler in between.
    this.#cancelAnnounce = systemClock.timer(SAY_MS, () =>
      this.#announce(this.#deafSince === undefined ? {} : { isNew: true }),
    );
  }

  #send(message: Message): void {
    const client = this.#client;
    const payload = JSON.stringify(message);
    if (!client || payload.length > PAYLOAD_CHARS_MAX) return;
    client.query('select pg_notify($1, $2)', [CHANNEL, payload]).catch((error: unknown) => this.#lost(client, error));
  }

  #isWanted(name: string): boolean {
    for (const { wants } of this.#others.values()) if (wants.has(name)) return true;
    return false;
  }

  #lost(client: ServerClient, error: unknown): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    this.#deafSince ??= systemClock.now();
    this.#others.clear();
    this.#stopTimers();
    client.end().catch(ignore);
    if (this.#isClosed) return;
    // Report a fault once for as long as it lasts.
    if (!this.#isFaultSaid) this.#options.onFault(error);
    this.#isFaultSaid = true;
    const delay = Math.min(RETRY_MS.max, RETRY_MS.min * 2 ** this.#tries++) * (0.5 + this.#options.random() / 2);
    this.#cancelRetry = systemClock.timer(delay, () => void this.#connect());
  }

  #stopTimers(): void {
    this.#cancelAnnounce();
    this.#cancelTell?.();
    this.#cancelTell = undefined;
    this.#toTell.clear();
  }
}

/** Do not trust the payload: any client that may connect to the database may notify. */
function parseMessage(payload: string): Message | undefined {
  try {
    const { from, of, wants, isNew } = JSON.parse(payload) as Partial<Message>;
    if (typeof from !== 'string') return undefined;
    return {
      from,
      ...(isTexts(of) && { of }),
      ...(isTexts(wants) && { wants }),
      ...(isNew === true && { isNew }),
    };
  } catch {
    return undefined;
  }
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

function ignore(): void {}

interface PgHearing extends Pick<Db, 'onCommit' | 'announce' | 'onAnnounced' | 'hear'> {
  /** Notifies the listeners of this process, and the other processes. */
  committed(tables: Iterable<string>): void;
  close(): Promise<void>;
}

/** Keeps the listeners for commits of this process and, once connected, of others. */
export function createPgHearing(servers: PgServers): PgHearing {
  let listener: PgListener | undefined;
  /** Leads to the same servers in another way, so it does not know yet that another one is in use. */
  let direct: PgServers | undefined;
  const endFollowing = servers.onMoved(() => {
    direct?.askAgain();
    listener?.reconnect();
  });
  const listeners = createCommitListeners(() => listener?.wantsElse());
  return {
    onCommit: listeners.add,
    onAnnounced: listeners.add,
    announce: (name) => listener?.notify([name]),
    committed(tables) {
      listeners.notify(tables);
      listener?.notify(tables);
    },
    hear({ url, onFault, random }) {
      direct = url === '' ? undefined : servers.through(url);
      listener = openPgListener({
        servers: direct ?? servers,
        onFault,
        random,
        wanted: listeners.tables,
        heard: listeners.notify,
        heardAnew: listeners.notifyAll,
      });
      return listener;
    },
    async close() {
      endFollowing();
      await listener?.close();
    },
  };
}
