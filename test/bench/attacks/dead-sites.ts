import type { Attack } from '../accept-under-attack.ts';
import { postBatches } from './attack.ts';

const MESSAGES = 100_000;
const SITES = 1000;

/**
 * A hundred thousand messages to a thousand dead sites, each with a mail server of its own. Nobody listens there, so
 * each connection is refused at once: that costs a sender more than silence does.
 */
export const deadSites: Attack = {
  name: '100,000 messages to 1,000 dead sites',
  async start(field) {
    const { bench } = field;
    for (let n = 0; n < SITES; n++) {
      bench.dns.set(`dead${n}.test`, 'MX', [`10 mx.dead${n}.test`]);
      bench.dns.set(`mx.dead${n}.test`, 'A', [`127.0.${4 + Math.floor(n / 250)}.${1 + (n % 250)}`]);
    }
    await postBatches(
      field,
      Array.from({ length: bench.quick ? MESSAGES / 10 : MESSAGES }, (_, n) => `x${n}@dead${n % SITES}.test`),
    );
    return () => Promise.resolve();
  },
};
