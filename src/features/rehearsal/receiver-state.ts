import type { Clock } from '../../platform/clock.ts';
import { decideFate, type Receiver } from './receivers.ts';
import type { Cause } from './seen.ts';
import type { FaultKind, Period, RateLimit, Stage } from './behaviour.ts';

/** A reply other than success, with the rule it comes from. */
export interface Refusal {
  cause: Cause;
  reply: string;
}

const MINUTE_MS = 60_000;
/** A greylist forgets a triplet that was not tried again for this time. */
const GREYLIST_MS = 36 * 3_600_000;

/** The memory that a receiver has of one client address. */
interface Client {
  open: number;
  /** Times of what each rate limit has let pass, by the position of the limit. */
  passed: number[][];
  throttledUntil: number[];
  unknown: number[];
  complaints: number[];
  blockedUntil: number[];
}

/** Applies the behaviour of a receiver: decides at each stage, and remembers what its limits need. */
export class ReceiverState {
  readonly receiver: Receiver;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #clients = new Map<string, Client>();
  readonly #greylist = new Map<string, number>();
  /** How often each rule with `every` was asked. */
  readonly #turns = new WeakMap<Period, number>();

  constructor(receiver: Receiver, clock: Clock) {
    this.receiver = receiver;
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /** Decides about a new connection, and counts it as open until `closed`. */
  opened(from: string): { fault?: FaultKind; refusal?: Refusal } {
    const client = this.#client(from);
    client.open += 1;
    const fault = this.fault('silence') ?? this.fault('drop-at-greeting');
    if (fault) return { fault };
    const refusal = this.#blocked(client, 'greeting') ?? this.#tempfail('greeting') ?? this.#tooMany(client);
    return refusal ? { refusal } : {};
  }

  closed(from: string): void {
    this.#client(from).open -= 1;
  }

  fault(kind: FaultKind): FaultKind | undefined {
    const found = this.receiver.behaviour.faults?.find((one) => one.kind === kind);
    return found && this.#applies(found) ? kind : undefined;
  }

  mail(from: string, messages: number): Refusal | undefined {
    const client = this.#client(from);
    const limit = this.receiver.behaviour.messages_per_connection;
    if (limit && messages >= limit.max) return { cause: 'messages-per-connection', reply: limit.reply };
    return this.#blocked(client, 'mail') ?? this.#tempfail('mail') ?? this.#rate(client, 'messages', 'mail');
  }

  recipient(from: string, mailFrom: string, recipient: string): Refusal | undefined {
    const { behaviour, domains } = this.receiver;
    const domain = recipient.slice(recipient.lastIndexOf('@') + 1).toLowerCase();
    if (!domains.has(domain)) return { cause: 'relay', reply: '550 5.7.1 Relaying denied' };
    const client = this.#client(from);
    const early = this.#tempfail('rcpt') ?? this.#rate(client, 'messages', 'rcpt');
    if (early) return early;
    const { unknown, full } = behaviour;
    const fate = decideFate(behaviour, recipient);
    if (unknown && fate === 'unknown') {
      client.unknown.push(this.#clock.now());
      this.#block(client);
      return { cause: 'unknown', reply: unknown.reply };
    }
    if (full && fate === 'full') return { cause: 'full', reply: full.reply };
    return this.#greylisted(from, mailFrom, recipient);
  }

  data(): Refusal | undefined {
    return this.#tempfail('data');
  }

  content(from: string): Refusal | undefined {
    return this.#tempfail('dot') ?? this.#rate(this.#client(from), 'messages', 'dot');
  }

  complained(from: string): void {
    const client = this.#client(from);
    client.complaints.push(this.#clock.now());
    this.#block(client);
  }

  #client(from: string): Client {
    const known = this.#clients.get(from);
    if (known) return known;
    const made: Client = {
      open: 0,
      passed: [],
      throttledUntil: [],
      unknown: [],
      complaints: [],
      blockedUntil: [],
    };
    this.#clients.set(from, made);
    return made;
  }

  #tooMany(client: Client): Refusal | undefined {
    const limit = this.receiver.behaviour.connections;
    if (limit && client.open > limit.max) return { cause: 'connections', reply: limit.reply };
    return this.#rate(client, 'connections', 'greeting');
  }

  /** Counts one more message or connection in the windows of this stage, unless one of them is full. */
  #rate(client: Client, of: RateLimit['of'], stage: RateLimit['stage'] | 'greeting'): Refusal | undefined {
    const now = this.#clock.now();
    const rates = this.receiver.behaviour.rates ?? [];
    const here = rates.flatMap((rate, at) =>
      rate.of === of && (of === 'connections' || (rate.stage ?? 'mail') === stage) ? [{ rate, at }] : [],
    );
    for (const { rate, at } of here) {
      const since = now - (rate.per_seconds ?? 60) * 1000;
      const window = (client.passed[at] ??= []);
      while (window.length > 0 && (window[0] ?? 0) <= since) window.shift();
      const isThrottled = now < (client.throttledUntil[at] ?? 0);
      if (!isThrottled && window.length < rate.max) continue;
      if (!isThrottled && rate.for_minutes) client.throttledUntil[at] = now + rate.for_minutes * MINUTE_MS;
      return { cause: 'rate', reply: rate.reply };
    }
    for (const { at } of here) client.passed[at]?.push(now);
    return undefined;
  }

  #tempfail(stage: Stage): Refusal | undefined {
    for (const one of this.receiver.behaviour.tempfail ?? []) {
      if ((one.stage ?? 'mail') === stage && this.#applies(one)) return { cause: 'tempfail', reply: one.reply };
    }
    return undefined;
  }

  #applies(period: Period): boolean {
    const minute = (this.#clock.now() - this.#startedAt) / MINUTE_MS;
    if (minute < (period.from_minute ?? 0) || minute >= (period.to_minute ?? Infinity)) return false;
    const turn = (this.#turns.get(period) ?? 0) + 1;
    this.#turns.set(period, turn);
    return turn % (period.every ?? 1) === 0;
  }

  #greylisted(from: string, mailFrom: string, recipient: string): Refusal | undefined {
    const { greylist } = this.receiver.behaviour;
    if (!greylist) return undefined;
    const now = this.#clock.now();
    const triplet = `${from} ${mailFrom} ${recipient}`.toLowerCase();
    const first = this.#greylist.get(triplet);
    if (first === undefined || now - first > GREYLIST_MS) this.#greylist.set(triplet, now);
    else if (now - first >= greylist.seconds * 1000) return undefined;
    return { cause: 'greylist', reply: greylist.reply };
  }

  #blocked(client: Client, stage: 'greeting' | 'mail'): Refusal | undefined {
    const now = this.#clock.now();
    for (const [at, block] of (this.receiver.behaviour.block ?? []).entries()) {
      const isNow = now < (client.blockedUntil[at] ?? 0);
      if (isNow && (block.stage ?? 'greeting') === stage) return { cause: 'blocked', reply: block.reply };
    }
    return undefined;
  }

  /** Begins the blocks whose number of complaints or unknown recipients is reached. */
  #block(client: Client): void {
    const now = this.#clock.now();
    for (const [at, block] of (this.receiver.behaviour.block ?? []).entries()) {
      const since = now - (block.within_minutes ?? 60) * MINUTE_MS;
      const count = (times: number[]): number => times.filter((time) => time > since).length;
      const isReached =
        count(client.unknown) >= (block.unknown ?? Infinity) ||
        count(client.complaints) >= (block.complaints ?? Infinity);
      if (!isReached || now < (client.blockedUntil[at] ?? 0)) continue;
      client.blockedUntil[at] = now + block.for_minutes * MINUTE_MS;
    }
  }
}
