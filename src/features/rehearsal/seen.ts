import type { Stage } from './behaviour.ts';

export interface SeenConnection {
  number: number;
  /** The name of the receiver: the provider, or the domain of a separate server. */
  provider: string;
  /** The provider in the profile whose behaviour it has. */
  family: string;
  host: string;
  /** The client's address. */
  from: string;
  openedAt: number;
  closedAt?: number;
  isSecure: boolean;
  helo?: string;
  /** Transactions that the client began. */
  attempts: number;
  /** Messages that were accepted. */
  messages: number;
}

export interface SeenMessage {
  at: number;
  provider: string;
  host: string;
  connection: number;
  mailFrom: string;
  recipients: string[];
  messageId: string;
  bytes: number;
  isSecure: boolean;
  /** false if the connection was cut after the final dot, before the reply. */
  isAcknowledged: boolean;
  /** Only if the content is kept. */
  content?: Buffer;
}

export type Cause =
  | 'connections'
  | 'messages-per-connection'
  | 'rate'
  | 'greylist'
  | 'tempfail'
  | 'unknown'
  | 'full'
  | 'blocked'
  | 'tls'
  | 'relay'
  | 'protocol'
  | 'dropped';

export interface SeenRefusal {
  at: number;
  provider: string;
  host: string;
  connection: number;
  stage: Stage;
  cause: Cause;
  /** Empty if the connection was cut without a reply. */
  reply: string;
  recipient?: string;
}

export interface SeenReport {
  kind: 'bounce' | 'complaint';
  provider: string;
  recipient: string;
  returnPath: string;
  dueAt: number;
  state: 'waiting' | 'delivered' | 'failed';
  /** The last reply of the sending server. */
  reply?: string;
}

/** Selects what to count; everything if it is empty. */
export interface Selection {
  provider?: string;
  family?: string;
  host?: string;
  from?: string;
}

/** The sums of what one receiver saw. */
export interface SeenSummary {
  provider: string;
  family: string;
  connections: number;
  /** Recipients that were accepted. */
  accepted: number;
  /** Replies that ask the client to come back, and connections that were refused or cut. */
  deferred: number;
  /** Final refusals of a message or a recipient. */
  refused: number;
  causes: Partial<Record<Cause, number>>;
  bounces: number;
  complaints: number;
  maxConnections: number;
  maxMessagesPerMinute: number;
}

/** A moment at which a client opened or closed a connection, in their order. */
interface Change {
  connection: SeenConnection;
  by: 1 | -1;
}

const MINUTE_MS = 60_000;

/** Records what all receivers of a rehearsal saw. */
export class Seen {
  readonly connections: SeenConnection[] = [];
  readonly messages: SeenMessage[] = [];
  readonly refusals: SeenRefusal[] = [];
  readonly reports: SeenReport[] = [];
  readonly #attempts: { at: number; connection: SeenConnection }[] = [];
  readonly #changes: Change[] = [];
  #watchers: { holds: () => boolean; done: () => void }[] = [];

  opened(connection: SeenConnection): void {
    this.connections.push(connection);
    this.#changes.push({ connection, by: 1 });
    this.changed();
  }

  closed(connection: SeenConnection, at: number): void {
    if (connection.closedAt !== undefined) return;
    connection.closedAt = at;
    this.#changes.push({ connection, by: -1 });
    this.changed();
  }

  attempted(connection: SeenConnection, at: number): void {
    connection.attempts += 1;
    this.#attempts.push({ at, connection });
  }

  accepted(message: SeenMessage, connection: SeenConnection): void {
    connection.messages += 1;
    this.messages.push(message);
    this.changed();
  }

  refused(refusal: SeenRefusal): void {
    this.refusals.push(refusal);
    this.changed();
  }

  /** Resolves as soon as the condition holds. */
  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((done) => this.#watchers.push({ holds, done }));
  }

  changed(): void {
    if (this.#watchers.length === 0) return;
    const due = this.#watchers.filter(({ holds }) => holds());
    this.#watchers = this.#watchers.filter((watcher) => !due.includes(watcher));
    for (const { done } of due) done();
  }

  countOpen(selection: Selection = {}): number {
    return this.connections.filter((one) => one.closedAt === undefined && matches(one, selection)).length;
  }

  /** Returns the largest number of connections that were open at one time, including those that were refused. */
  maxConnections(selection: Selection = {}): number {
    let open = 0;
    let most = 0;
    for (const { connection, by } of this.#changes) {
      if (!matches(connection, selection)) continue;
      open += by;
      most = Math.max(most, open);
    }
    return most;
  }

  /** Returns the largest number of messages that the client began within any 60 seconds, accepted or not. */
  maxAttemptsPerMinute(selection: Selection = {}): number {
    return densest(this.#attempts.filter(({ connection }) => matches(connection, selection)).map(({ at }) => at));
  }

  /** Returns the largest number of messages that were accepted within any 60 seconds. */
  maxMessagesPerMinute(selection: Selection = {}): number {
    const byNumber = new Map(this.connections.map((one) => [one.number, one]));
    const isSelected = ({ connection }: SeenMessage): boolean => matches(byNumber.get(connection), selection);
    return densest(this.messages.filter(isSelected).map(({ at }) => at));
  }

  /** Returns the largest number of connections that were opened within any 60 seconds. */
  maxConnectionsPerMinute(selection: Selection = {}): number {
    return densest(this.connections.filter((one) => matches(one, selection)).map(({ openedAt }) => openedAt));
  }

  /** Returns the accepted messages of each connection, in the order in which they were opened. */
  messagesPerConnection(selection: Selection = {}): number[] {
    return this.connections.filter((one) => matches(one, selection)).map(({ messages }) => messages);
  }

  /** Sums up what each receiver saw that was contacted. */
  summarize(): SeenSummary[] {
    const all = new Map<string, SeenSummary & { open: number; times: number[] }>();
    for (const { connection, by } of this.#changes) {
      const { provider, family } = connection;
      const one = all.get(provider) ?? { ...emptySummary(provider, family), open: 0, times: [] };
      all.set(provider, one);
      if (by === 1) one.connections += 1;
      one.open += by;
      one.maxConnections = Math.max(one.maxConnections, one.open);
    }
    for (const { provider, recipients, at } of this.messages) {
      const one = all.get(provider);
      if (!one) continue;
      one.accepted += recipients.length;
      one.times.push(at);
    }
    for (const { provider, stage, cause, reply } of this.refusals) {
      const one = all.get(provider);
      if (!one) continue;
      if (reply.startsWith('5') && stage !== 'greeting') one.refused += 1;
      else one.deferred += 1;
      one.causes[cause] = (one.causes[cause] ?? 0) + 1;
    }
    for (const { provider, kind, state } of this.reports) {
      const one = all.get(provider);
      if (!one || state !== 'delivered') continue;
      if (kind === 'bounce') one.bounces += 1;
      else one.complaints += 1;
    }
    return [...all.values()].map(({ open: _open, times, ...one }) => ({
      ...one,
      maxMessagesPerMinute: densest(times),
    }));
  }

  /** Returns what was accepted more than once, by Message-ID and recipient. */
  duplicates(): { messageId: string; recipient: string; times: number }[] {
    const times = new Map<string, { messageId: string; recipient: string; times: number }>();
    for (const { messageId, recipients } of this.messages) {
      for (const recipient of recipients) {
        const key = `${messageId} ${recipient.toLowerCase()}`;
        const found = times.get(key);
        if (found) found.times += 1;
        else times.set(key, { messageId, recipient, times: 1 });
      }
    }
    return [...times.values()].filter((one) => one.times > 1);
  }
}

const emptySummary = (provider: string, family: string): SeenSummary => ({
  provider,
  family,
  connections: 0,
  accepted: 0,
  deferred: 0,
  refused: 0,
  causes: {},
  bounces: 0,
  complaints: 0,
  maxConnections: 0,
  maxMessagesPerMinute: 0,
});

function matches(connection: SeenConnection | undefined, { provider, family, host, from }: Selection): boolean {
  if (!connection) return false;
  if (provider !== undefined && connection.provider !== provider) return false;
  if (family !== undefined && connection.family !== family) return false;
  if (host !== undefined && connection.host !== host) return false;
  return from === undefined || connection.from === from;
}

/** Returns the largest number of moments within any minute; the moments are in order. */
function densest(moments: readonly number[]): number {
  let first = 0;
  let most = 0;
  for (const [at, moment] of moments.entries()) {
    while ((moments[first] ?? 0) <= moment - MINUTE_MS) first += 1;
    most = Math.max(most, at - first + 1);
  }
  return most;
}
