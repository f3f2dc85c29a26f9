import { fork } from 'node:child_process';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { SeenRefusal } from '../../src/features/rehearsal/index.ts';
import type { PublishedRecord } from '../../src/features/rehearsal/start.ts';
import type { DnsRig, DnsType } from '../rig/dns.ts';
import { Watch } from './nodes-under-faults.ts';
import type { FromReceivers, SeenLimits } from './receivers-process.ts';

/** The receivers of a broadcast in a process of their own, and what they have reported so far. */
export interface Receivers {
  smtpPort: number;
  records: readonly PublishedRecord[];
  /** Addresses for a broadcast; of some the mailbox does not exist. */
  readers: string[];
  /** Addresses for single mails, all of which exist. */
  customers: string[];
  /** When mail was accepted, by recipient; more than one time if it came more than once. */
  acceptedAt: Map<string, number[]>;
  refusals: SeenRefusal[];
  /** Recipients whose mail was accepted or refused; the test adds those in doubt. */
  over: Set<string>;
  /** Stirred by each report. */
  watch: Watch;
  readLimits(): Promise<SeenLimits[]>;
}

/** Starts the receivers; they end with the test. */
export async function startReceivers(counts: { readers: number; customers: number }): Promise<Receivers> {
  const file = path.join(import.meta.dirname, 'receivers-process.ts');
  const child = fork(file, [String(counts.readers), String(counts.customers)], {
    execArgv: [],
    serialization: 'advanced',
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((done) => child.once('exit', done));
    child.kill('SIGKILL');
    await gone;
  });
  const watch = new Watch();
  const acceptedAt: Receivers['acceptedAt'] = new Map();
  const refusals: SeenRefusal[] = [];
  const over = new Set<string>();
  let onLimits = (_limits: SeenLimits[]): void => undefined;
  const started = Promise.withResolvers<Extract<FromReceivers, { kind: 'started' }>>();
  child.once('exit', (code) => started.reject(new Error(`the receivers ended with ${code}`)));
  child.on('message', (message: FromReceivers) => {
    switch (message.kind) {
      case 'started':
        return started.resolve(message);
      case 'limits':
        return onLimits(message.limits);
      case 'seen':
        for (const { recipients, at } of message.messages)
          for (const to of recipients) {
            acceptedAt.set(to, [...(acceptedAt.get(to) ?? []), at]);
            over.add(to);
          }
        refusals.push(...message.refusals);
        for (const { recipient, cause } of message.refusals)
          if (recipient !== undefined && cause === 'unknown') over.add(recipient);
        watch.stir();
    }
  });
  const { kind: _kind, ...addresses } = await started.promise;
  return {
    ...addresses,
    acceptedAt,
    refusals,
    over,
    watch,
    readLimits: () =>
      new Promise((done) => {
        onLimits = done;
        child.send({ say: 'limits' });
      }),
  };
}

/** Publishes the records of receivers in the name server of a test. */
export function publishReceivers(dns: DnsRig, records: readonly PublishedRecord[]): void {
  for (const [name, ofName] of Map.groupBy(records, (record) => record.name))
    for (const [type, those] of Map.groupBy(ofName, (record) => record.type))
      dns.set(
        name,
        type as DnsType,
        those.map(({ value, priority }) => (type === 'MX' ? `${priority ?? 0} ${value}` : value)),
      );
}
