import { waitFor, type Clock } from '../../src/platform/clock.ts';
import type { Appliance, Body } from './appliance.ts';

export interface Campaign {
  /** When each transactional email was requested, by its recipient. */
  sentAt: ReadonlyMap<string, number>;
  /** Returns whether everything was sent that will be, and why the broadcast does not continue, if it does not. */
  status(): Promise<{ isSent: boolean; held: string | undefined }>;
  /** Resolves when no more transactional mail is requested. */
  stop(): Promise<void>;
}

const IMPORT_POLL_MS = 50;
/** One transactional email to so many of the broadcast. */
const EACH = 20;
/** Simulated time between two of them. */
const PACE_MS = 500;

/** Imports readers, sends them a broadcast, and sends transactional mail at the same time, all through the API. */
export async function sendCampaign(
  { call, domain }: Appliance,
  recipients: readonly string[],
  clock: Clock,
): Promise<Campaign> {
  await importContacts(call, recipients);
  const segment = await call('POST', '/segments', {
    name: 'Readers',
    filter: { field: 'email', op: 'contains', value: '@' },
  });
  const broadcast = await call('POST', '/broadcasts', {
    from: `Rehearsal <news@${domain}>`,
    subject: 'News of the rehearsal',
    segment_id: segment['id'],
    html: NEWSLETTER,
    send: true,
    acknowledge_checks: true,
  });
  const sentAt = new Map<string, number>();
  const customers = recipients
    .filter((_, at) => at % EACH === 0)
    .map((address) => address.replace('reader', 'customer'));
  let isStopped = false;
  const transactional = sendTransactional();

  async function sendTransactional(): Promise<void> {
    for (const to of customers) {
      if (isStopped) return;
      sentAt.set(to, clock.now());
      await call('POST', '/emails', {
        from: `Rehearsal <orders@${domain}>`,
        to,
        subject: 'Your order',
        text: 'Thank you for your order.',
      });
      await new Promise<void>((done) => void clock.timer(PACE_MS, done));
    }
    isStopped = true;
  }

  return {
    sentAt,
    async status() {
      const { status, held } = await call('GET', `/broadcasts/${String(broadcast['id'])}`);
      const isOver = ['sent', 'canceled', 'failed'].includes(String(status));
      return { isSent: isStopped && (isOver || held !== null), held: describeHold(held) };
    },
    async stop() {
      isStopped = true;
      await transactional;
    },
  };
}

function describeHold(held: unknown): string | undefined {
  if (typeof held !== 'object' || held === null) return undefined;
  const { reason, detail } = held as { reason: string; detail: string | null };
  return detail === null ? reason : `${reason}: ${detail}`;
}

async function importContacts(call: Appliance['call'], recipients: readonly string[]): Promise<void> {
  const form = new FormData();
  form.append('file', new Blob([`email\n${recipients.join('\n')}\n`]), 'readers.csv');
  let found: Body = await call('POST', '/contacts/imports', form);
  const target = `/contacts/imports/${String(found['id'])}`;
  for (found = await call('GET', target); !['completed', 'failed'].includes(String(found['status']));) {
    await waitFor(IMPORT_POLL_MS);
    found = await call('GET', target);
  }
  if (found['status'] === 'failed')
    throw new Error(`the import of the readers has the status failed: ${JSON.stringify(found)}`);
}

/** About as long as a usual newsletter without its pictures. */
const NEWSLETTER = `<h1>News</h1>${'<p>A rehearsal is a run through everything that is going to happen, with nobody in the seats, so that the evening itself holds no surprise.</p>'.repeat(40)}<p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p>`;
