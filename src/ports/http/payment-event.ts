import { takeEvent } from '../../features/billing/closing/index.ts';
import type { Page } from './page.ts';

/** A signature is of the body byte for byte, so that nothing parses it before. */
export const receivePaymentEvent: Page<'receivePaymentEvent'> = async (ctx, _call, { services, reply }) => {
  const { body, headers } = reply.request;
  await takeEvent(ctx.store, services.payments, { headers, body: Buffer.isBuffer(body) ? body : Buffer.alloc(0) });
  return { object: 'payment_event', received: true };
};
