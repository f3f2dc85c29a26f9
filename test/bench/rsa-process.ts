import { generateKeyPairSync, sign } from 'node:crypto';
import { answerOrders } from './children.ts';

/** Measures RSA-2048 signatures per second of one core, over as many bytes as the signed headers of a message have. */
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const headers = Buffer.alloc(600, 'x');

answerOrders<{ seconds: number }>(({ seconds }) => {
  const begin = performance.now();
  const used = process.cpuUsage();
  let made = 0;
  for (; performance.now() < begin + seconds * 1000; made++) sign('sha256', headers, privateKey);
  const { user, system } = process.cpuUsage(used);
  return { perSecond: made / ((performance.now() - begin) / 1000), cpuMicros: (user + system) / made };
});
