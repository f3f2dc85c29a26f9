import { PLAYGROUND } from '../../protocol/explain-delivery.ts';
import type { Deliver, DeliveryJob } from './delivery-job.ts';

/** For development: keeps every message in a built-in mailbox and reports it as delivered. */
export function createCapture(save: (job: DeliveryJob, message: Buffer) => Promise<void>): Deliver {
  return async (job, ctx) => {
    const chunks: Buffer[] = [];
    for await (const chunk of (await ctx.message()).content) chunks.push(chunk);
    await save(job, Buffer.concat(chunks));
    return job.recipients.map((address) => ({
      kind: 'delivered',
      address,
      reply: { code: 250, enhanced: '2.0.0', lines: ['Kept in the playground'] },
      mx: PLAYGROUND,
      tls: null,
    }));
  };
}
