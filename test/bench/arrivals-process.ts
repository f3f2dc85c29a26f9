import { startSink } from '../rig/sink.ts';
import { answerOrders } from './children.ts';

/** Takes mail and notes when that of each `reader…` was announced and when it came. `until` answers once so many have come since `forget`. */
export type ArrivalsOrder = { say: 'forget' } | { say: 'until'; count: number };
export interface Arrivals {
  port: number;
  /** The times of arrival by recipient, comparable between processes of one machine. */
  at: Record<string, number>;
  /** The times at which each recipient was first named. */
  namedAt: Record<string, number>;
}

let [at, namedAt]: [Record<string, number>, Record<string, number>] = [{}, {}];
const sink = await startSink({
  keep: false,
  script(command) {
    const named = /^RCPT TO:<(reader[^>]+)>/i.exec(command)?.[1];
    if (named !== undefined) namedAt[named] ??= performance.timeOrigin + performance.now();
    return undefined;
  },
  onMessage({ rcptTo }) {
    for (const address of rcptTo)
      if (address.startsWith('reader')) at[address] = performance.timeOrigin + performance.now();
  },
});

answerOrders<ArrivalsOrder>(async (order): Promise<Arrivals> => {
  if (order.say === 'forget') [at, namedAt] = [{}, {}];
  else await sink.waitFor(() => Object.keys(at).length >= order.count);
  return { port: sink.port, at, namedAt };
});
