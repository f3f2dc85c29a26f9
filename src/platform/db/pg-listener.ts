import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { systemClock } from '../clock.ts';
import { pgAddress, endWhenGone } from './pg-session.ts';
import { createCommitListeners } from './memo.ts';
import type { Db } from './db.ts';

interface ListenerOptions {
  /** Reaches PostgreSQL itself: a pooler that lends its connections for a transaction passes nothing on. */
  url: string;
  /** What this process waits for; asked before each time that others are told. */
  wanted(): Iterable<string>;
  /** Another process has committed it. */
  heard(names: readonly string[]): void;
  /** It hears anew, and may have missed anything. */
  heardAnew(): void;
  onFault(error: unknown): void;
  random(): number;
}

interface PgListener {
  /** Tells those who wait for it, together with all else of the next few milliseconds. While not connected, no process is told. */
  tell(names: Iterable<string>): void;
  /** What is wanted has changed. */
  wantsElse(): void;
  /** Since when it hears nothing; undefined while it does. */
  deafSince(): number | undefined;
  close(): Promise<void>;
}

/** A message that processes send each other. */
interface Message {
  from: string;
  /** What has been committed. */
  of?: string[];
  /** What the sender waits for, told every now and then. */
  wants?: string[];
  /** The sender does not know yet what others wait for. */
  isNew?: true;
}

const CHANNEL = 'rasket';
/** Every notification takes a lock of the whole database for its commit, and so many wait for one. */
const GATHER_MS = 5;
/** Each process says so often what it waits for. It hears that too, and knows by it that its connection works. */
const SAY_MS = 20_000;
/** Who was not heard for so long is gone. */
const GONE_MS = 3 * SAY_MS + 5000;
const CONNECT_MS_MAX = 10_000;
const ANSWER_MS_MAX = 10_000;
const RETRY_MS = { min: 200, max: 30_000 };
/** PostgreSQL takes less than 8000 bytes. */
const PAYLOAD_CHARS_MAX = 7000;

/**
 * Processes on one PostgreSQL tell each other what they have committed, by NOTIFY on a connection of their own, outside every
 * transaction. It makes them quick and is never relied on: a loop that waits also polls.
 */
function openPgListener(options: ListenerOptions): PgListener {
  return new Listener(options);
}

class Listener implements PgListener {
  readonly #options: ListenerOptions;
  readonly #self = randomUUID();
  /** The other processes, and what each waits for. */
  readonly #others = new Map<string, { wants: ReadonlySet<string>; heardAt: number }>();
  readonly #toTell = new Set<string>();
  #client: pg.Client | undefined;
  #deafSince: number | undefined = systemClock.now();
  #lastHeard = 0;
  #tries = 0;
  #isClosed = false;
  #isFaultSaid = false;
  #cancelTell: (() => void) | undefined;
  #cancelSay = (): void => undefined;
  #cancelRetry = (): void => undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    void this.#connect();
  }

  tell(names: Iterable<string>): void {
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
    if (this.#deafSince === undefined) this.#say({});
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
    const client = new pg.Client({
      connectionString: pgAddress(this.#options.url),
      application_name: 'rasket listener',
      keepAlive: true,
      // What is said twice is not waited for in between.
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
      // A notification is nothing that a power cut could take away.
      await client.query('set synchronous_commit = off');
      await endWhenGone(client);
      await client.query(`listen ${CHANNEL}`);
      if (client !== this.#client) return;
      this.#lastHeard = systemClock.now();
      this.#say({ isNew: true });
    } catch (error) {
      this.#lost(client, error);
    }
  }

  #receive(payload: string): void {
    const message = messageOf(payload);
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
    if (message.isNew) this.#say({});
    if (message.of && this.#deafSince === undefined) this.#options.heard(message.of);
  }

  /** What was committed before it was known that somebody waits for it was not told. */
  #learn(from: string, wants: readonly string[]): void {
    const before = this.#others.get(from)?.wants;
    this.#others.set(from, { wants: new Set(wants), heardAt: systemClock.now() });
    const missed = wants.filter((name) => !before?.has(name));
    if (missed.length > 0) this.#send({ from: this.#self, of: missed });
  }

  /** Says what is wanted here, now and every so often. */
  #say({ isNew }: Pick<Message, 'isNew'>): void {
    this.#cancelSay();
    const now = systemClock.now();
    for (const [from, { heardAt }] of this.#others) if (now - heardAt > GONE_MS) this.#others.delete(from);
    if (this.#client && now - this.#lastHeard > GONE_MS) {
      this.#lost(this.#client, new Error('what this process notifies does not come back to it'));
      return;
    }
    this.#send({ from: this.#self, wants: [...this.#options.wanted()], ...(isNew && { isNew }) });
    // One that was never heard is asked again soon: a pooler may stand between.
    this.#cancelSay = systemClock.timer(SAY_MS, () => this.#say(this.#deafSince === undefined ? {} : { isNew: true }));
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

  #lost(client: pg.Client, error: unknown): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    this.#deafSince ??= systemClock.now();
    this.#others.clear();
    this.#stopTimers();
    client.end().catch(ignore);
    if (this.#isClosed) return;
    // Once for as long as it lasts.
    if (!this.#isFaultSaid) this.#options.onFault(error);
    this.#isFaultSaid = true;
    const delay = Math.min(RETRY_MS.max, RETRY_MS.min * 2 ** this.#tries++) * (0.5 + this.#options.random() / 2);
    this.#cancelRetry = systemClock.timer(delay, () => void this.#connect());
  }

  #stopTimers(): void {
    this.#cancelSay();
    this.#cancelTell?.();
    this.#cancelTell = undefined;
    this.#toTell.clear();
  }
}

/** Any client that may connect to the database may notify. */
function messageOf(payload: string): Message | undefined {
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
  /** Tells those who listen here, and the other processes. */
  committed(tables: Iterable<string>): void;
  close(): Promise<void>;
}

/** Who listens to commits: those of this process, and once it hears them, of others. */
export function createPgHearing(databaseUrl: string): PgHearing {
  let listener: PgListener | undefined;
  const listeners = createCommitListeners(() => listener?.wantsElse());
  return {
    onCommit: listeners.add,
    onAnnounced: listeners.add,
    announce: (name) => listener?.tell([name]),
    committed(tables) {
      listeners.tell(tables);
      listener?.tell(tables);
    },
    hear({ url, onFault, random }) {
      listener = openPgListener({
        url: url || databaseUrl,
        onFault,
        random,
        wanted: listeners.tables,
        heard: listeners.tell,
        heardAnew: listeners.tellAll,
      });
      return listener;
    },
    close: async () => listener?.close(),
  };
}
