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
