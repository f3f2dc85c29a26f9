import type { Duplex } from 'node:stream';
import pg from 'pg';
import { repeat, stopwatch, systemClock } from '../clock.ts';
import {
  formatHost,
  isTarget,
  parsePostgresUrl,
  TARGETS,
  type PostgresHost,
  type Target,
} from '../../protocol/postgres-url.ts';
import {
  acceptsWrites,
  chooseServer,
  findUnfitness,
  isSameRun,
  ServerMemory,
  type RefusedServer,
  type ServerAnswer,
  type ServerIdentity,
} from './choose-server.ts';
import type { ServerNotice } from './db.ts';
import { isServerLost } from './faults.ts';

/**
 * Returns a database URL with the `sslmode` that is in effect made explicit: `pg` takes these three for verify-full,
 * and a later version of it will be more lenient. Otherwise it would log a long warning at every start.
 */
export function pgAddress(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

/** No server of the URL can be used now. */
export class NoPrimary extends Error {
  override readonly name = 'NoPrimary';
  readonly code = 'DATABASE_NO_PRIMARY';
}

interface ServersOptions {
  memory?: ServerMemory;
  onNotice?: ((notice: ServerNotice) => void) | undefined;
}

/** Limit of each step of asking a server, so that one that is down does not delay the others. */
const PROBE_MS_MAX = 2500;
/** Once the server in use or a newly promoted one has answered, the others have this long to do so as well. */
const OTHERS_MS_MAX = 500;
/** Time after which a standby is asked again, while others have not answered yet. */
const AGAIN_MS = 250;
/** Shortest time between two failed rounds, for callers that try again at once. */
const FAILED_MS = 250;
/** Interval at which a process looks for statements that get no result. */
const STALL_MS = 1000;
/** Shortest time between two rounds because of such statements, which may just take long. */
const STALLED_SURVEY_MS = 1500;
/** Interval at which a process asks all servers, so that a second primary is noticed. */
const SURVEY_MS = 5000;
const CONNECT_MS_MAX = 4000;

/** Knows the servers of one database URL, and which of them is in use. */
export class PgServers {
  readonly #url: NonNullable<ReturnType<typeof parsePostgresUrl>>;
  readonly #memory: ServerMemory;
  readonly #onNotice: (notice: ServerNotice) => void;
  readonly #target: Target;
  readonly #clients = new Set<ServerClient>();
  readonly #onMoved = new Set<() => void>();
  /** The server to connect to; undefined if all of them have to be asked first. */
  #current: PostgresHost | undefined;
  #lastHost: PostgresHost | undefined;
  #inUse: ServerIdentity | undefined;
  #surveying: Promise<PostgresHost> | undefined;
  #sinceSurveyMs = stopwatch();
  /** Refusals that were reported, so that each is reported once for as long as it lasts. */
  #reported = new Set<string>();
  #rivals: { hosts: readonly string[]; since: number } | undefined;

  constructor(url: string, { memory = new ServerMemory(), onNotice = ignore }: ServersOptions = {}) {
    const parsed = parsePostgresUrl(url);
    if (!parsed) throw new Error('database URL is not that of a PostgreSQL database');
    const { target = parsed.hosts.length > 1 ? 'read-write' : 'any' } = parsed;
    if (!isTarget(target)) throw new Error(`target_session_attrs is ${target}, which is none of ${TARGETS.join(', ')}`);
    this.#url = parsed;
    this.#target = target;
    this.#memory = memory;
    this.#onNotice = onNotice;
  }

  /** Returns the servers of another address of the same database, with a shared memory. */
  through(url: string): PgServers {
    return new PgServers(url, { memory: this.#memory });
  }

  /** Reports whether the URL names more than one server. */
  get hasSeveral(): boolean {
    return this.#url.hosts.length > 1;
  }

  /** Returns the URL of this server alone. */
  buildUrl(host: PostgresHost): string {
    return pgAddress(this.#url.withHost(host));
  }

  get firstHost(): PostgresHost {
    const [first] = this.#url.hosts;
    if (!first) throw new Error('host missing in the database URL');
    return first;
  }

  /** The server that was used last; undefined before the first connection. */
  get inUse(): string | undefined {
    return this.#inUse && this.#lastHost && formatHost(this.#lastHost);
  }

  /** Other servers that accepted writes when they were last asked, and since when. */
  get rivals(): { hosts: readonly string[]; since: number } | undefined {
    return this.#rivals;
  }

  /** Returns the server to connect to. */
  find(): Promise<PostgresHost> {
    if (!this.hasSeveral) return Promise.resolve(this.firstHost);
    return this.#current ? Promise.resolve(this.#current) : this.#survey();
  }

  /** Calls `fire` when another server than before is in use. */
  onMoved(fire: () => void): () => void {
    this.#onMoved.add(fire);
    return () => void this.#onMoved.delete(fire);
  }

  /** Asks all servers before the next connection. */
  askAgain(): void {
    this.#current = undefined;
  }

  /** Notes a failed statement or connection: if the server seems lost, all servers are asked before the next connection. */
  noteFault(error: unknown): void {
    if (isServerLost(error)) this.askAgain();
  }

  /** Registers a client before it connects; it is aborted when another server is used. */
  register(client: ServerClient): void {
    this.#clients.add(client);
    client.once('end', () => this.#clients.delete(client));
  }

  unregister(client: ServerClient): void {
    this.#clients.delete(client);
  }

  /** Throws unless the server may be used. */
  async admit({ host, identity }: ServerAnswer): Promise<void> {
    const fault =
      findUnfitness(identity, this.#target) ?? this.#memory.findFault(identity, { isOneOfSeveral: this.hasSeveral });
    if (fault !== undefined) {
      this.#report([{ host: formatHost(host), reason: fault, acceptsWrites: acceptsWrites(identity) }]);
      throw new NoPrimary(`the PostgreSQL server ${formatHost(host)} cannot be used: ${fault}`);
    }
    if (this.hasSeveral && this.#inUse && !isSameRun(this.#inUse, identity)) {
      // It was restarted, and another one may have taken over meanwhile.
      await this.#survey();
      if (!isSameRun(this.#inUse, identity))
        throw new NoPrimary(`the PostgreSQL server ${formatHost(host)} is not the primary any more`);
    }
    this.#use({ host, identity });
  }

  /**
   * Watches the connections and the servers until the returned function is called. From now on the newest timeline is
   * kept, and another server is reported: a start that is refused has done neither.
   */
  watch(): () => void {
    this.#isWatched = true;
    this.#memory.keep();
    if (this.hasSeveral && this.#inUse && this.#lastHost) this.#noticeUse(this.#lastHost, this.#inUse);
    return repeat(systemClock, STALL_MS, async () => {
      const isStalled = [...this.#clients].filter((client) => client.isStalled()).length > 0;
      const sinceMs = this.#sinceSurveyMs();
      if ((isStalled && sinceMs > STALLED_SURVEY_MS) || (this.hasSeveral && sinceMs > SURVEY_MS))
        await this.#survey().catch(ignore);
    });
  }

  /** Asks all servers; concurrent callers share one round. */
  #survey(): Promise<PostgresHost> {
    if (this.#surveying) return this.#surveying;
    const surveying = this.#askAll();
    const forget = (): void => void (this.#surveying = undefined);
    surveying.then(forget, () => systemClock.timer(FAILED_MS, forget));
    this.#surveying = surveying;
    return surveying;
  }

  async #askAll(): Promise<PostgresHost> {
    const faults: { host: PostgresHost; error: unknown }[] = [];
    const answers: ServerAnswer[] = [];
    const isEnough = Promise.withResolvers<void>();
    let waiting = this.#url.hosts.length;
    const asked = this.#url.hosts.map(async (host) => {
      try {
        let identity = await this.#probe(host).finally(() => void waiting--);
        // A lost server may take long to answer, and a standby may be promoted meanwhile.
        while (findUnfitness(identity, this.#target) !== undefined && waiting > 0) {
          await new Promise<void>((done) => void systemClock.timer(AGAIN_MS, done));
          identity = await this.#probe(host);
        }
        answers.push({ host, identity });
        // A primary that was restarted may have been replaced: then every server has to answer, or fail to.
        const isKnown = this.#inUse !== undefined && isSameRun(this.#inUse, identity);
        if (acceptsWrites(identity) && (isKnown || this.#memory.isNewer(identity)))
          systemClock.timer(OTHERS_MS_MAX, isEnough.resolve);
      } catch (error) {
        faults.push({ host, error });
      }
    });
    await Promise.race([Promise.all(asked), isEnough.promise]);
    this.#sinceSurveyMs = stopwatch();
    const order = this.#url.hosts;
    const inOrder = answers.toSorted((a, b) => order.indexOf(a.host) - order.indexOf(b.host));
    const { chosen, refused, alsoWritable } = chooseServer(inOrder, {
      memory: this.#memory,
      inUse: this.#inUse,
      target: this.#target,
    });
    this.#report(refused);
    this.#rivals =
      alsoWritable.length === 0 ? undefined : { hosts: alsoWritable, since: this.#rivals?.since ?? systemClock.now() };
    if (chosen) {
      this.#use(chosen);
      return chosen.host;
    }
    this.#current = undefined;
    // A wrong password is not a server that is down, and no time mends it.
    const telling = faults.find(({ error }) => !isServerLost(error));
    if (telling) throw telling.error;
    const reasons = [
      ...refused.map(({ host, reason }) => `${host}: ${reason}`),
      ...faults.map(({ host, error }) => `${formatHost(host)}: ${describe(error)}`),
    ];
    throw new NoPrimary(`no PostgreSQL server of the database URL accepts writes (${reasons.join('; ')})`);
  }

  async #probe(host: PostgresHost): Promise<ServerIdentity> {
    const client = new pg.Client({
      connectionString: this.buildUrl(host),
      // A move refuses to begin while sessions whose name starts with rasket exist.
      application_name: 'probe of rasket',
      connectionTimeoutMillis: PROBE_MS_MAX,
      query_timeout: PROBE_MS_MAX,
    });
    client.on('error', ignore);
    try {
      await client.connect();
      return await readIdentity(client);
    } finally {
      const cancel = systemClock.timer(PROBE_MS_MAX, () => client.connection.stream.destroy());
      client.end().then(cancel, cancel);
    }
  }

  #use({ host, identity }: ServerAnswer): void {
    const before = this.#inUse;
    const isSameHost = this.#current !== undefined && formatHost(this.#current) === formatHost(host);
    this.#current = host;
    this.#lastHost = host;
    this.#inUse = identity;
    this.#memory.note(identity);
    this.#reported.delete(formatHost(host));
    const isSame = before !== undefined && isSameRun(before, identity);
    if (!isSame || !isSameHost) this.#noticeUse(host, identity);
    if (isSame || before === undefined) return;
    for (const client of this.#clients) if (!client.isOn({ host, identity })) client.abort();
    for (const fire of this.#onMoved) fire();
  }

  #isWatched = false;
  #lastNotice = '';
  #noticeUse(host: PostgresHost, identity: ServerIdentity): void {
    if (!this.#isWatched) return;
    const named = `${formatHost(host)} ${identity.system} ${identity.startedAt}`;
    if (named === this.#lastNotice) return;
    this.#lastNotice = named;
    this.#onNotice({ kind: 'in use', host: formatHost(host), timeline: identity.timeline });
  }

  #report(refused: readonly RefusedServer[]): void {
    for (const { host, reason, acceptsWrites: isNews } of refused) {
      if (!isNews || this.#reported.has(host)) continue;
      this.#reported.add(host);
      this.#onNotice({ kind: 'refused', host, reason });
    }
  }
}

const describe = (error: unknown): string => {
  const { code, message } = error as { code?: string; message?: string };
  return code ?? message ?? String(error);
};

function ignore(): void {}

/** A client of `pg` that connects to the server in use, and to no other. */
export class ServerClient extends pg.Client {
  /** Set by the pool while somebody uses the client. */
  isBusy = false;
  readonly #servers: PgServers;
  #identity: ServerIdentity | undefined;
  #bytesBefore: number | undefined;
  #host: PostgresHost;

  constructor({ servers, ...config }: pg.ClientConfig & { servers: PgServers }) {
    const limits = servers.hasSeveral ? { connectionTimeoutMillis: CONNECT_MS_MAX } : {};
    super({
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      ...config,
      ...limits,
      connectionString: servers.buildUrl(servers.firstHost),
    });
    this.#servers = servers;
    this.#host = servers.firstHost;
  }

  /** The URL of the server that it is connected to. */
  get url(): string {
    return this.#servers.buildUrl(this.#host);
  }

  /** Reports whether it has not reached its server yet. */
  get isConnecting(): boolean {
    return this.#identity === undefined;
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error | null, client?: pg.Client) => void): void;
  override connect(callback?: (error: Error | null, client?: pg.Client) => void): Promise<pg.Client> | void {
    const connecting = this.#connect();
    if (!callback) return connecting;
    connecting.then(
      () => callback(null, this),
      (error: Error) => callback(error),
    );
  }

  async #connect(): Promise<pg.Client> {
    const host = await this.#servers.find();
    try {
      if (this.#servers.hasSeveral) this.#pointTo(host);
      this.#servers.register(this);
      await super.connect();
      this.#identity = await readIdentity(this);
      await this.#servers.admit({ host, identity: this.#identity });
      return this;
    } catch (error) {
      this.#servers.unregister(this);
      this.#servers.noteFault(error);
      this.connection.stream.destroy();
      throw error;
    }
  }

  #pointTo(host: PostgresHost): void {
    this.#host = host;
    const { host: name, port } = new pg.Client({ connectionString: this.#servers.buildUrl(host) });
    this.host = name;
    this.port = port;
    // A password file has a line for each server.
    Object.assign((this as unknown as { connectionParameters: object }).connectionParameters, { host: name, port });
  }

  /** Reports whether it is connected to this server, or is about to be. */
  isOn({ host, identity }: ServerAnswer): boolean {
    return this.#identity ? isSameRun(this.#identity, identity) : formatHost(this.#host) === formatHost(host);
  }

  /** Ends the connection without waiting for anything; statements on it fail as when the server ends it. */
  abort(): void {
    this.connection.stream.destroy(new Error('Connection terminated: another PostgreSQL server is in use'));
  }

  /** Reports whether somebody has used it since the last call, and nothing has arrived meanwhile. */
  isStalled(): boolean {
    const bytes = (this.connection.stream as Duplex & { bytesRead?: number }).bytesRead ?? 0;
    const isStalled = this.isBusy && bytes === this.#bytesBefore;
    this.#bytesBefore = this.isBusy ? bytes : undefined;
    return isStalled;
  }
}

/** A server that vanishes is noticed after this long and ten more seconds, if nothing is sent to it. */
const KEEP_ALIVE_MS = 5000;

const COMMON = `pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly",
  extract(epoch from pg_postmaster_start_time())::text as "startedAt"`;
/** The timeline is the first part of the name of a WAL file. */
const WHOLE = `select ${COMMON}, (select system_identifier::text from pg_control_system()) as system,
  case when pg_is_in_recovery() then null else pg_walfile_name(pg_current_wal_lsn()) end as wal`;
const TIMELINE_DIGITS = 8;

interface IdentityRow extends Pick<ServerIdentity, 'isStandby' | 'isReadOnly' | 'startedAt'> {
  system?: string;
  wal?: string | null;
}

async function readIdentity(client: pg.Client): Promise<ServerIdentity> {
  const row = await readRow(client, WHOLE).catch((error: unknown) => {
    if (isServerLost(error) || !(error instanceof pg.DatabaseError)) throw error;
    // A managed database may withhold these functions.
    return readRow(client, `select ${COMMON}`);
  });
  const { system, wal, ...common } = row;
  return {
    ...common,
    system,
    timeline: typeof wal === 'string' ? Number.parseInt(wal.slice(0, TIMELINE_DIGITS), 16) : undefined,
  };
}

async function readRow(client: pg.Client, text: string): Promise<IdentityRow> {
  const { rows } = await client.query<IdentityRow>({ text, query_timeout: PROBE_MS_MAX } as pg.QueryConfig);
  if (!rows[0]) throw new Error('no row was returned for the identity of the server');
  return rows[0];
}
