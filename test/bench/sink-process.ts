import { startSink } from '../rig/sink.ts';
import { MAIL_SERVER_ADDRESSES } from './messages.ts';
import { answerOrders } from './children.ts';

/** Counts mail. `until` answers as soon as that many messages have got their 250, with the instant of the last. */
export type SinkOrder = { say: 'counts' } | { say: 'until'; accepted: number };
export interface SinkCount {
  port: number;
  at: number;
  accepted: number;
  recipients: number;
  connections: number;
}

const sink = await startSink({ keep: false, alsoAt: MAIL_SERVER_ADDRESSES });

answerOrders<SinkOrder>(async (order): Promise<SinkCount> => {
  if (order.say === 'until') await sink.waitFor(order.accepted);
  const { accepted, rcpt, connections } = sink.counts;
  return { port: sink.port, at: performance.timeOrigin + performance.now(), accepted, recipients: rcpt, connections };
});
