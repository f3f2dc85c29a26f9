import { startSink } from '../../rig/sink.ts';
import type { Attack } from '../accept-under-attack.ts';

const HOST = '127.0.0.2';
const EMAILS = 4;
const ATTACHMENT_BYTES = 29 * 1024 * 1024;

/** More large messages than the total memory budget would hold, to a receiver that never answers MAIL. */
export const largeMailToSilence: Attack = {
  name: 'large mail to a receiver that never answers',
  async start({ bench, appliance, key, from, smtpPort }) {
    bench.dns.set('silent.test', 'MX', ['10 mx.silent.test']);
    bench.dns.set('mx.silent.test', 'A', [HOST]);
    const silent = await startSink({
      host: HOST,
      port: smtpPort,
      script: (command) => (command.startsWith('MAIL') ? 'hang' : undefined),
    });
    const isSilent = silent.waitFor((sink) => sink.commands.some((line) => line.startsWith('MAIL')));
    const content = Buffer.alloc(ATTACHMENT_BYTES, 'large').toString('base64');
    for (let n = 0; n < EMAILS; n++) {
      const attachments = [{ filename: 'large.bin', content }];
      await appliance.callAs(key)('POST', '/emails', {
        from,
        to: `x${n}@silent.test`,
        subject: 'Large',
        text: 'x',
        attachments,
      });
    }
    await isSilent;
    return () => silent.close();
  },
};
