import { createResolver } from '../../src/platform/resolver/index.ts';
import { createDeliver } from '../../src/mail/deliver/index.ts';
import type {
  Delivery,
  DeliveryJob,
  DeliverOptions,
  HandOff,
  OutboundMessage,
  RecipientOutcome,
  SmtpTimeouts,
} from '../../src/mail/deliver/index.ts';
import { startDns } from '../rig/dns.ts';
import type { DnsRig, Zones } from '../rig/dns.ts';
import { startSink } from '../rig/sink.ts';
import type { Sink, SinkCounts, SinkOptions } from '../rig/sink.ts';

export interface SceneOptions {
  sink?: SinkOptions;
  zones?: Zones;
  deliver?: Partial<DeliverOptions>;
}

export interface Send extends Partial<Omit<DeliveryJob, 'recipients'>> {
  body?: string | Buffer | Buffer[];
  needsSmtpUtf8?: boolean;
  handOff?: Partial<HandOff>;
  signal?: AbortSignal;
  message?: () => Promise<OutboundMessage>;
}

export interface Scene {
  sink: Sink;
  dns: DnsRig;
  delivery: Delivery;
  /** Another sink on the same port, for a second mail exchanger. */
  anotherSink(host: string, options?: SinkOptions): Promise<Sink>;
  /** Mail for these addresses, all of one domain (y.example unless they say otherwise). */
  send(to: string | string[], send?: Send): Promise<RecipientOutcome[]>;
  /** The steps that the hand-off and the sink saw, in order. */
  order: string[];
  stop(): Promise<void>;
}

/** Fails a test that would otherwise hang, long before the runner does; never the measure of anything. */
const QUICK: SmtpTimeouts = {
  connectMs: 5_000,
  greetingMs: 5_000,
  ehloMs: 5_000,
  startTlsMs: 5_000,
  loginMs: 5_000,
  mailMs: 5_000,
  rcptMs: 5_000,
  dataMs: 5_000,
  envelopeMs: 10_000,
  contentMs: 10_000,
  contentBytesPerSecond: 1_000_000,
  dataBlockMs: 5_000,
  dataDoneMs: 5_000,
  rsetMs: 5_000,
  quitMs: 500,
};

export const MX = 'mx.y.example';

/** y.example with one mail exchanger: the sink on 127.0.0.1. */
export async function setScene(options: SceneOptions = {}): Promise<Scene> {
  const order: string[] = [];
  const sink = await startSink({ ...options.sink, onMessage: () => order.push('accepted') });
  const sinks = [sink];
  const dns = await startDns(options.zones ?? { 'y.example': { MX: [`10 ${MX}`] }, [MX]: { A: [sink.host] } });
  const resolver = createResolver({ servers: [dns.server], timeoutMs: 2_000, tries: 1 });
  const { timeouts, ...deliver } = options.deliver ?? {};
  const delivery = createDeliver({
    heloName: 'out.rasket.test',
    resolver,
    smtpPort: sink.port,
    allowPrivate: ['127.0.0.0/8', '::1'],
    random: Math.random,
    ...deliver,
    timeouts: { ...QUICK, ...timeouts },
  });
  return {
    sink,
    dns,
    delivery,
    order,
    async anotherSink(host, more = {}) {
      const another = await startSink({ ...more, host, port: sink.port });
      sinks.push(another);
      return another;
    },
    send(to, send = {}) {
      const { body, needsSmtpUtf8 = false, handOff, signal, message, ...job } = send;
      const recipients = Array.isArray(to) ? to : [to];
      const chunks = Array.isArray(body) ? body : [Buffer.from(body ?? 'Subject: hello\r\n\r\nHello.\r\n')];
      const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      return delivery.deliver(
        {
          id: 'job_1',
          emailId: 'email_1',
          teamId: 'team_1',
          domain: recipients[0]?.split('@')[1] ?? 'y.example',
          recipients,
          mailFrom: 'from@x.example',
          region: 'eu',
          tls: 'opportunistic',
          attempt: 1,
          ...job,
        },
        {
          message: message ?? (() => Promise.resolve({ content: chunks, size, needsSmtpUtf8 })),
          handOff: {
            intend: async () => {
              order.push(`intend ${recipients.join(' ')}`);
              await handOff?.intend?.();
              order.push('durable');
            },
            mark: () => {
              order.push('mark');
              handOff?.mark?.();
            },
          },
          signal: signal ?? new AbortController().signal,
        },
      );
    },
    async stop() {
      await delivery.close(0);
      resolver.close();
      await Promise.all(sinks.map((each) => each.close()));
      await dns.close();
    },
  };
}

/** The counts that are not zero: the whole account of a sink. */
export function account(sink: Sink): Partial<SinkCounts> {
  return Object.fromEntries(Object.entries(sink.counts).filter(([, count]) => count > 0));
}

export function delivered(address: string, mx = MX): RecipientOutcome {
  return { kind: 'delivered', address, reply: { code: 250, enhanced: '2.0.0', lines: ['Taken'] }, mx, tls: null };
}

/** A promise and the handle that opens it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((done) => (open = done));
  return { opened, open };
}
